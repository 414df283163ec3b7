//! [`LastWords`]: what an agent has said since its last tool call, the end of it.

use crate::limits::LAST_WORDS_BYTES_MAX;

/// What an agent has said last.
#[derive(Debug, Default)]
pub(super) struct LastWords(String);

impl LastWords {
    /// It goes on like this.
    pub(super) fn push(&mut self, text: &str) {
        self.0.push_str(text);
        // Not with every piece: an agent that talks without end does it in small ones.
        if self.0.len() > 2 * LAST_WORDS_BYTES_MAX {
            self.keep_the_end();
        }
    }

    /// The same, on a new line.
    pub(super) fn push_line(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.push(text);
    }

    /// It does something: what it said before was not its last word.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// All of it, and nothing is left.
    pub(super) fn take(&mut self) -> String {
        self.keep_the_end();
        std::mem::take(&mut self.0)
    }

    fn keep_the_end(&mut self) {
        let mut from = self.0.len().saturating_sub(LAST_WORDS_BYTES_MAX);
        while !self.0.is_char_boundary(from) {
            from += 1;
        }
        self.0.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_pieces_come_together_until_it_does_something() {
        let mut words = LastWords::default();
        words.push_line("forgotten");
        words.forget();
        words.push_line("one");
        words.push(", and");
        words.push_line("two");
        assert_eq!((words.take(), words.take()), ("one, and\ntwo".to_owned(), String::new()));
    }

    #[test]
    fn of_endless_talk_the_end_is_kept_in_whole_characters() {
        let mut words = LastWords::default();
        for _ in 0..5 {
            words.push(&"é".repeat(LAST_WORDS_BYTES_MAX / 4));
            words.push("x");
            assert!(words.0.len() <= 2 * LAST_WORDS_BYTES_MAX + 1, "{}", words.0.len());
        }
        // Here the bound lies within a character.
        words.push("x");
        let kept = words.take();
        assert_eq!((kept.len(), kept.ends_with("éxx")), (LAST_WORDS_BYTES_MAX - 1, true));
    }
}
