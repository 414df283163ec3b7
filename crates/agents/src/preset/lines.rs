//! [`Lines`]: bytes as they come, put together to lines.

use crate::limits::AGENT_LINE_BYTES_MAX;

/// The beginning of a line whose end has not come.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// The line is too long, and the rest of it is passed over.
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

    /// What has begun, as if its end had come.
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
    fn lines_are_whole_wherever_a_read_ends() {
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
    fn a_line_without_end_is_passed_over_and_the_next_one_is_whole() {
        let mut lines = Lines::default();
        for _ in 0..3 {
            assert_eq!(lines.push(&vec![b'x'; AGENT_LINE_BYTES_MAX / 2]), [""; 0]);
        }
        assert_eq!(lines.push(b"x\nnext\n"), ["next"]);
    }
}
