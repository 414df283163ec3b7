//! [`LastWords`]: the end of an agent's text since its last tool call.

use crate::limits::LAST_WORDS_BYTES_MAX;

/// The end of an agent's latest text.
#[derive(Debug, Default)]
pub(super) struct LastWords(String);

impl LastWords {
    /// Appends to the text.
    pub(super) fn push(&mut self, text: &str) {
        self.0.push_str(text);
        // Not after every piece, because an agent that prints without end prints small pieces.
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

    /// Clears the text, because the agent continues to work after it.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// Removes and returns the text.
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
    fn text_is_collected_until_the_agent_calls_a_tool() {
        let mut words = LastWords::default();
        words.push_line("forgotten");
        words.forget();
        words.push_line("one");
        words.push(", and");
        words.push_line("two");
        assert_eq!((words.take(), words.take()), ("one, and\ntwo".to_owned(), String::new()));
    }

    #[test]
    fn only_the_end_of_endless_text_is_kept_without_splitting_characters() {
        let mut words = LastWords::default();
        for _ in 0..5 {
            words.push(&"é".repeat(LAST_WORDS_BYTES_MAX / 4));
            words.push("x");
            assert!(words.0.len() <= 2 * LAST_WORDS_BYTES_MAX + 1, "{}", words.0.len());
        }
        // Here the limit is within a character.
        words.push("x");
        let kept = words.take();
        assert_eq!((kept.len(), kept.ends_with("éxx")), (LAST_WORDS_BYTES_MAX - 1, true));
    }
}
