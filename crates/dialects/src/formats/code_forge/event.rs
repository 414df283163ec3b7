//! The input of a Code-Forge hook: `FORGE_…` in its environment, and the event as JSON on standard
//! input.
//!
//! Every field of the event's data becomes a variable with Code-Forge's name. All names begin with
//! `FORGE_`, so that data cannot control the shell, and none can replace a standard variable.
//! Values are complete: nothing is cut, and line breaks stay.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use hookwright_engine::hook::Action;
use hookwright_engine::limits::ENV_VALUE_BYTES_MAX;
use hookwright_engine::policy::{VariableContent, WireInput, WireReader};
use hookwright_engine::variables::stdin_line;
use hookwright_events::{Event, tool};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Serializer, Value, json};

/// Hookwright's name of a data field, and Code-Forge's.
const NAMES: &[(&str, &str)] = &[
    ("tool_input", "tool_args"),
    ("tool_response", "tool_result"),
    ("model", "llm_model"),
    ("tokens", "llm_tokens"),
    ("role", "message_role"),
    ("content", "message_content"),
    ("permission_level", "perm_level"),
    ("permission_rule", "perm_rule"),
    ("prompt", "user_input"),
];

/// Fields of a Code-Forge event outside its data.
const BESIDE: &[&str] = &["tool_name", "session_id", "timestamp", "cwd"];

/// Names without `FORGE_` that commands may also use, unless one of our variables has that name.
const PLAIN: &[&str] = &[
    "EVENT_TYPE",
    "WORKING_DIR",
    "TOOL_NAME",
    "TOOL_ARGS",
    "TOOL_RESULT",
    "LLM_MODEL",
    "LLM_TOKENS",
    "MESSAGE_ROLE",
    "MESSAGE_CONTENT",
    "PERM_LEVEL",
    "PERM_RULE",
    "USER_INPUT",
];

/// Standard variables whose value is a number, a keyword or a generated name.
const PLAIN_VALUES: &[&str] = &[
    "EVENT",
    "EVENT_TYPE",
    "TIMESTAMP",
    "SESSION_ID",
    "TOOL_NAME",
    "LLM_MODEL",
    "LLM_TOKENS",
    "MESSAGE_COUNT",
    "MESSAGE_ROLE",
    "PERM_LEVEL",
];

/// The variables of Code-Forge hooks at an event: `FORGE_EVENT`, `FORGE_TOOL_NAME`, …, as its
/// `HookEvent.to_env` returns them. `working_dir` is used if the event names no working directory.
///
/// ```
/// use hookwright_dialects::code_forge::{to_env, to_json};
/// use hookwright_engine::{Event, serde_json::json};
///
/// let data = json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "session_id": "s1" });
/// let event = Event::named("tool:pre_execute", data).expect("a known event");
/// let variables = to_env(&event, "/project".as_ref());
/// assert_eq!(variables["FORGE_TOOL_NAME"], "bash");
/// assert_eq!(variables["FORGE_TOOL_ARGS"], r#"{"command": "ls"}"#);
/// assert_eq!(variables["FORGE_WORKING_DIR"], "/project");
/// assert_eq!(
///     to_json(&event),
///     r#"{"type": "tool:pre_execute", "timestamp": null, "data": {"tool_args": {"command": "ls"}}, "tool_name": "bash", "session_id": "s1"}"#
/// );
/// ```
pub fn to_env(event: &Event, working_dir: &Path) -> BTreeMap<String, String> {
    let named = named(event, &data(event), working_dir).into_iter();
    named.map(|(name, value)| (format!("FORGE_{name}"), value)).collect()
}

/// An event as Code-Forge's `HookEvent.to_json` writes it: `type`, `timestamp` in seconds since 1970,
/// `data`, `tool_name` and `session_id`.
pub fn to_json(event: &Event) -> String {
    let seconds = event.data.get("timestamp").and_then(since_1970);
    let tool_name = event.text("tool_name").map(|name| tool::canonical(name.trim()));
    let session_id = event.text("session_id").or_else(|| event.text("session"));
    // A list keeps Code-Forge's order of fields.
    let fields = [
        ("type", json!(event.name.as_str())),
        ("timestamp", json!(seconds)),
        ("data", Value::Object(data(event))),
        ("tool_name", json!(tool_name)),
        ("session_id", json!(session_id)),
    ];
    let fields = fields.map(|(name, value)| format!("\"{name}\": {}", spaced(&value)));
    format!("{{{}}}", fields.join(", "))
}

/// Names without `FORGE_`, and their values.
fn named(event: &Event, data: &Map<String, Value>, root: &Path) -> Vec<(String, String)> {
    let mut named = standard(event, root);
    for (key, value) in data {
        let name = variable_name(key);
        if !key.is_empty() && !named.iter().any(|(taken, _)| *taken == name) {
            named.push((name, text(value)));
        }
    }
    named
}

/// The input of a hook.
pub(super) fn input(reader: &WireReader<'_>) -> WireInput {
    let data = data(reader.event);
    let named = named(reader.event, &data, reader.root);
    let mut variables: Vec<(Cow<'static, str>, String)> = Vec::with_capacity(named.len() + 4);
    for (name, value) in named {
        let plain = if name == "EVENT" { "EVENT_TYPE" } else { &*name };
        let known = PLAIN.iter().find(|known| **known == plain);
        // Each copy takes space in the environment, so a hook gets only those that it mentions.
        if let Some(plain) = known.filter(|plain| is_mentioned(reader, plain)) {
            variables.push((Cow::Borrowed(plain), value.clone()));
        }
        variables.push((format!("FORGE_{name}").into(), value));
    }
    WireInput { stdin: stdin(reader, data), variables }
}

/// The content of a variable that [`input`] sets.
pub(super) fn variable(name: &str) -> Option<VariableContent> {
    let standard = match name.strip_prefix("FORGE_") {
        Some(rest) => rest,
        None => PLAIN.iter().copied().find(|plain| *plain == name)?,
    };
    Some(if PLAIN_VALUES.contains(&standard) {
        VariableContent::Plain
    } else {
        VariableContent::FreeText
    })
}

/// Whether a value of the event may be too large for an environment, or invalid in one.
pub(super) fn may_not_fit(event: &Event) -> bool {
    let all = spaced(&Value::Object(event.data.clone()));
    all.len() > ENV_VALUE_BYTES_MAX || all.contains("\\u0000")
}

/// The variables that data cannot replace.
fn standard(event: &Event, root: &Path) -> Vec<(String, String)> {
    let field = |name: &str| event.data.get(name).map(text).filter(|text| !text.is_empty());
    let session = field("session_id").or_else(|| field("session")).unwrap_or_default();
    let folder = field("cwd").unwrap_or_else(|| root.to_string_lossy().into_owned());
    let mut named = vec![
        ("EVENT".to_owned(), event.name.to_string()),
        ("TIMESTAMP".to_owned(), event.data.get("timestamp").map(seconds).unwrap_or_default()),
        ("SESSION_ID".to_owned(), session),
        ("WORKING_DIR".to_owned(), folder),
    ];
    if let Some(name) = event.text("tool_name") {
        named.push(("TOOL_NAME".to_owned(), tool::canonical(name.trim()).to_owned()));
    }
    named
}

/// The event's data under Code-Forge's names.
fn data(event: &Event) -> Map<String, Value> {
    let mut data = Map::new();
    for (field, value) in &event.data {
        if BESIDE.contains(&field.as_str()) {
            continue;
        }
        let theirs = NAMES.iter().find(|(ours, _)| ours == field).map(|(_, theirs)| *theirs);
        data.insert(theirs.unwrap_or(field).to_owned(), value.clone());
    }
    if event.name.as_str().starts_with("permission:") {
        data.entry("perm_rule").or_insert_with(|| json!(""));
    }
    data
}

/// `tool-args` → `TOOL_ARGS`.
fn variable_name(key: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_uppercase(),
        false => '_',
    };
    key.chars().map(letter).collect()
}

fn is_mentioned(reader: &WireReader<'_>, name: &str) -> bool {
    matches!(&reader.hook.action, Action::Shell(shell) if shell.command.mentions(name))
}

/// The line that native hooks get, followed by `type` and `data`.
fn stdin(reader: &WireReader<'_>, data: Map<String, Value>) -> String {
    const OURS: [&str; 2] = ["type", "data"];
    let mut event = Cow::Borrowed(reader.event);
    if OURS.iter().any(|name| event.data.contains_key(*name)) {
        event.to_mut().data.retain(|name, _| !OURS.contains(&name.as_str()));
    }
    let line = stdin_line(&event, &reader.hook.id, reader.attempt);
    let flat = line.trim_end().strip_suffix('}').expect("the line is an object");
    let name = json!(reader.event.name.as_str());
    format!("{flat},\"type\":{name},\"data\":{}}}\n", Value::Object(data))
}

/// The event's time in seconds since 1970, as in Code-Forge.
fn seconds(timestamp: &Value) -> String {
    since_1970(timestamp).map_or_else(|| text(timestamp), |seconds| format!("{seconds:?}"))
}

fn since_1970(timestamp: &Value) -> Option<f64> {
    match timestamp {
        Value::String(text) => {
            text.parse::<Timestamp>().ok().map(|time| time.as_millisecond() as f64 / 1000.0)
        }
        other => other.as_f64(),
    }
}

/// A value as text: text unchanged, null as empty, anything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => spaced(other),
    }
}

/// JSON in Code-Forge's spacing, `{"command": "ls", "n": 1}`: guards search it with `grep`.
fn spaced(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Spaced);
    value.serialize(&mut serializer).expect("memory takes all of it");
    String::from_utf8(bytes).expect("JSON is text")
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Conformance: code-forge-049
    #[test]
    fn json_is_written_in_the_form_that_guards_search() {
        let value = json!({ "command": "ls -l\n\"x\"", "n": [1, true, null], "m": {}, "ü": "é" });
        let written = r#"{"command": "ls -l\n\"x\"", "n": [1, true, null], "m": {}, "ü": "é"}"#;
        assert_eq!(spaced(&value), written);
    }

    // Conformance: code-forge-007
    #[test]
    fn times_are_in_seconds_for_every_host() {
        for (sent, counted) in [
            (json!("2026-01-02T03:04:05.250Z"), "1767323045.25"),
            (json!("2026-01-02T03:04:05Z"), "1767323045.0"),
            (json!(1767323045.5), "1767323045.5"),
            (json!(1767323045), "1767323045.0"),
            (json!("yesterday"), "yesterday"),
            (json!(null), ""),
        ] {
            assert_eq!(seconds(&sent), counted, "{sent}");
        }
    }

    #[test]
    fn check_knows_every_variable_and_which_are_free_text() {
        for (name, known) in [
            ("FORGE_TOOL_ARGS", Some(VariableContent::FreeText)),
            ("TOOL_ARGS", Some(VariableContent::FreeText)),
            ("FORGE_WHATEVER", Some(VariableContent::FreeText)),
            ("FORGE_EVENT", Some(VariableContent::Plain)),
            ("EVENT_TYPE", Some(VariableContent::Plain)),
            ("TOOL_NAME", Some(VariableContent::Plain)),
            ("FORGE_LLM_TOKENS", Some(VariableContent::Plain)),
            ("HOME", None),
            ("EVENT", None),
        ] {
            assert_eq!(variable(name), known, "{name}");
        }
    }
}
