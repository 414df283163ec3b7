//! What a person should do about a fault of a configuration.

use std::path::Path;

use hookwright_dialects::agents::presets;
use hookwright_engine::condition::ConditionError;
use hookwright_engine::config::{Conflict, Fault, FaultKind, Warning};
use hookwright_engine::matcher::MatcherError;
use hookwright_engine::pattern::PatternError;
use hookwright_engine::template::{Evaluation, WarningKind};
use serde_json::{Map, Value, json};

use super::{cut_number, did_you_mean, quoted};

/// What a person is told about a [`Fault`], and its facts for programs.
pub(crate) struct Advice {
    pub(crate) heading: String,
    pub(crate) help: String,
    found: Option<String>,
    expected: Option<String>,
}

impl Advice {
    fn new(heading: impl Into<String>, help: impl Into<String>) -> Self {
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

/// A warning as one JSON object.
pub(crate) fn warning_json(warning: &Warning) -> Value {
    let advice = warning_advice(warning);
    json!({
        "file": warning.source.path.display().to_string(),
        "line": warning.place.line,
        "column": warning.place.column,
        "kind": match warning.kind {
            WarningKind::Literal => "literal",
            WarningKind::Unquoted => "unquoted",
            WarningKind::EvaluatedAgain(_) => "evaluated_again",
            WarningKind::Unknown => "unknown",
        },
        "message": advice.heading,
        "found": warning.name,
        "nearest": warning.nearest,
        "help": advice.help,
    })
}

/// What a person is told about a warning.
pub(crate) fn warning_advice(warning: &Warning) -> Advice {
    let Warning { name, reference, .. } = warning;
    match warning.kind {
        WarningKind::Literal => Advice::new(
            format!("`{reference}` stays as it is in single quotes, no value takes its place"),
            format!("use double quotes: `\"{reference}\"`"),
        ),
        WarningKind::Unquoted => Advice::new(
            format!("the value of `{reference}` may be any text, and outside quotes it is split into words"),
            format!("put it in double quotes: `\"{reference}\"`"),
        ),
        WarningKind::EvaluatedAgain(evaluation) => Advice::new(
            format!(
                "the value of `{reference}` may be any text, and the shell evaluates it again {evaluation}, \
                 so it could run commands"
            ),
            evaluation_help(evaluation, reference),
        ),
        WarningKind::Unknown => Advice::new(
            format!("nobody sets the variable `{name}`"),
            did_you_mean(warning.nearest.as_deref()).unwrap_or_else(|| {
                format!("set it in the command or in `env:`, or write `${{{name}:-}}` where it may be missing")
            }),
        ),
    }
}

fn evaluation_help(evaluation: Evaluation, reference: &str) -> String {
    match evaluation {
        Evaluation::Arithmetic | Evaluation::Let | Evaluation::NumericTest => format!(
            "compare with `[ \"{reference}\" -gt 3 ]`, which takes numbers only, calculate with `expr`, or move \
             the test into `when:`"
        ),
        Evaluation::Subscript | Evaluation::VariableName => {
            format!("choose among names you write: `case \"{reference}\" in a) … ;; esac`")
        }
        Evaluation::Declaration => format!("assign it without attributes: `value=\"{reference}\"`"),
        Evaluation::Eval | Evaluation::Trap => {
            format!("let single quotes keep the name for then: `'… \"{reference}\" …'`")
        }
        Evaluation::Program => {
            format!("pass it as an argument: `sh -c '… \"$1\" …' sh \"{reference}\"`")
        }
    }
}

/// What a person is told about a fault.
pub(crate) fn advice(fault: &Fault) -> Advice {
    let message = fault.kind.to_string();
    let path = fault.source.path.display();
    let near = did_you_mean(fault.kind.nearest());
    match &fault.kind {
        FaultKind::Unreadable { cause } => Advice::new(
            format!("the file cannot be read: {}", cut_number(cause)),
            format!(
                "see whether it is there and may be read: `ls -l {}`",
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
            "keep hooks in it and nothing else; scripts and data belong into files of their own",
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
        FaultKind::Syntax { message } => {
            // The parser's advice is for people who call it from Rust.
            let heading = message.split("; use from_str").next().unwrap_or(message);
            Advice::new(heading, syntax_help(message))
        }
        FaultKind::DuplicateKey { key } => {
            Advice::new(message, format!("keep one `{key}`, and put what stands under both there"))
                .found(key)
        }
        FaultKind::UnknownKey { key, known, .. } => Advice::new(
            format!("unknown key `{key}`"),
            near.unwrap_or_else(|| format!("expected one of: {}", known.join(", "))),
        )
        .found(key)
        .expected(known.join(", ")),
        FaultKind::Superseded { key, successor } => Advice::new(
            format!("the key `{key}` is not used here"),
            format!("its work is done by {successor}"),
        )
        .found(key)
        .expected(*successor),
        FaultKind::KeyOfOtherType { key, belongs_to, found } => Advice::new(
            message,
            format!("remove `{key}`, or make it a hook of its own with `type: {belongs_to}`"),
        )
        .found(*found)
        .expected(*belongs_to),
        FaultKind::WrongKind { expected, found } => {
            Advice::new(message, kind_help(expected)).found(found).expected(*expected)
        }
        FaultKind::UnknownWord { found, expected, .. } => Advice::new(
            message,
            near.unwrap_or_else(|| format!("write one of {}", quoted(expected, ", "))),
        )
        .found(found)
        .expected(expected.join(", ")),
        FaultKind::BadValue { found, expected } => {
            Advice::new(message, value_help(expected)).found(found).expected(*expected)
        }
        FaultKind::Missing { missing } => {
            Advice::new(message, missing_help(missing)).expected(*missing)
        }
        FaultKind::Conflict(conflict) => Advice::new(message, conflict_help(*conflict)),
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
                "a value that also stands in other texts would be hidden there; make `{name}` \
                 longer, or keep it in the environment if it is no secret"
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
            "compare with `[ … -gt … ]`, which takes numbers only, or move the test into `when:`",
        )
        .found(reference),
        FaultKind::Template(problem) => Advice::new(
            message,
            problem.fix().map_or_else(
                || "write the command so that a shell can read it".to_owned(),
                |fix| fix.to_string(),
            ),
        ),
        FaultKind::UnknownDialect { name, known, nearest } => {
            let help = did_you_mean(*nearest)
                .unwrap_or_else(|| "leave `dialect` out for a native hook".to_owned());
            Advice::new(message, help).found(name).expected(known.join(", "))
        }
        FaultKind::DuplicateId { id, .. } => {
            Advice::new(message, "give one of the two another `id`").found(id)
        }
        FaultKind::DuplicateName { name, .. } => {
            Advice::new(message, "give one of the two another `name`").found(name)
        }
        FaultKind::BadRegex { pattern, .. } => {
            Advice::new(message, "mend the expression; `contains` looks for plain text")
                .found(pattern)
        }
        FaultKind::TooManyHooks { hooks_max } => {
            Advice::new(message, "let one hook with a pattern like `tool:*` do the work of many")
                .expected(format!("at most {hooks_max} hooks"))
        }
        FaultKind::StartsItself { .. } => Advice::new(
            message,
            "let one of these hooks start another pipeline, or take it out: no session starts itself",
        ),
        FaultKind::NotFound { nearest: Some(nearest), .. } => {
            Advice::new(message, format!("did you mean `{nearest}`?"))
        }
        FaultKind::NotFound { looked_in, nearest: None, .. } => {
            let places: Vec<String> =
                looked_in.iter().map(|path| format!("`{}`", path.display())).collect();
            let help = match &places[..] {
                [] => "write it, or name another".to_owned(),
                [place] => format!("looked for {place}"),
                places => format!("looked in {}", places.join(", ")),
            };
            Advice::new(message, help)
        }
        FaultKind::NotALoop { .. } => {
            Advice::new(message, "name a loop, or run the pipeline by itself")
        }
        FaultKind::NoAgent => {
            let known: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
            Advice::new(
                message,
                format!(
                    "write `agent: …` into the loop or into hookwright.yaml, or say it with `--agent`: {}, \
                     `{{command: …}}` for any other program, or `{{script: turns.yaml}}`, which plays a \
                     script",
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
                "install it with `npm install -g {package}`, or see whether it is in PATH: \
                 `which {program}`"
            ),
        ),
        FaultKind::NoPrompt => Advice::new(
            message,
            "write `prompt: …` or `prompt_file: …`; a loop.yaml also takes the file `prompt.md` beside it",
        ),
        FaultKind::NoProgram { program } => Advice::new(
            message,
            format!("install it, or see whether it is in PATH: `which {program}`"),
        ),
        FaultKind::BadQueue { .. } => Advice::new(
            message,
            "an issue is a file `N-title.md` with a number of its own; mend it, or name another folder",
        ),
        FaultKind::NotYet { what } => {
            let help = if what.starts_with("dialect") {
                format!("remove `{what}` and write the hook in the native format")
            } else {
                format!("remove `{what}`")
            };
            Advice::new(message, help).found(what)
        }
    }
}

fn pattern(error: &PatternError, near: Option<String>) -> Advice {
    match error {
        PatternError::UnknownEvent { name, .. } => Advice::new(
            error.to_string(),
            near.unwrap_or_else(|| "`hookwright events` lists every event".into()),
        )
        .found(name),
        PatternError::NoSubject { name, event } => {
            Advice::new(error.to_string(), format!("write `{event}` alone"))
                .found(name)
                .expected(*event)
        }
        PatternError::BadSubject { name, event } => Advice::new(
            error.to_string(),
            format!("write `{event}` and put a regular expression into `matcher: /…/`"),
        )
        .found(name),
        PatternError::BadGlob { name } => Advice::new(
            error.to_string(),
            "write one pattern for each, separated by commas, or narrow with `matcher`",
        )
        .found(name),
        PatternError::Empty => Advice::new(
            error.to_string(),
            "write a name between the commas, as in `tool:pre_execute, session:stop`",
        ),
    }
}

fn matcher(error: &MatcherError) -> Advice {
    let help = match error {
        MatcherError::BadRegex { .. } => {
            "mend the expression between the slashes, or leave them out to match plain names"
        }
        MatcherError::EmptyName => "remove the `|` that has no name beside it",
        MatcherError::Comma => "write `A|B`",
        MatcherError::OddName { .. } => {
            "write a regular expression as `/…/`, any characters as `*`, several names as `A|B`"
        }
    };
    Advice::new(error.to_string(), help)
}

fn condition(error: &ConditionError, near: Option<String>) -> Advice {
    const EXAMPLE: &str =
        "a condition looks like `${ITERATION} % 10 == 0 && ${STAGE} in ['plan', 'work']`";
    let message = error.to_string();
    match error {
        ConditionError::Empty { .. } => Advice::new(message, "write a condition, or remove `when`"),
        ConditionError::UnknownVariable { name, .. } => {
            Advice::new(message, near.unwrap_or_else(variable_help)).found(name)
        }
        ConditionError::Unexpected { expected, found, .. } => {
            Advice::new(message, if found == "=" { "compare with `==`" } else { EXAMPLE })
                .found(found)
                .expected(expected.as_ref())
        }
        ConditionError::UnterminatedString { .. } => {
            Advice::new(message, "close it with the quote it began with")
        }
        ConditionError::BadRegex { pattern, .. } => Advice::new(
            message,
            "mend the expression; `contains` and `startsWith` compare plain text",
        )
        .found(pattern),
        ConditionError::TooLong { length } => {
            Advice::new(message, IN_A_SCRIPT).found(format!("{length} bytes"))
        }
        ConditionError::TooDeep { .. } => Advice::new(message, IN_A_SCRIPT),
    }
}

const IN_A_SCRIPT: &str =
    "let the hook's command decide: a script can exit 0 when it has nothing to do";

fn variable_help() -> String {
    "`hookwright events NAME` lists an event's variables; others have to be in the environment"
        .into()
}

fn syntax_help(message: &str) -> &'static str {
    if message.contains("anchors expanded") {
        "write the values out instead of repeating them with anchors"
    } else if message.contains("tab") {
        "indent with spaces"
    } else if message.starts_with("unexpected character") {
        "remove it, or write it as an escape in double quotes: `\"\\e\"`"
    } else if message.contains("multiple") {
        "keep one document: remove the line `---` and what stands under it"
    } else {
        "look for a missing quote, bracket or space near this place; text with `: `, ` #`, `{` or \
         `*` needs quotes"
    }
}

fn kind_help(expected: &str) -> String {
    match expected {
        "a list of cases" => "begin each case with a dash: `- name: sudo is blocked`".into(),
        "true or false" => "write `true` or `false`, without quotes".into(),
        "a list of hooks" => "begin each hook with a dash: `- command: cargo test`".into(),
        "a map with the key `hooks`" | "a map from events to lists of hooks" => {
            "write events with their hooks: `hooks: {session:start: [{command: echo hello}]}`"
                .into()
        }
        "a map from names to texts" => "write names with their values: `{NAME: value}`".into(),
        "a text" => "put it in quotes".into(),
        _ if expected.starts_with("a hook, a map with") => {
            "write what it does: `- command: cargo test`".into()
        }
        other => format!("write {other}"),
    }
}

fn value_help(expected: &str) -> String {
    if expected.starts_with("an https address") {
        return "use https, or write `allow_http: true` beside it".into();
    }
    if expected.starts_with("a variable that no event sets") {
        return "move it to `data`, in small letters".into();
    }
    format!("write {expected}")
}

fn missing_help(missing: &str) -> String {
    match missing {
        "`event`" => "say what it waits for: `event: tool:pre_execute`".into(),
        "`command`" => "say what to run: `command: cargo test`".into(),
        "`url`" => "say where to send it: `url: https://example.com/hook`; a question with `await: true` needs none".into(),
        "`pipeline`" => "say what to run: `pipeline: review`".into(),
        "`cases`" => "write a first case: `cases: [{name: …, event: …, expect: {…}}]`".into(),
        "`name`" => "say what the case shows: `name: sudo is blocked`".into(),
        "`event` or `steps`" => "say what is fired: `event: tool:pre_execute`".into(),
        "`expect`" => "say what has to come: `expect: {decision: block}`".into(),
        "`contains` or `matches`" => "say what stands in the text: `contains: sudo`".into(),
        _ => "say what the hook does: `command: cargo test`".into(),
    }
}

fn conflict_help(conflict: Conflict) -> &'static str {
    match conflict {
        Conflict::NobodyWaits => "remove `await: false`, or write `on_failure: continue`",
        Conflict::NothingToBlock => {
            "use `abort` or `continue`; `hookwright events` shows which events can be blocked"
        }
        Conflict::NothingToExhaust => {
            "write `on_failure: retry` beside it, or use `on_failure` alone"
        }
        Conflict::NothingToMatch => "remove `matcher`; `when` can look at all of an event's data",
        Conflict::EventTwice => "remove `event`, or move the hook under that event",
        Conflict::TwoPrompts => "keep one of them",
        Conflict::NobodyReads => "remove `pipe_output`, or listen to `session:stop`",
        Conflict::BesideSteps => "move it under a dash of `steps`, or remove `steps`",
        Conflict::DataTwice => "keep one of the two",
        Conflict::PreparesInPlace => "remove `in_place`: the case then runs in a copy",
        Conflict::ContentOfDeleted => "remove `content`, or write `is: changed`",
    }
}

/// The path as one word of a command that can be pasted.
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
