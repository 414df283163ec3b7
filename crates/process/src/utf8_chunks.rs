//! Output as text, piece by piece.

/// Turns bytes that come in pieces into text: a character that is split between two reads stays
/// whole. Invalid UTF-8 becomes U+FFFD.
#[derive(Debug, Default)]
pub struct Utf8Chunks {
    unfinished: Vec<u8>,
}

impl Utf8Chunks {
    /// Takes bytes, and returns the text that is complete by now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.unfinished.extend_from_slice(bytes);
        let unfinished = self.unfinished.utf8_chunks().last().map_or(0, |last| {
            // Bytes that cannot become a character any more are not held back.
            let rest = last.invalid();
            let may_go_on = std::str::from_utf8(rest).is_err_and(|e| e.error_len().is_none());
            if may_go_on { rest.len() } else { 0 }
        });
        let rest = self.unfinished.split_off(self.unfinished.len() - unfinished);
        let text = String::from_utf8_lossy(&self.unfinished).into_owned();
        self.unfinished = rest;
        text
    }

    /// Ends the input: returns what was held back.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.unfinished)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_complete_however_the_reads_split_them() {
        let bytes = "n\u{e9} \u{2013} ende \u{1f600}".as_bytes();
        for at in 0..=bytes.len() {
            let mut chunks = Utf8Chunks::default();
            let (first, second) = bytes.split_at(at);
            let text = chunks.push(first) + &chunks.push(second) + &chunks.finish();
            assert_eq!(text.as_bytes(), bytes, "{at}");
        }
    }

    #[test]
    fn invalid_text_is_shown_as_such_and_nothing_waits_forever() {
        let mut chunks = Utf8Chunks::default();
        assert_eq!(chunks.push(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(chunks.push(b"x\xff"), "x\u{fffd}");
        assert_eq!(chunks.push(b"a\xffb\xc3"), "a\u{fffd}b", "broken before does not matter");
        assert_eq!(chunks.push(b"d"), "\u{fffd}d");
        assert_eq!(chunks.push(b"\xe2\x80"), "");
        assert_eq!(chunks.finish(), "\u{fffd}");
    }
}
