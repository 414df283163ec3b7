//! Output on its way to whoever watches, as text.

/// Output as text, piece by piece: a character that is split between two reads stays whole.
#[derive(Debug, Default)]
pub(super) struct Utf8Chunks {
    unfinished: Vec<u8>,
}

impl Utf8Chunks {
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.unfinished.extend_from_slice(bytes);
        let end = match std::str::from_utf8(&self.unfinished) {
            // No length of error: the end may be the beginning of a character.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.unfinished.len(),
        };
        let rest = self.unfinished.split_off(end);
        let text = String::from_utf8_lossy(&self.unfinished).into_owned();
        self.unfinished = rest;
        text
    }
}
