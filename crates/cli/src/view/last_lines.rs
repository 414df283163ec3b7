//! [`LastLines`]: the last lines of an agent's output.

use std::collections::VecDeque;

use super::limits::{OUTPUT_LINE_CHARS_MAX, OUTPUT_LINES_MAX};

/// The last lines of both streams, in order.
#[derive(Debug, Default)]
pub(crate) struct LastLines {
    lines: VecDeque<String>,
    /// The unfinished line of each stream.
    stdout: String,
    stderr: String,
}

impl LastLines {
    /// Adds output of a stream.
    pub(crate) fn push(&mut self, stream: &str, text: &str) {
        let open = if stream == "stderr" { &mut self.stderr } else { &mut self.stdout };
        let mut pieces = text.split('\n');
        append(open, pieces.next().unwrap_or_default());
        for piece in pieces {
            self.lines.push_back(std::mem::take(open));
            append(open, piece);
            if self.lines.len() > OUTPUT_LINES_MAX {
                self.lines.pop_front();
            }
        }
    }

    /// Clears the lines for another turn.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The last non-empty lines, oldest first.
    pub(crate) fn last(&self, number: usize) -> Vec<&str> {
        let open = [&self.stderr, &self.stdout].into_iter();
        let newest_first = open.chain(self.lines.iter().rev());
        let mut last: Vec<&str> = newest_first
            .map(|line| line.trim_end())
            .filter(|line| !line.is_empty())
            .take(number)
            .collect();
        last.reverse();
        last
    }
}

/// A carriage return restarts the line, as progress bars do.
fn append(line: &mut String, piece: &str) {
    let piece = piece.strip_suffix('\r').unwrap_or(piece);
    let piece = match piece.rsplit_once('\r') {
        Some((_, rest)) => {
            line.clear();
            rest
        }
        None => piece,
    };
    let room = OUTPUT_LINE_CHARS_MAX.saturating_sub(line.chars().count());
    line.extend(piece.chars().take(room));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_complete_however_they_were_printed() {
        let mut lines = LastLines::default();
        lines.push("stdout", "one\ntw");
        lines.push("stderr", "oh");
        assert_eq!(lines.last(9), ["one", "tw", "oh"]);
        lines.push("stdout", "o\r\n\n   \nthree\n");
        assert_eq!(lines.last(9), ["one", "two", "three", "oh"]);
        assert_eq!(lines.last(2), ["three", "oh"]);
        lines.clear();
        assert_eq!(lines.last(9), [""; 0]);
    }

    #[test]
    fn of_a_progress_bar_the_last_state_is_shown() {
        let mut lines = LastLines::default();
        lines.push("stderr", "10%\r50%");
        assert_eq!(lines.last(1), ["50%"]);
        lines.push("stderr", "\r100%\n");
        assert_eq!(lines.last(1), ["100%"]);
    }

    #[test]
    fn the_number_and_length_of_kept_lines_is_limited() {
        let mut lines = LastLines::default();
        lines.push("stdout", &"x\n".repeat(10_000));
        lines.push("stdout", &"y".repeat(10_000));
        let last = lines.last(usize::MAX);
        assert_eq!(last.len(), OUTPUT_LINES_MAX + 1);
        assert_eq!(last.last().map(|line| line.len()), Some(OUTPUT_LINE_CHARS_MAX));
    }
}
