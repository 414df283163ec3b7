//! [`Lines`]: splits bytes into lines.

use crate::limits::AGENT_LINE_BYTES_MAX;

/// A line that is not complete yet.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// Whether the line is too long, so that its rest is skipped.
    is_too_long: bool,
}

impl Lines {
    /// The lines that are whole by now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut whole = Vec::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.add(piece);
            if pieces.peek().is_some() {
                whole.extend(self.rest());
            }
        }
        whole
    }

    /// The incomplete line, as if it had ended.
    pub(super) fn rest(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.begun);
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let is_line = !is_too_long && !line.is_empty();
        is_line.then(|| String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned())
    }

    fn add(&mut self, piece: &[u8]) {
        if self.begun.len() + piece.len() > AGENT_LINE_BYTES_MAX {
            self.is_too_long = true;
            self.begun = Vec::new();
        }
        if !self.is_too_long {
            self.begun.extend_from_slice(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_complete_however_the_reads_split_them() {
        let bytes = "eins\r\n\nzwölf\nrest".as_bytes();
        for at in 0..bytes.len() {
            let mut lines = Lines::default();
            let (first, second) = bytes.split_at(at);
            let mut all = lines.push(first);
            all.extend(lines.push(second));
            all.extend(lines.rest());
            assert_eq!(all, ["eins", "zwölf", "rest"], "{at}");
        }
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_next_one_is_complete() {
        let mut lines = Lines::default();
        for _ in 0..3 {
            assert_eq!(lines.push(&vec![b'x'; AGENT_LINE_BYTES_MAX / 2]), [""; 0]);
        }
        assert_eq!(lines.push(b"x\nnext\n"), ["next"]);
    }
}
