//! The width of text on a terminal, and text cut to a width.
//!
//! The text must already be visible: it contains no control characters but our own colours, which
//! have no width.

use super::width;

/// Beginning of our colour codes, and the code that ends them.
const COLOUR: char = '\x1b';
const NO_COLOUR: &str = "\x1b[0m";

/// The width of a text.
pub(crate) fn columns(text: &str) -> usize {
    let mut in_colour = false;
    let mut sum = 0;
    for letter in text.chars() {
        match (in_colour, letter) {
            (true, 'm') => in_colour = false,
            (true, _) => {}
            (false, COLOUR) => in_colour = true,
            (false, letter) => sum += width(letter),
        }
    }
    sum
}

/// The text within this width; a cut is marked with `…`.
pub(crate) fn cut(text: &str, columns_max: usize) -> String {
    if columns(text) <= columns_max {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut room = columns_max.saturating_sub(1);
    let (mut in_colour, mut has_colour) = (false, false);
    for letter in text.chars() {
        in_colour |= letter == COLOUR;
        has_colour |= in_colour;
        if in_colour {
            in_colour = letter != 'm';
        } else {
            match room.checked_sub(width(letter)) {
                Some(rest) => room = rest,
                None => break,
            }
        }
        shown.push(letter);
    }
    if has_colour {
        shown.push_str(NO_COLOUR);
    }
    if columns_max > 0 {
        shown.push('…');
    }
    shown
}

/// The text in lines of at most this width, broken between words. A longer word is broken too.
pub(crate) fn wrapped(text: &str, columns_max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = columns_max;
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        let blank = usize::from(!line.is_empty());
        if columns(word) + blank <= room {
            line.push_str(&" ".repeat(blank));
            line.push_str(word);
            room -= columns(word) + blank;
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        room = columns_max;
        for letter in word.chars() {
            if width(letter) > room {
                lines.push(String::new());
                room = columns_max.max(width(letter));
            }
            lines.last_mut().expect("there is one").push(letter);
            room -= width(letter);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        for (text, columns_max, lines) in [
            ("", 5, &[""][..]),
            ("a bc d", 4, &["a bc", "d"]),
            ("abcdef g", 4, &["abcd", "ef g"]),
            ("a abcdef", 4, &["a", "abcd", "ef"]),
            ("日本語", 4, &["日本", "語"]),
        ] {
            assert_eq!(wrapped(text, columns_max), lines, "{text}");
        }
    }

    #[test]
    fn text_is_cut_by_the_room_it_takes_and_not_by_its_letters() {
        for (text, columns_max, shown) in [
            ("", 0, ""),
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("abcd", 1, "…"),
            ("abcd", 0, ""),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}e", 3, "e\u{301}e\u{301}e"),
            ("✅ done", 4, "✅ …"),
            ("\x1b[1;31mabc\x1b[0m", 3, "\x1b[1;31mabc\x1b[0m"),
            ("\x1b[32mabcd\x1b[0m", 3, "\x1b[32mab\x1b[0m…"),
        ] {
            let cut = cut(text, columns_max);
            assert_eq!(cut, shown);
            assert!(columns(&cut) <= columns_max, "{cut}");
        }
    }
}
