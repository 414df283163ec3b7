//! How much room text takes on a terminal, and text cut to the room that there is.
//!
//! It is for text that was made visible before: nothing in it moves the cursor but what is shown.

use super::width;

/// How many columns the text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// The text in at most so many columns; what is missing is marked with `…`.
pub(crate) fn cut(text: &str, columns_max: usize) -> String {
    if columns(text) <= columns_max {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut room = columns_max.saturating_sub(1);
    for letter in text.chars() {
        match room.checked_sub(width(letter)) {
            Some(rest) => room = rest,
            None => break,
        }
        shown.push(letter);
    }
    if columns_max > 0 {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let cut = cut(text, columns_max);
            assert_eq!(cut, shown);
            assert!(columns(&cut) <= columns_max, "{cut}");
        }
    }
}
