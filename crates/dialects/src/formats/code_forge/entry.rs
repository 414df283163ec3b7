//! [`Entry`]: one hook of Code-Forge's file, or one that a program registers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::tree::{Field, Node, Notes, Raw, parse};
use hookwright_config::{Fault, FaultKind, MissingKey, SourceFile};
use hookwright_engine::hook::{Action, Hook, HookOrigin, HookSource, Layer, Shell};
use hookwright_engine::pattern::Pattern;
use hookwright_engine::template::{CommandText, TextTemplate};
use serde_json::{Map, Value, json};

use super::POLICY;
use super::pattern::ParsedPattern;

/// Limits of a timeout, in seconds; values outside are clamped.
const TIMEOUT_SECONDS: std::ops::RangeInclusive<f64> = 0.1..=300.0;

/// A hook of Code-Forge.
///
/// ```
/// use hookwright_dialects::code_forge::Entry;
/// use serde_json::json;
///
/// let written = json!({ "event": "tool:pre_execute:bash", "command": "./guard.sh", "enabled": true });
/// let entry = Entry::from_json(&written).expect("it has all it needs");
/// assert_eq!(entry, Entry::new("tool:pre_execute:bash", "./guard.sh"));
/// // Defaults are not written.
/// let short = json!({ "event": "tool:pre_execute:bash", "command": "./guard.sh" });
/// assert_eq!(entry.to_json(), short);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The pattern of events that it runs at.
    pub event: String,
    /// Its shell command.
    pub command: String,
    /// Its timeout in seconds, between 0.1 and 300; 10 by default.
    pub timeout: Option<f64>,
    /// Its working directory, relative to the project root; the root by default.
    pub working_dir: Option<String>,
    /// Variables that override all others.
    pub env: Vec<(String, String)>,
    /// Whether it runs at all.
    pub enabled: bool,
    /// Its description.
    pub description: String,
    /// Other fields in the file, which are kept but not used.
    pub others: Map<String, Value>,
}

impl Entry {
    /// A hook that runs this command at events that match this pattern.
    pub fn new(event: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            event: event.into(),
            command: command.into(),
            timeout: None,
            working_dir: None,
            env: Vec::new(),
            enabled: true,
            description: String::new(),
            others: Map::new(),
        }
    }

    /// Sets the timeout, in seconds.
    #[must_use]
    pub fn timeout(self, seconds: f64) -> Self {
        Self { timeout: Some(seconds), ..self }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// Parses a hook from JSON, or returns all of its faults.
    pub fn from_json(value: &Value) -> Result<Self, Vec<Fault>> {
        Checked::of_json(value).map(|checked| checked.entry)
    }

    /// The hook as JSON, without defaults.
    pub fn to_json(&self) -> Value {
        let mut written = Map::new();
        written.insert("event".into(), json!(self.event));
        written.insert("command".into(), json!(self.command));
        if let Some(seconds) = self.timeout.filter(|_| self.limit(None) != super::DEFAULT_TIMEOUT) {
            written.insert("timeout".into(), json!(seconds));
        }
        if let Some(folder) = &self.working_dir {
            written.insert("working_dir".into(), json!(folder));
        }
        if !self.env.is_empty() {
            let env = self.env.iter().map(|(name, value)| (name.clone(), json!(value)));
            written.insert("env".into(), Value::Object(env.collect()));
        }
        if !self.enabled {
            written.insert("enabled".into(), json!(false));
        }
        if !self.description.is_empty() {
            written.insert("description".into(), json!(self.description));
        }
        for (key, value) in &self.others {
            written.entry(key.as_str()).or_insert_with(|| value.clone());
        }
        Value::Object(written)
    }

    /// Its timeout, or this default if it has none.
    pub(super) fn limit(&self, default: Option<Duration>) -> Duration {
        let default = default.unwrap_or(super::DEFAULT_TIMEOUT).as_secs_f64();
        let seconds = self.timeout.filter(|seconds| !seconds.is_nan()).unwrap_or(default);
        let (least, most) = (*TIMEOUT_SECONDS.start(), *TIMEOUT_SECONDS.end());
        Duration::from_secs_f64(seconds.clamp(least, most))
    }
}

/// A usable hook.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) entry: Entry,
    /// The parts of its pattern that some event can match.
    pub(super) heard: String,
    pattern: Pattern,
    command: CommandText,
}

impl Checked {
    /// Reads one element of `hooks`. `None` if it is unusable; the faults are noted.
    pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> Option<Self> {
        let before = notes.faults.len();
        let fields = notes.map(node, "a hook, an object with `event` and `command`")?;
        let required = |key, missing| {
            let field = fields.iter().find(|field| &*field.key == key);
            field.map(|field| &field.value).ok_or(FaultKind::Missing(missing))
        };
        let event =
            required("event", MissingKey::Event).map_err(|kind| notes.note(node.at, kind)).ok();
        let listening = event.and_then(|event| listening(event, notes));
        let command =
            required("command", MissingKey::Command).map_err(|kind| notes.note(node.at, kind));
        let command = command.ok().and_then(|command| notes.command(command, POLICY.wire));
        let mut entry = Entry::new("", "");
        for field in fields {
            read_field(&mut entry, field, notes);
        }
        let ((event, listening), command) = (listening?, command?);
        // A part of the pattern that matches nothing does not affect the others.
        let vain = listening.in_vain.len();
        if notes.faults.len() > before + vain {
            return None;
        }
        entry.event = event;
        entry.command = command.source().to_owned();
        let ParsedPattern { pattern, heard, .. } = listening;
        Some(Self { entry, heard, pattern, command })
    }

    /// Reads a hook that is not in a file.
    pub(super) fn of_json(value: &Value) -> Result<Self, Vec<Fault>> {
        let source = SourceFile { path: "hook".into(), text: value.to_string().into() };
        let source = Arc::new(source);
        let root = parse(&source).map_err(|fault| vec![fault])?;
        let mut notes = Notes::new(&source);
        match Self::read(&root, &mut notes) {
            Some(checked) if notes.faults.is_empty() => Ok(checked),
            _ => Err(notes.faults),
        }
    }

    /// The hook for the engine.
    pub(super) fn into_hook(self, id: String, source: HookSource, layer: Layer) -> Hook {
        let Self { entry, heard, pattern, command } = self;
        let literal = |text: &str| TextTemplate::of_dialect(text, POLICY.wire);
        let timeout = entry.timeout.is_some().then(|| entry.limit(None));
        let action = Action::Shell(Shell {
            env: entry.env.iter().map(|(name, text)| (name.clone(), literal(text))).collect(),
            working_dir: entry.working_dir.map(PathBuf::from),
            ..Shell::new(command)
        });
        let origin = HookOrigin { id, source, layer, event: heard.into() };
        Hook {
            description: Some(entry.description).filter(|text| !text.is_empty()),
            enabled: entry.enabled,
            timeout,
            ..Hook::new(origin, pattern, action, &POLICY)
        }
    }
}

fn listening(node: &Node, notes: &mut Notes<'_>) -> Option<(String, ParsedPattern)> {
    const EXPECTED: &str = "a pattern like tool:pre_execute, tool:*:write or *";
    let text = notes.text(node, EXPECTED)?;
    let listening = ParsedPattern::read(text);
    for (part, kind) in &listening.in_vain {
        notes.note_within(node, part.clone(), kind.clone());
    }
    if listening.hears_anything() {
        return Some((text.to_owned(), listening));
    }
    if listening.in_vain.is_empty() {
        notes.bad_value(node.at, text, EXPECTED);
    }
    None
}

/// `null` means the default.
fn read_field(entry: &mut Entry, field: &Field, notes: &mut Notes<'_>) {
    let value = &field.value;
    match (&*field.key, &value.raw) {
        ("event" | "command", _) => {}
        ("timeout" | "working_dir" | "env" | "enabled" | "description", Raw::Null) => {}
        ("timeout", Raw::Int(seconds)) => entry.timeout = Some(*seconds as f64),
        ("timeout", Raw::Float(seconds)) => entry.timeout = Some(*seconds),
        ("timeout", _) => notes.wrong_kind(value, "a number of seconds"),
        ("working_dir", _) => {
            entry.working_dir = notes.text(value, "a folder").map(str::to_owned);
        }
        ("env", _) => entry.env = environment(value, notes),
        ("enabled", _) => entry.enabled = notes.bool(value).unwrap_or(true),
        ("description", Raw::Text(text)) => entry.description = text.to_string(),
        ("description", _) => notes.wrong_kind(value, "a description"),
        (key, _) => {
            entry.others.insert(key.to_owned(), value.to_json());
        }
    }
}

fn environment(node: &Node, notes: &mut Notes<'_>) -> Vec<(String, String)> {
    let texts = notes.texts(node, "an object from names to strings");
    for (name, value) in &texts {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let expected = "a variable's name and a string without NUL bytes";
            notes.bad_value(node.at, name.replace('\0', "\\0"), expected);
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(value: Value) -> Vec<String> {
        let faults = Entry::from_json(&value).expect_err("it cannot be used");
        faults.iter().map(|fault| fault.kind.to_string()).collect()
    }

    // Conformance: code-forge-008, code-forge-011
    #[test]
    fn an_entry_reads_back_as_it_was_written_with_its_unknown_fields() {
        let whole = json!({ "event": "tool:*", "command": "true", "timeout": 2.5,
            "working_dir": "sub", "env": { "A": "$HOME", "B": "2" }, "enabled": false,
            "description": "what for", "owner": { "team": "x" } });
        let entry = Entry::from_json(&whole).expect("all of it is known");
        assert_eq!(entry.to_json(), whole);
        assert_eq!(Entry::from_json(&entry.to_json()).expect("as written"), entry);
    }

    #[test]
    fn default_values_are_not_written() {
        let spelled_out = json!({ "event": "*", "command": "true", "timeout": 10.0,
            "working_dir": null, "env": {}, "enabled": true, "description": "" });
        let entry = Entry::from_json(&spelled_out).expect("valid");
        assert_eq!(entry.to_json(), json!({ "event": "*", "command": "true" }));
    }

    #[test]
    fn the_time_limit_stays_between_its_bounds() {
        let limit = |seconds: f64| Entry::new("*", "true").timeout(seconds).limit(None);
        for (written, counts) in [
            (5.0, 5.0),
            (0.0, 0.1),
            (-3.0, 0.1),
            (0.05, 0.1),
            (300.0, 300.0),
            (1e9, 300.0),
            (f64::INFINITY, 300.0),
            (f64::NAN, 10.0),
        ] {
            assert_eq!(limit(written), Duration::from_secs_f64(counts), "{written}");
        }
        let other = Duration::from_millis(2500);
        assert_eq!(Entry::new("*", "true").limit(Some(other)), other);
        assert_eq!(Entry::new("*", "true").limit(None), Duration::from_secs(10));
    }

    #[test]
    fn every_fault_is_reported() {
        let text = "an object from names to strings";
        for (value, wrong) in [
            (
                json!([]),
                vec!["expected a hook, an object with `event` and `command` but found a list"],
            ),
            (json!({}), vec!["missing `event`", "missing `command`"]),
            (
                json!({ "event": "x:y", "command": " ", "timeout": "5", "enabled": 1 }),
                vec![
                    "unknown event `x:y`",
                    "expected a command but found ` `",
                    "expected a number of seconds but found the string `5`",
                    "expected true or false but found the number `1`",
                ],
            ),
            (
                json!({ "event": ",", "command": "a\u{0}b", "description": 1, "working_dir": 2 }),
                vec![
                    "expected a pattern like tool:pre_execute, tool:*:write or * but found `,`",
                    "expected a command without NUL bytes but found `a\\0b`",
                    "expected a description but found the number `1`",
                    "expected a folder but found the number `2`",
                ],
            ),
            (
                json!({ "event": "*", "command": "echo ${NOBODY.x}", "env": { "A=B": "c" } }),
                vec![
                    "unknown variable `NOBODY`",
                    "expected a variable's name and a string without NUL bytes but found `A=B`",
                ],
            ),
            (
                json!({ "event": "*", "command": "x", "env": 1 }),
                vec![&*format!("expected {text} but found the number `1`")],
            ),
            (
                json!({ "event": "tool:pre_exec,*", "command": "(( ${TOOL_INPUT.n} > 1 ))" }),
                vec![
                    "unknown event `tool:pre_exec`",
                    "the shell evaluates `${TOOL_INPUT.n}` again here, so a value could run commands",
                ],
            ),
        ] {
            assert_eq!(faults(value.clone()), wrong, "{value}");
        }
    }
}
