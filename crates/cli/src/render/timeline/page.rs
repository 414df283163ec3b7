//! [`TimelinePage`]: lines that fit the terminal's width.

use crate::text::columns::{columns, cut};
use crate::text::one_line;

/// Characters of a text without a terminal's limit.
pub(super) const WORDS_MAX: usize = 120;

/// Characters of a note, whose end may say what to do.
const NOTE_MAX: usize = 1_000;

/// Minimum width to place a text beside its subject.
const ROOM_BESIDE: usize = 32;

/// The column of ids.
const ID_COLUMNS: usize = 28;

/// The same on a narrow terminal: enough to tell most ids apart.
const ID_COLUMNS_MIN: usize = 8;

/// The width of lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimelinePage {
    /// `None` if there is no limit.
    pub(super) columns: Option<usize>,
}

impl TimelinePage {
    /// A line and a text about it: beside it if there is room, else below it.
    pub(super) fn line(self, branch: &str, trunk: &str, what: &str, words: Words<'_>) -> String {
        let text = one_line(words.text, words.chars_max);
        let between = if text.is_empty() { "" } else { words.between };
        let whole = format!("{branch}{what}{between}{text}");
        let whole = whole.trim_end();
        let most = match self.columns {
            Some(most) if columns(whole) > most => most,
            _ => return format!("{whole}\n"),
        };
        let head = format!("{branch}{what}");
        let beside = most.saturating_sub(columns(&head) + columns(between));
        if text.is_empty() {
            return format!("{}\n", cut(&head, most));
        }
        if beside >= ROOM_BESIDE {
            return format!("{head}{between}{}\n", cut(&text, beside));
        }
        let indent = format!("{trunk}  ");
        let below = cut(&text, most.saturating_sub(columns(&indent)));
        format!("{}\n{indent}{below}\n", cut(head.trim_end(), most))
    }

    /// An id and its column's width, with this many columns beside it.
    pub(super) fn id(self, trunk: &str, id: &str, beside: usize) -> (String, usize) {
        let id = one_line(id, WORDS_MAX);
        match self.columns {
            Some(most) => {
                let room = most.saturating_sub(columns(trunk) + beside).max(ID_COLUMNS_MIN);
                (cut(&id, room), room.min(ID_COLUMNS))
            }
            None => (id, ID_COLUMNS),
        }
    }
}

/// A text about a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    /// The text between the two.
    between: &'a str,
    text: &'a str,
    chars_max: usize,
}

impl<'a> Words<'a> {
    pub(super) const NONE: Words<'static> = Words { between: "", text: "", chars_max: 0 };

    /// Continues a sentence: `…: words`.
    pub(super) fn after_colon(text: &'a str) -> Self {
        Self { between: ": ", text, chars_max: WORDS_MAX }
    }

    /// A note that continues `note: …`.
    pub(super) fn note(text: &'a str) -> Self {
        Self { chars_max: NOTE_MAX, ..Self::after_colon(text) }
    }

    /// Continues a list: `…, words`.
    pub(super) fn after_comma(text: &'a str) -> Self {
        Self { between: ", ", text, chars_max: WORDS_MAX }
    }

    /// The last column of a table.
    pub(super) fn in_column(text: &'a str) -> Self {
        Self { between: "  ", text, chars_max: WORDS_MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_beside_its_line_if_there_is_room_and_otherwise_below_it() {
        let words = "the quick brown fox jumps over the lazy dog and away";
        let line = |columns: Option<usize>| {
            TimelinePage { columns }.line("├─ ", "│  ", "iteration 1", Words::after_colon(words))
        };
        assert_eq!(line(None), format!("├─ iteration 1: {words}\n"));
        assert_eq!(line(Some(80)), format!("├─ iteration 1: {words}\n"));
        assert_eq!(line(Some(50)), "├─ iteration 1: the quick brown fox jumps over th…\n");
        assert_eq!(line(Some(30)), "├─ iteration 1\n│    the quick brown fox jump…\n");
        assert_eq!(line(Some(10)), "├─ iterat…\n│    the …\n");
    }
}
