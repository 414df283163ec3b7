//! [`FirstLines`]: the beginning of an agent's prompt.

use super::limits::{OUTPUT_LINE_CHARS_MAX, PROMPT_LINES_MAX};

/// The first lines of a text, and the number of further lines.
#[derive(Debug, Default)]
pub(crate) struct FirstLines {
    lines: Vec<String>,
    more: usize,
}

impl FirstLines {
    pub(crate) fn of(text: &str) -> Self {
        let mut all = text.trim_end().lines();
        let shortened = |line: &str| line.chars().take(OUTPUT_LINE_CHARS_MAX).collect();
        let lines = all.by_ref().take(PROMPT_LINES_MAX).map(shortened).collect();
        Self { lines, more: all.count() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// As many lines as fit, and the number of the rest.
    pub(crate) fn first(&self, number: usize) -> (&[String], usize) {
        let shown = number.min(self.lines.len());
        (&self.lines[..shown], self.lines.len() - shown + self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        let lines = FirstLines::of("one\n\nthree\n");
        assert_eq!(lines.first(9), (&["one".into(), String::new(), "three".into()][..], 0));
        assert_eq!(lines.first(1), (&["one".into()][..], 2));
        let many = FirstLines::of(&"x\n".repeat(PROMPT_LINES_MAX + 3));
        assert_eq!(
            (many.first(usize::MAX).0.len(), many.first(usize::MAX).1),
            (PROMPT_LINES_MAX, 3)
        );
        assert!(FirstLines::of("\n").is_empty());
    }
}
