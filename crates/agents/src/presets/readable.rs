//! What a person reads of an agent's messages and tool calls.

use serde_json::Value;

/// Characters of a tool call that are shown.
const CALL_CHARS_MAX: usize = 160;

/// The fields that best describe a tool call, in this order.
const TELLING: &[&str] =
    &["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description"];

/// A tool call in one line: `Bash: cargo test`.
pub(super) fn call(tool: &str, input: &Value) -> String {
    let telling = TELLING.iter().find_map(|name| input.get(name)?.as_str());
    let what = match (telling, input) {
        (Some(text), _) => text.to_owned(),
        (None, Value::Null) => String::new(),
        (None, input) => input.to_string(),
    };
    let mut what: String = what.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = what.char_indices().nth(CALL_CHARS_MAX) {
        what.truncate(end);
        what.push('…');
    }
    if what.is_empty() { tool.to_owned() } else { format!("{tool}: {what}") }
}

/// A text, unless it is blank.
pub(super) fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A line that is not JSON, unchanged: it may be a message for the user.
pub(super) fn plain(line: &str) -> Option<String> {
    let line = line.trim_end();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_described_by_its_most_telling_field_in_one_line() {
        for (tool, input, line) in [
            (
                "Bash",
                json!({ "description": "tests", "command": "cargo\n  test" }),
                "Bash: cargo test",
            ),
            ("Read", json!({ "file_path": "a.rs", "limit": 5 }), "Read: a.rs"),
            ("Odd", json!({ "x": 1 }), r#"Odd: {"x":1}"#),
            ("Stop", Value::Null, "Stop"),
        ] {
            assert_eq!(call(tool, &input), line);
        }
        let long = call("Bash", &json!({ "command": "ä".repeat(500) }));
        assert_eq!(long, format!("Bash: {}…", "ä".repeat(CALL_CHARS_MAX)));
    }
}
