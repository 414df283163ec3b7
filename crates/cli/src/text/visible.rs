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
    match u32::from(letter) {
        0x0300..=0x036f | 0x1ab0..=0x1aff | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        // Emoji of the older blocks: most of their neighbours are narrow.
        0x231a..=0x231b
        | 0x23e9..=0x23ec
        | 0x23f0
        | 0x23f3
        | 0x25fd..=0x25fe
        | 0x2614..=0x2615
        | 0x2648..=0x2653
        | 0x267f
        | 0x2693
        | 0x26a1
        | 0x26aa..=0x26ab
        | 0x26bd..=0x26be
        | 0x26c4..=0x26c5
        | 0x26ce
        | 0x26d4
        | 0x26ea
        | 0x26f2..=0x26f3
        | 0x26f5
        | 0x26fa
        | 0x26fd
        | 0x2705
        | 0x270a..=0x270b
        | 0x2728
        | 0x274c
        | 0x274e
        | 0x2753..=0x2755
        | 0x2757
        | 0x2795..=0x2797
        | 0x27b0
        | 0x27bf
        | 0x2b1b..=0x2b1c
        | 0x2b50
        | 0x2b55 => 2,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xa960..=0xa97f
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f7e0..=0x1f7eb
        | 0x1f900..=0x1f9ff
        | 0x1fa70..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
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
