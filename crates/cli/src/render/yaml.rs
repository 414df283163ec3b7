//! Readable YAML: quotes only where necessary, and block scalars for texts of several lines.

use serde_json::{Map, Value};

/// A list entry, indented by `indent` spaces.
pub(crate) fn entry(fields: &Map<String, Value>, indent: usize) -> String {
    let mut text = String::new();
    for (number, (name, value)) in fields.iter().enumerate() {
        let start = if number == 0 { "- " } else { "  " };
        let blanks = " ".repeat(indent);
        text.push_str(&format!("{blanks}{start}{}: {}\n", key(name), written(value, indent + 4)));
    }
    text
}

/// A key of a map.
pub(crate) fn key(text: &str) -> String {
    // An event may contain a colon, which is harmless without a space after it.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-:.".contains(&byte);
    let is_safe = text.bytes().all(is_plain)
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(':')
        && !is_word_of_yaml(text);
    if is_safe { text.to_owned() } else { quoted(text) }
}

fn written(value: &Value, indent: usize) -> String {
    match value {
        Value::String(text) => scalar(text, indent),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let value = match value {
                    Value::String(text) => quoted(text),
                    other => other.to_string(),
                };
                format!("{}: {value}", key(name))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn scalar(text: &str, indent: usize) -> String {
    if is_block(text) {
        let blanks = " ".repeat(indent);
        let keep = if text.ends_with('\n') { "" } else { "-" };
        let lines = text.lines().map(|line| match line.is_empty() {
            true => String::new(),
            false => format!("{blanks}{line}"),
        });
        return format!("|{keep}\n{}", lines.collect::<Vec<_>>().join("\n"));
    }
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Whether a text survives as a block scalar.
fn is_block(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\n'])
        && text.chars().all(|letter| letter == '\n' || letter == '\t' || !letter.is_control())
        && text.lines().all(|line| line.trim_end() == line)
}

/// Whether a text needs no quotes.
fn is_plain(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " _-./+=$@%".contains(letter);
    !text.is_empty()
        && text.chars().all(is_plain)
        && text.starts_with(|first: char| first.is_ascii_alphabetic() || "./".contains(first))
        && !text.starts_with("..")
        && !text.ends_with(' ')
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !is_word_of_yaml(text)
}

/// Whether YAML would read it as a boolean, null or a number.
fn is_word_of_yaml(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(lower.as_str(), "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n")
        || matches!(lower.as_str(), ".inf" | ".nan")
        || lower.parse::<f64>().is_ok()
}

/// In double quotes, as in JSON, which YAML reads alike.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn written_yaml_is_read_back_unchanged() {
        for text in [
            "go build ./...",
            "echo 'a: b' # c",
            "true",
            "no",
            "1",
            ".5",
            "..",
            "",
            " x",
            "x ",
            "- x",
            "a\nb",
            "a\nb\n",
            "a\n\nb",
            "a\n  b\n",
            "a \nb",
            "\ta\nb",
            "a\n\n",
            "\u{7}bell",
            "{{x}} ${Y}",
            "ünïcode 😀",
            "'\"\\",
            "key: value",
            "@home",
            "%x",
        ] {
            let fields = json!({ "command": text, "env": { "A b": text, "ok": text } });
            let Value::Object(fields) = fields else { unreachable!() };
            let written = format!("hooks:\n  x:\n{}", entry(&fields, 4));
            let read: Value = serde_saphyr::from_str(&written).expect(&written);
            assert_eq!(read["hooks"]["x"][0], Value::Object(fields), "{written}");
        }
        for name in ["tool:pre_execute", "tool:*:write", "a,b", "on", "x:", "1"] {
            let read: Value = serde_saphyr::from_str(&format!("{}: 1", key(name))).expect(name);
            assert_eq!(read, json!({ name: 1 }));
        }
    }
}
