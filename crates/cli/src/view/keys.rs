//! [`Keys`]: parses keys from a terminal's bytes.

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Letter(char),
    Enter,
    Backspace,
    Escape,
    Tab,
}

/// Parses keys, wherever a read ends.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// The beginning of an incomplete character.
    begun: Vec<u8>,
}

impl Keys {
    /// The keys of these bytes. A terminal sends a special key as one sequence that begins with the
    /// escape character; unused ones are ignored.
    pub(crate) fn of(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                0x1b => match after.first() {
                    None => keys.push(Key::Escape),
                    Some(_) => rest = &after[sequence(after)..],
                },
                b'\r' | b'\n' => keys.push(Key::Enter),
                0x08 | 0x7f => keys.push(Key::Backspace),
                b'\t' => keys.push(Key::Tab),
                0x00..0x20 => {}
                byte => keys.extend(self.letter(byte)),
            }
        }
        keys
    }

    fn letter(&mut self, byte: u8) -> Option<Key> {
        self.begun.push(byte);
        match std::str::from_utf8(&self.begun) {
            Ok(text) => {
                let letter = text.chars().next();
                self.begun.clear();
                letter.filter(|letter| !letter.is_control()).map(Key::Letter)
            }
            // Incomplete.
            Err(error) if error.error_len().is_none() => None,
            Err(_) => {
                self.begun.clear();
                None
            }
        }
    }
}

/// The length of the rest of an escape sequence: `[A`, `OP`, `[1;5C`.
fn sequence(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(b'[') => {
            let end = bytes.iter().skip(1).position(|byte| matches!(byte, 0x40..=0x7e));
            end.map_or(bytes.len(), |end| end + 2)
        }
        Some(b'O') => bytes.len().min(2),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys() {
        let letters = |text: &str| text.chars().map(Key::Letter).collect::<Vec<_>>();
        for (bytes, keys) in [
            (&b"ap"[..], letters("ap")),
            ("ä日".as_bytes(), letters("ä日")),
            (b"\r", vec![Key::Enter]),
            (b"\x7f\x08", vec![Key::Backspace, Key::Backspace]),
            (b"\x1b", vec![Key::Escape]),
            (b"\t", vec![Key::Tab]),
            // Arrows, function keys, Alt and a letter, Ctrl and an arrow.
            (b"\x1b[Ax\x1bOPy\x1baz\x1b[1;5C!", letters("xyz!")),
            (b"\x01\xff\x00a", letters("a")),
        ] {
            assert_eq!(Keys::default().of(bytes), keys, "{bytes:?}");
        }
    }

    #[test]
    fn a_letter_may_come_in_two_reads() {
        let mut keys = Keys::default();
        let bytes = "ä".as_bytes();
        assert_eq!(keys.of(&bytes[..1]), []);
        assert_eq!(keys.of(&bytes[1..]), [Key::Letter('ä')]);
    }
}
