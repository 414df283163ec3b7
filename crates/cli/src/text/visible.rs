//! Foreign text, made safe for a terminal. `events/visible_text.rs` has the replacements.

use std::path::Path;

use hookwright_events::visible_text::{acts, breaks};
pub(crate) use hookwright_events::visible_text::{one_line, visible};

/// A path for messages, in one line.
pub(crate) fn visible_path(path: &Path) -> String {
    visible(&path.to_string_lossy()).replace('\n', "␊")
}

/// JSON text with control characters escaped. The JSON serializer escapes only what JSON requires;
/// outside of strings there is nothing to escape.
pub(crate) fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let mut copied = 0;
    for (at, letter) in json.char_indices() {
        // Nearly all of it is plain, and is copied in one piece.
        if matches!(letter, ' '..='~') || !acts(letter) || breaks(letter) {
            continue;
        }
        shown.push_str(&json[copied..at]);
        copied = at + letter.len_utf8();
        let mut units = [0; 2];
        for unit in letter.encode_utf16(&mut units) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    }
    shown.push_str(&json[copied..]);
    shown
}

/// The width of a character on a terminal.
pub(crate) fn width(letter: char) -> usize {
    unicode_width::UnicodeWidthChar::width(letter).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_meaning_when_it_is_made_safe_to_look_at() {
        let value = serde_json::json!({ "a\u{9b}": "\x1b\u{7f}\u{202e}\u{e0041}ä\n" });
        let text = escaped(&format!("{value:#}"));
        assert!(text.chars().all(|letter| !acts(letter) || letter == '\n'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
