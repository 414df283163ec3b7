//! [`SseReader`]: server-sent events out of the bytes of a connection, in whatever pieces they arrive.
//!
//! It follows the rules of the HTML standard for `text/event-stream`: lines end with CR, LF or CRLF; a
//! byte order mark at the start is skipped; what is no UTF-8 is replaced; an event without `data` is none;
//! what has no blank line behind it when the connection ends is dropped. `id` and `retry` serve to connect
//! again, which a request to a model cannot, so they are skipped.

use crate::limits::{ANSWER_BYTES_MAX, EVENT_BYTES_MAX};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The value of its last line `event`; empty without one.
    pub name: String,
    /// The values of its lines `data`, one below the other.
    pub data: String,
}

/// How much it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseLimits {
    /// Bytes of one event, all its lines together.
    pub event_bytes: usize,
    /// Bytes of everything.
    pub answer_bytes: u64,
}

impl Default for SseLimits {
    fn default() -> Self {
        Self { event_bytes: EVENT_BYTES_MAX, answer_bytes: ANSWER_BYTES_MAX }
    }
}

/// Why it reads no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// One event is too large.
    #[error("one event of the answer has more than {bytes_max} bytes")]
    EventTooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// Everything together is too large.
    #[error("the answer has more than {bytes_max} bytes")]
    AnswerTooLarge {
        /// The limit.
        bytes_max: u64,
    },
}

/// Reads events from pieces. How the bytes are cut into pieces makes no difference.
#[derive(Debug, Default)]
pub struct SseReader {
    limits: SseLimits,
    /// The line so far, without its end.
    line: Vec<u8>,
    /// The last byte was a CR: an LF now belongs to it.
    after_cr: bool,
    /// The first line has ended, so that no byte order mark can come.
    has_begun: bool,
    name: String,
    data: String,
    has_data: bool,
    /// Bytes of this event's lines that have ended.
    event_bytes: usize,
    answer_bytes: u64,
    failed: Option<SseError>,
}

impl SseReader {
    /// A reader with other limits.
    pub fn with_limits(limits: SseLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Reads a piece, and appends the events that are complete now. After an error it reads nothing more,
    /// and says the same error again.
    pub fn push(&mut self, mut piece: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let room = self.limits.answer_bytes - self.answer_bytes;
        let is_too_much = piece.len() as u64 > room;
        if is_too_much {
            piece = &piece[..usize::try_from(room).unwrap_or(piece.len())];
        }
        self.answer_bytes += piece.len() as u64;
        let read = self.read(piece, events);
        let read = read.and(match is_too_much {
            true => Err(SseError::AnswerTooLarge { bytes_max: self.limits.answer_bytes }),
            false => Ok(()),
        });
        self.failed = read.err();
        read
    }

    fn read(&mut self, mut piece: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        while !piece.is_empty() {
            if std::mem::take(&mut self.after_cr) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            let end = piece.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let of_line = &piece[..end.unwrap_or(piece.len())];
            if self.event_bytes + self.line.len() + of_line.len() > self.limits.event_bytes {
                return Err(SseError::EventTooLarge { bytes_max: self.limits.event_bytes });
            }
            self.line.extend_from_slice(of_line);
            let Some(end) = end else { break };
            self.after_cr = piece[end] == b'\r';
            piece = &piece[end + 1..];
            self.end_line(events);
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) {
        let bytes = std::mem::take(&mut self.line);
        let line: &[u8] = match std::mem::replace(&mut self.has_begun, true) {
            true => &bytes,
            false => bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes),
        };
        if line.is_empty() {
            self.end_event(events);
        } else {
            self.event_bytes += bytes.len();
            self.field(line);
        }
        // Its room is used again for the next line.
        self.line = bytes;
        self.line.clear();
    }

    fn field(&mut self, line: &[u8]) {
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(&String::from_utf8_lossy(value));
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // A comment, `id`, `retry`, or something newer.
            _ => {}
        }
    }

    fn end_event(&mut self, events: &mut Vec<SseEvent>) {
        self.event_bytes = 0;
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if std::mem::take(&mut self.has_data) {
            events.push(SseEvent { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(String, String)> {
        let mut events = Vec::new();
        SseReader::default().push(bytes, &mut events).expect("within the limits");
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(name, data)| ((*name).into(), (*data).into())).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        for (bytes, expected) in [
            (&b"event: ping\ndata: {}\n\n"[..], &[("ping", "{}")][..]),
            (b"data: a\r\rdata: b\r\n\r\ndata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]),
            (b"data: a\r\ndata: b\rdata:c\ndata\n\n", &[("", "a\nb\nc\n")]),
            (b"data:  two spaces\n\n", &[("", " two spaces")]),
            (b"\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n", &[("", "a")]),
            (b": a comment\nid: 1\nretry: 2\nother: x\ndata: a\n\n", &[("", "a")]),
            (b"event: lost\n\ndata: a\n\n", &[("", "a")]),
            (b"event: x\nevent: y\ndata: a\n\n", &[("y", "a")]),
            (b"data\n\n", &[("", "")]),
            (b"data: \xFF\xC3\n\ndata: \xC3\xA4\n\n", &[("", "\u{FFFD}\u{FFFD}"), ("", "ä")]),
            (b"data: without its blank line\n", &[]),
            (b"data: not even\ndata: a line's end", &[]),
            (b"Data: a\n data: b\n\n", &[]),
            (b"", &[]),
        ] {
            assert_eq!(read(bytes), pairs(expected), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn one_event_and_the_whole_answer_have_their_limits() {
        let limits = SseLimits { event_bytes: 20, answer_bytes: 60 };
        let error = SseError::EventTooLarge { bytes_max: 20 };
        for too_large in
            ["data: 789012345678901", ": a comment that never ends", "data: 12345\ndata: 9012345\n"]
        {
            let mut reader = SseReader::with_limits(limits);
            let mut events = Vec::new();
            let input = format!("data: fits\n\n{too_large}");
            assert_eq!(reader.push(input.as_bytes(), &mut events), Err(error), "{too_large}");
            assert_eq!(events.len(), 1, "what came before counts");
            assert_eq!(reader.push(b"\n\ndata: x\n\n", &mut events), Err(error));
            assert_eq!(events.len(), 1, "nothing comes behind an error");
        }
        let mut reader = SseReader::with_limits(limits);
        let mut events = Vec::new();
        for _ in 0..5 {
            reader.push(b"data: 789\n\n\n", &mut events).expect("60 bytes fit");
        }
        assert_eq!(reader.push(b"", &mut events), Ok(()));
        let error = Err(SseError::AnswerTooLarge { bytes_max: 60 });
        assert_eq!(reader.push(b"\n", &mut events), error);
        assert_eq!(events.len(), 5);
    }
}
