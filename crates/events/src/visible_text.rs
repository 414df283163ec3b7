//! Untrusted text, made safe to display.
//!
//! A hook's id may contain a sequence that clears the screen, or that reorders or hides the text
//! beside it. Control characters become their pictures (ESC is `␛`), and characters that reorder or
//! hide text become their numbers (`\u{202e}`).

use std::borrow::Cow;

/// Replaces every character that a terminal would act on. Line breaks and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain(text) || !text.chars().any(|letter| acts(letter) && !breaks(letter)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if breaks(letter) {
            shown.push(letter);
        } else {
            push_visible(&mut shown, letter);
        }
    }
    Cow::Owned(shown)
}

/// The text in one line of at most `chars_max` characters; `…` marks a cut.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    // Usually there is nothing to do, and lists have very many texts.
    if text.len() <= chars_max && is_plain(text) {
        return text.to_owned();
    }
    let first = text.lines().next().unwrap_or_default().trim_end();
    let mut shown = String::new();
    for letter in first.chars().take(chars_max + 1) {
        push_visible(&mut shown, if letter == '\t' { ' ' } else { letter });
    }
    let too_long = shown.chars().count() > chars_max;
    if too_long || first.len() < text.len() {
        shown = shown.chars().take(chars_max - 1).collect();
        shown.push('…');
    }
    shown
}

/// Whether it is one line of characters that every terminal shows unchanged.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

fn push_visible(shown: &mut String, letter: char) {
    let number = u32::from(letter);
    match number {
        _ if !acts(letter) => shown.push(letter),
        0x00..=0x1f => shown.push(char::from_u32(0x2400 + number).unwrap_or('\u{fffd}')),
        0x7f => shown.push('\u{2421}'),
        _ => shown.extend(letter.escape_unicode()),
    }
}

/// Whether the character is a line break or a tab, which only moves the cursor.
pub fn breaks(letter: char) -> bool {
    matches!(letter, '\n' | '\t')
}

/// Whether a terminal does something with the character other than show it.
pub fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(u32::from(letter),
            0x00ad | 0x061c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
            | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe007f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_as_pictures_or_numbers() {
        assert_eq!(
            visible("a\x1b[2J\u{9b}31m\u{202e}b\r\x07\x7f\n\tc"),
            "a␛[2J\\u{9b}31m\\u{202e}b␍␇␡\n\tc"
        );
        assert_eq!(visible("plain ä 日本\n"), "plain ä 日本\n");
    }

    #[test]
    fn a_line_is_cut_at_the_limit_or_at_a_line_break() {
        assert_eq!(one_line("cargo test", 10), "cargo test");
        assert_eq!(one_line("cargo test!", 10), "cargo tes…");
        assert_eq!(one_line("a\nb", 10), "a…");
        assert_eq!(one_line("\n  a\n", 10), "a");
        assert_eq!(one_line("a\x1bc", 10), "a␛c");
    }
}
