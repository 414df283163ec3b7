//! Repairs halves of characters.
//!
//! Claude Code's texts are UTF-16, and if it cuts one inside a surrogate pair, its JSON contains
//! half a character (`\ud83d` alone). JSON parsers reject that, and with it the whole event.

use std::borrow::Cow;

/// Replaces a half, as usual in Unicode.
const REPLACEMENT: &str = "\\ufffd";

/// The same JSON text with U+FFFD for every unpaired surrogate.
pub(crate) fn whole_characters(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let taken = match (half(escape), escape.get(6..).and_then(half)) {
            (Some(Half::First), Some(Half::Second)) => 12,
            (Some(_), _) => {
                whole.push_str(REPLACEMENT);
                rest = &escape[6..];
                continue;
            }
            // The character after the backslash belongs to it: `\\` must not begin another escape.
            (None, _) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        whole.push_str(&escape[..taken]);
        rest = &escape[taken..];
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}

/// Which half of a pair an escape is.
enum Half {
    First,
    Second,
}

fn half(escape: &str) -> Option<Half> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogate_halves_are_replaced_and_nothing_else_changes() {
        for (text, whole) in [
            (r#"{"a":"b"}"#, r#"{"a":"b"}"#),
            (r#"["\ud83d\ude00"]"#, r#"["\ud83d\ude00"]"#),
            (r#"["\uD83D\uDE00 ä😀"]"#, r#"["\uD83D\uDE00 ä😀"]"#),
            (r#"["cut \ud83d"]"#, r#"["cut \ufffd"]"#),
            (r#"["\ude00 rest"]"#, r#"["\ufffd rest"]"#),
            (r#"["\ud83d\ud83d\ude00"]"#, r#"["\ufffd\ud83d\ude00"]"#),
            (r#"["\ud83d\n\ude00"]"#, r#"["\ufffd\n\ufffd"]"#),
            (r#"["\\ud83d"]"#, r#"["\\ud83d"]"#),
            (r#"["\\\ud83d"]"#, r#"["\\\ufffd"]"#),
            (r#"["\ud8"#, r#"["\ud8"#),
            ("\\ud83d\\", "\\ufffd\\"),
            ("\\ud83dä", "\\ufffdä"),
        ] {
            assert_eq!(whole_characters(text), whole, "{text}");
        }
    }
}
