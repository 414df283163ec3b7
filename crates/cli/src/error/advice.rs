//! Advice about faults of a configuration. Advice about patterns, matchers and conditions is in
//! `advice/expressions.rs`, advice about values in `advice/values.rs`. All of it is for YAML;
//! `advice/json.rs` translates it for JSON.

mod expressions;
mod json;
mod values;

use std::path::Path;

use hookwright_agents::presets::presets;
use hookwright_config::{Fault, FaultKind};
use serde_json::{Map, Value, json};

use self::expressions::{condition, matcher, pattern, variable_help};
use self::values::{
    conflict_help, hook_conflict_help, limit_help, missing_help, syntax_help, value_help,
};
use super::{cut_number, did_you_mean, quoted};

/// The advice about a [`Fault`], and its facts for programs.
pub(crate) struct Advice {
    pub(crate) heading: String,
    pub(crate) help: String,
    found: Option<String>,
    expected: Option<String>,
}

impl Advice {
    pub(super) fn new(heading: impl Into<String>, help: impl Into<String>) -> Self {
        Self { heading: heading.into(), help: help.into(), found: None, expected: None }
    }

    fn found(mut self, found: impl Into<String>) -> Self {
        self.found = Some(found.into());
        self
    }

    fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }
}

/// A fault as one JSON object.
pub(crate) fn fault_json(fault: &Fault) -> Value {
    let advice = advice(fault);
    let mut object = Map::new();
    object.insert("file".into(), json!(fault.source.path.display().to_string()));
    let place = fault.place.as_ref();
    object.insert("line".into(), json!(place.map(|place| place.line)));
    object.insert("column".into(), json!(place.map(|place| place.column)));
    object.insert("message".into(), json!(advice.heading));
    if let Some(found) = advice.found {
        object.insert("found".into(), json!(found));
    }
    if let Some(expected) = advice.expected {
        object.insert("expected".into(), json!(expected));
    }
    object.insert("nearest".into(), json!(fault.kind.nearest()));
    object.insert("help".into(), json!(advice.help));
    Value::Object(object)
}

/// The advice about a fault.
pub(crate) fn advice(fault: &Fault) -> Advice {
    let advice = advice_in_yaml(fault);
    match json::is_json(&fault.source.path) {
        true => Advice { help: json::help(fault, &advice.help), ..advice },
        false => advice,
    }
}

fn advice_in_yaml(fault: &Fault) -> Advice {
    let message = fault.kind.to_string();
    let path = fault.source.path.display();
    let near = did_you_mean(fault.kind.nearest());
    match &fault.kind {
        FaultKind::Unreadable { cause } => Advice::new(
            format!("the file cannot be read: {}", cut_number(cause)),
            format!(
                "check that it exists and is readable: `ls -l {}`",
                shell_word(&fault.source.path)
            ),
        ),
        FaultKind::IsFolder => {
            Advice::new(message, format!("name a file, like `{path}/hooks.yaml`"))
                .found("a folder")
                .expected("a file")
        }
        FaultKind::TooLarge { bytes, bytes_max } => Advice::new(
            message,
            "keep only hooks in it; put scripts and data in other files",
        )
        .found(format!("{bytes} bytes"))
        .expected(format!("at most {bytes_max} bytes")),
        FaultKind::NotText { .. } => Advice::new(
            message,
            format!(
                "save it as UTF-8: `iconv -f latin1 -t utf-8 {}` if it is Latin-1",
                shell_word(&fault.source.path)
            ),
        )
        .expected("UTF-8 text"),
        FaultKind::Empty => Advice::new(
            message,
            "write a first hook: `hooks: {session:start: [{command: echo hello}]}`",
        )
        .expected("`hooks:`"),
        FaultKind::Syntax { kind, .. } => Advice::new(message, syntax_help(*kind)),
        FaultKind::OverLimit(limit) => Advice::new(message, limit_help(*limit)),
        FaultKind::DuplicateKey { key } => {
            Advice::new(message, format!("merge both `{key}` entries into one"))
                .found(key)
        }
        FaultKind::UnknownKey { key, known, .. } => Advice::new(
            format!("unknown key `{key}`"),
            near.unwrap_or_else(|| format!("expected one of: {}", known.join(", "))),
        )
        .found(key)
        .expected(known.join(", ")),
        FaultKind::Superseded { key, successor } => Advice::new(
            format!("the key `{key}` is not supported"),
            format!("instead, use {successor}"),
        )
        .found(key)
        .expected(*successor),
        FaultKind::KeyOfOtherType { key, belongs_to, found } => Advice::new(
            message,
            format!("remove `{key}`, or make it a hook of its own with `type: {belongs_to}`"),
        )
        .found(*found)
        .expected(*belongs_to),
        FaultKind::KeyOfOtherAgent { key, belongs_to, found } => {
            Advice::new(message, format!("remove `{key}`, or write `type: {belongs_to}`"))
                .found(found)
                .expected(*belongs_to)
        }
        FaultKind::UnknownWord { found, expected, .. } => Advice::new(
            message,
            near.unwrap_or_else(|| format!("write one of {}", quoted(expected, ", "))),
        )
        .found(found)
        .expected(expected.join(", ")),
        FaultKind::WrongKind { expected, found } | FaultKind::BadValue { found, expected } => {
            Advice::new(message, value_help(*expected, &fault.kind))
                .found(found)
                .expected(expected.to_string())
        }
        FaultKind::Missing(key) => {
            Advice::new(message, missing_help(*key)).expected(key.to_string())
        }
        FaultKind::Conflict(conflict) => Advice::new(message, conflict_help(*conflict)),
        FaultKind::HookConflict(conflict) => Advice::new(message, hook_conflict_help(*conflict)),
        FaultKind::UnknownVersion { found } => {
            Advice::new(message, "write `version: 1`, or leave the line out")
                .found(found)
                .expected("1")
        }
        FaultKind::Pattern(error) => pattern(error, near),
        FaultKind::Matcher(error) => matcher(error),
        FaultKind::Condition(error) => condition(error, near),
        FaultKind::UnknownVariable { name, .. } => {
            Advice::new(message, near.unwrap_or_else(variable_help)).found(name)
        }
        FaultKind::OthersCanRead { .. } => Advice::new(
            message,
            format!("make it yours alone: `chmod 600 {}`", shell_word(&fault.source.path)),
        )
        .expected("mode 600"),
        FaultKind::WeakSecret { name, bytes_min } => Advice::new(
            message,
            format!(
                "a short value would also be redacted where it is not the secret; make `{name}` \
                 longer, or keep it in the environment if it is not a secret"
            ),
        )
        .expected(format!("at least {bytes_min} bytes")),
        FaultKind::ReservedName { name } => Advice::new(
            message,
            "give it another name; `hookwright events` lists the fields that are variables",
        )
        .found(name),
        FaultKind::EvaluatedAgain { reference } => Advice::new(
            message,
            "compare with `[ … -gt … ]`, which accepts only numbers, or move the test to `when:`",
        )
        .found(reference),
        FaultKind::Template(problem) => Advice::new(
            message,
            problem.fix().map_or_else(
                || "fix the command so that a shell can parse it".to_owned(),
                |fix| fix.to_string(),
            ),
        ),
        FaultKind::UnknownDialect { name, known, nearest } => {
            let help = did_you_mean(*nearest)
                .unwrap_or_else(|| "leave `dialect` out for a native hook".to_owned());
            Advice::new(message, help).found(name).expected(known.join(", "))
        }
        FaultKind::UnknownHost { name, known, nearest } => {
            let help = did_you_mean(*nearest)
                .unwrap_or_else(|| "leave `host` out to run the hook everywhere".to_owned());
            Advice::new(message, help).found(name).expected(known.join(", "))
        }
        FaultKind::DuplicateId { id, .. } => {
            Advice::new(message, "give one of the two another `id`").found(id)
        }
        FaultKind::DuplicateName { name, .. } => {
            Advice::new(message, "give one of the two another `name`").found(name)
        }
        FaultKind::BadRegex { pattern, .. } => {
            Advice::new(message, "fix the expression, or use `contains` to search for plain text")
                .found(pattern)
        }
        FaultKind::TooManyHooks { hooks_max } => {
            Advice::new(message, "replace many hooks with one that has a pattern like `tool:*`")
                .expected(format!("at most {hooks_max} hooks"))
        }
        FaultKind::StartsItself { .. } => Advice::new(
            message,
            "make one of these hooks start another pipeline, or remove it: a session cannot start \
             itself",
        ),
        FaultKind::SpawnOfWorker { .. } => Advice::new(
            message,
            "use another type of hook in this file, or disable the hook while workers of this user \
             run",
        ),
        FaultKind::NotFound { nearest: Some(nearest), .. } => {
            Advice::new(message, format!("did you mean `{nearest}`?"))
        }
        FaultKind::NotFound { looked_in, nearest: None, .. } => {
            let places: Vec<String> =
                looked_in.iter().map(|path| format!("`{}`", path.display())).collect();
            let help = match &places[..] {
                [] => "create it, or name another one".to_owned(),
                [place] => format!("looked for {place}"),
                places => format!("looked in {}", places.join(", ")),
            };
            Advice::new(message, help)
        }
        FaultKind::NotALoop { .. } => {
            Advice::new(message, "name a loop, or run the pipeline on its own")
        }
        FaultKind::NoAgent => {
            let known: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
            Advice::new(
                message,
                format!(
                    "set `agent: …` in the loop or in hookwright.yaml, or use `--agent`: {}, \
                     `{{command: …}}` for any other program, or `{{script: turns.yaml}}`, which \
                     plays a script",
                    quoted(&known, ", ")
                ),
            )
        }
        FaultKind::UnknownAgent { known, .. } => Advice::new(
            message,
            near.unwrap_or_else(|| {
                format!(
                    "known agents are {}; write `agent: {{command: …}}` for any other program that reads a \
                     prompt, or `agent: {{script: turns.yaml}}` for one that plays a script",
                    quoted(known, ", ")
                )
            }),
        ),
        FaultKind::AgentNotInstalled { program, package, .. } => Advice::new(
            message,
            format!(
                "install it with `npm install -g {package}`, or check that it is in PATH: `which \
                 {program}`"
            ),
        ),
        FaultKind::NoPlaceForPrompt { .. } => Advice::new(
            message,
            "write `prompt: stdin`, or \"$1\", in double quotes, where the prompt belongs",
        ),
        FaultKind::NoPrompt => Advice::new(
            message,
            "write `prompt: …` or `prompt_file: …`, or put a file `prompt.md` beside loop.yaml",
        ),
        FaultKind::NoProgram { program } => Advice::new(
            message,
            format!("install it, or check that it is in PATH: `which {program}`"),
        ),
        FaultKind::BadQueue { .. } => Advice::new(
            message,
            "name each issue `N-title.md`, with a number of its own, or name another folder",
        ),
        FaultKind::Misnamed { .. } => {
            Advice::new(message, "rename the files that are issues to `N-title.md`, each with a \
                 number of its own")
        }
        FaultKind::NeverFires { event, instead } => Advice::new(
            message,
            format!("move the hook to the pipeline's file, or listen to `{instead}`"),
        )
        .found(event)
        .expected(instead.as_str()),
        FaultKind::NotYet { what } => {
            Advice::new(message, format!("remove `{what}`")).found(what)
        }
    }
}

/// The path as one word of a shell command, to be pasted.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "_./~-+@:".contains(letter);
    if text.chars().all(plain) {
        return text;
    }
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    match text.strip_prefix("~/") {
        Some(below) => format!("~/{}", quoted(below)),
        None => quoted(&text),
    }
}
