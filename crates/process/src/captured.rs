//! A child's output, within a limit.
//!
//! Up to the limit everything is kept. Beyond it the first and the last half stay and the middle is
//! counted: the start says what ran, the end says why it failed.

use std::borrow::Cow;
use std::collections::VecDeque;

/// The output of one stream. Beyond the limit only its first and its last part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    first: Vec<u8>,
    last: VecDeque<u8>,
    bytes_total: u64,
}

impl Captured {
    /// Exactly these bytes, nothing left out.
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        let first = bytes.into();
        let bytes_total = first.len() as u64;
        Captured { first, last: VecDeque::new(), bytes_total }
    }

    /// How many bytes the child printed.
    pub fn bytes_total(&self) -> u64 {
        self.bytes_total
    }

    /// How many of them were not kept.
    pub fn left_out(&self) -> u64 {
        self.bytes_total - (self.first.len() + self.last.len()) as u64
    }

    /// Whether everything was kept.
    pub fn is_whole(&self) -> bool {
        self.left_out() == 0
    }

    /// Whether the child printed nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes_total == 0
    }

    /// Every byte as it came, unless some were left out.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.is_whole().then_some(self.first.as_slice())
    }

    /// The text. Invalid UTF-8 becomes U+FFFD; a line in the middle says how much was left out.
    pub fn text(&self) -> Cow<'_, str> {
        if self.is_whole() {
            return String::from_utf8_lossy(&self.first);
        }
        let (front, back) = self.last.as_slices();
        let last = [front, back].concat();
        // A character that the cut splits is left out whole, instead of becoming two invalid ones.
        let first = &self.first[..self.first.len() - cut_character_at_end(&self.first)];
        let skipped = continuation_bytes_at_start(&last);
        let left_out = self.left_out() + (self.first.len() - first.len() + skipped) as u64;
        Cow::Owned(format!(
            "{}\n[… {left_out} bytes left out …]\n{}",
            String::from_utf8_lossy(first),
            String::from_utf8_lossy(&last[skipped..]),
        ))
    }

    /// Appends output. Beyond `bytes_max`, only the first and the last half stay; the limit must be
    /// the same each time.
    pub fn push(&mut self, bytes: &[u8], bytes_max: usize) {
        let was_whole = self.is_whole();
        self.bytes_total += bytes.len() as u64;
        if was_whole && self.first.len() + bytes.len() <= bytes_max {
            self.first.extend_from_slice(bytes);
            return;
        }
        let first_max = bytes_max / 2;
        let last_max = bytes_max - first_max;
        if was_whole && self.first.len() > first_max {
            self.last = self.first.split_off(first_max).into();
        }
        let (to_first, to_last) = bytes.split_at(bytes.len().min(first_max - self.first.len()));
        self.first.extend_from_slice(to_first);
        // Only the end of a chunk can stay, so a flood costs no more than one copy of the limit.
        let to_last = &to_last[to_last.len().saturating_sub(last_max)..];
        let too_many = (self.last.len() + to_last.len()).saturating_sub(last_max);
        self.last.drain(..too_many);
        self.last.extend(to_last);
    }
}

/// The length of an incomplete character at the end.
fn cut_character_at_end(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    (from..bytes.len())
        .find_map(|at| match std::str::from_utf8(&bytes[at..]) {
            Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => {
                Some(bytes.len() - at)
            }
            Ok(_) | Err(_) => None,
        })
        .unwrap_or(0)
}

/// The number of bytes at the start that belong to an earlier character.
fn continuation_bytes_at_start(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&[u8]], bytes_max: usize) -> Captured {
        let mut captured = Captured::default();
        for chunk in chunks {
            captured.push(chunk, bytes_max);
        }
        captured
    }

    #[test]
    fn output_up_to_the_limit_is_kept_completely() {
        let kept = captured(&[b"abc", b"def"], 6);
        assert_eq!(kept, Captured::whole("abcdef"));
        assert_eq!(kept.bytes(), Some(b"abcdef".as_slice()));
        assert!(matches!(kept.text(), Cow::Borrowed("abcdef")));
    }

    #[test]
    fn past_the_bound_the_first_and_the_last_half_stay_and_the_middle_is_counted() {
        for chunks in [
            &[b"abcdefghijkl".as_slice()] as &[&[u8]],
            &[b"abcdef", b"ghijkl"],
            &[b"ab", b"cdefg", b"h", b"ijkl"],
            &[b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j", b"k", b"l"],
        ] {
            let kept = captured(chunks, 5);
            assert_eq!(kept.text(), "ab\n[… 7 bytes left out …]\njkl");
            assert_eq!((kept.bytes_total(), kept.left_out(), kept.bytes()), (12, 7, None));
        }
    }

    #[test]
    fn a_bound_of_nothing_keeps_nothing_and_still_counts() {
        let kept = captured(&[b"abc", b"d"], 0);
        assert_eq!((kept.bytes_total(), kept.left_out()), (4, 4));
        assert!(!kept.is_whole() && !kept.is_empty());
    }

    #[test]
    fn a_character_at_the_cut_is_left_out_completely() {
        let kept = captured(&["aé……éz".as_bytes()], 6);
        assert_eq!(kept.text(), "aé\n[… 6 bytes left out …]\néz");
        let kept = captured(&["é……é".as_bytes()], 6);
        assert_eq!(kept.text(), "é\n[… 6 bytes left out …]\né");
    }

    #[test]
    fn broken_utf8_and_nul_bytes_are_kept_and_shown_as_text() {
        let kept = captured(&[b"a\xff\0b"], 100);
        assert_eq!(kept.text(), "a\u{fffd}\0b");
        assert_eq!(kept.bytes(), Some(b"a\xff\0b".as_slice()));
    }
}
