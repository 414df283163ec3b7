//! Translates advice with YAML into advice with JSON, for files in JSON.

use std::path::Path;
use std::sync::Arc;

use hookwright_config::tree::parse;
use hookwright_config::{ExpectedValue, Fault, FaultKind, SourceFile};
use serde_json::Value;

/// Whether the programs that read this file parse it as JSON.
pub(super) fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

/// The advice about a fault of a JSON file, made from the advice for YAML.
pub(super) fn help(fault: &Fault, help: &str) -> String {
    match &fault.kind {
        FaultKind::Syntax { .. } => {
            "look for a missing comma, quote or bracket nearby; keys and strings need double quotes"
                .to_owned()
        }
        FaultKind::WrongKind { expected: ExpectedValue::HookList, .. } => {
            "put the hooks in brackets: `[{\"command\": \"cargo test\"}]`".to_owned()
        }
        FaultKind::WrongKind { expected: ExpectedValue::CaseList, .. } => {
            "put the cases in brackets: `[{\"name\": \"sudo is blocked\"}]`".to_owned()
        }
        FaultKind::WrongKind { expected: ExpectedValue::String, .. } => {
            "put it in double quotes".to_owned()
        }
        _ => translated(help),
    }
}

/// The text with each piece of YAML in backticks replaced by JSON.
fn translated(help: &str) -> String {
    let mut text = String::new();
    let pieces: Vec<&str> = help.split('`').collect();
    for (number, piece) in pieces.iter().copied().enumerate() {
        if number > 0 {
            text.push('`');
        }
        // A backtick without a partner begins no code.
        let is_code = number % 2 == 1 && number + 1 < pieces.len();
        match is_code.then(|| as_json(piece)).flatten() {
            Some(json) => text.push_str(&json),
            None => text.push_str(piece),
        }
    }
    text
}

/// A key with its value, or an entry of a list. Anything else in backticks is a name, a command or
/// a value.
fn as_json(code: &str) -> Option<String> {
    let is_pair = code.contains(": ") && !code.contains('"');
    let source = SourceFile { path: "help".into(), text: code.into() };
    let value = is_pair.then(|| parse(&Arc::new(source)).ok()).flatten()?.to_json();
    match &value {
        Value::Object(_) if code.starts_with('{') => Some(written(&value)),
        Value::Object(members) => {
            let pairs = members.iter().map(|(key, value)| pair(key, value));
            Some(pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => Some(items.iter().map(written).collect::<Vec<_>>().join(", ")),
        _ => None,
    }
}

/// JSON as people write it in one line.
fn written(value: &Value) -> String {
    match value {
        // `{…}` is a placeholder.
        Value::Object(members) if members.contains_key("…") => "{…}".to_owned(),
        Value::Object(members) => {
            let pairs: Vec<String> = members.iter().map(|(key, value)| pair(key, value)).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

fn pair(key: &str, value: &Value) -> String {
    format!("{}: {}", Value::from(key), written(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_in_backticks_becomes_json_and_all_else_stays() {
        for (yaml, json) in [
            (
                "set what to run: `command: cargo test`",
                "set what to run: `\"command\": \"cargo test\"`",
            ),
            (
                "write a first hook: `hooks: {session:start: [{command: echo hello}]}`",
                "write a first hook: `\"hooks\": {\"session:start\": [{\"command\": \"echo hello\"}]}`",
            ),
            ("write `- command: cargo test`", "write `{\"command\": \"cargo test\"}`"),
            (
                "remove `await: false`, or write `on_failure: continue`",
                "remove `\"await\": false`, or write `\"on_failure\": \"continue\"`",
            ),
            ("write `version: 1`, or leave it", "write `\"version\": 1`, or leave it"),
            (
                "beside it: `{type: NAME, model: …}`",
                "beside it: `{\"type\": \"NAME\", \"model\": \"…\"}`",
            ),
            (
                "`cases: [{name: …, expect: {…}}]`",
                "`\"cases\": [{\"name\": \"…\", \"expect\": {…}}]`",
            ),
            ("did you mean `tool:pre_execute`?", "did you mean `tool:pre_execute`?"),
            ("make it yours: `chmod 600 hooks.json`", "make it yours: `chmod 600 hooks.json`"),
            ("use `[ \"$X\" -gt 3 ]`, or `expr`", "use `[ \"$X\" -gt 3 ]`, or `expr`"),
            ("an odd ` alone: b", "an odd ` alone: b"),
        ] {
            assert_eq!(translated(yaml), json);
        }
    }
}
