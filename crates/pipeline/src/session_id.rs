//! The id of a session: `session-<milliseconds>-<6 random characters>`, as AutoAgent's users know
//! it.
//!
//! People type a session's name; programs store its id, which is unique. The milliseconds are those
//! of its start, so that [`IdPrefix`] finds a session by its id without reading all of them.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::record::milliseconds;

const PREFIX: &str = "session-";

/// Random characters at the end of an id.
const RANDOM_LENGTH: u32 = 6;

/// Digits of a time in milliseconds, from the year 2001 to 2286.
const DIGITS: u32 = 13;

/// Generates an id for a session that starts now: `start_time` is that of its record.
pub fn generate(start_time: &str) -> String {
    let random = RandomState::new().build_hasher().finish();
    format(milliseconds(start_time).unwrap_or_default(), random)
}

fn format(start_ms: i64, random: u64) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let base = LETTERS.len() as u64;
    let letter = |place| {
        let digit = random / base.pow(place) % base;
        char::from(LETTERS[usize::try_from(digit).expect("less than 36")])
    };
    let random: String = (0..RANDOM_LENGTH).map(letter).collect();
    format!("{PREFIX}{start_ms}-{random}")
}

/// The beginning of an id, or a whole one, and when such sessions started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdPrefix<'a> {
    /// The beginning of the id.
    pub text: &'a str,
    /// The earliest start, in milliseconds since 1970.
    pub from_ms: i64,
    /// The latest start, in milliseconds since 1970.
    pub to_ms: i64,
}

impl<'a> IdPrefix<'a> {
    /// `None` for a text with which no id begins.
    pub fn parse(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (digits, is_whole) = match rest.split_once('-') {
            Some((digits, _)) => (digits, true),
            None => (rest, false),
        };
        let open = DIGITS.checked_sub(u32::try_from(digits.len()).ok()?)?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || (is_whole && open > 0) {
            return None;
        }
        let unit = 10_i64.pow(open);
        let from_ms = digits.parse::<i64>().ok()?.checked_mul(unit)?;
        Some(Self { text, from_ms, to_ms: from_ms + unit - 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Conformance: autoagent-053
    #[test]
    fn an_id_has_the_start_in_milliseconds_and_random_characters() {
        assert_eq!(format(1_704_067_200_000, 0), "session-1704067200000-aaaaaa");
        assert_eq!(format(1_704_067_200_000, 1), "session-1704067200000-baaaaa");
        let (one, two) = (generate("2024-01-01T00:00:00Z"), generate("2024-01-01T00:00:00Z"));
        assert!(one.starts_with("session-1704067200000-"), "{one}");
        assert_eq!(one.len(), "session-1704067200000-".len() + 6);
        assert_ne!(one, two);
    }

    #[test]
    fn the_beginning_of_an_id_limits_the_start_times() {
        let range = |text| IdPrefix::parse(text).map(|prefix| (prefix.from_ms, prefix.to_ms));
        let second = (1_704_067_200_000, 1_704_067_200_999);
        assert_eq!(range("session-1704067200"), Some(second));
        let moment = (1_704_067_200_000, 1_704_067_200_000);
        for whole in ["session-1704067200000", "session-1704067200000-", "session-1704067200000-ab"]
        {
            assert_eq!(range(whole), Some(moment), "{whole}");
        }
        for other in
            ["", "session-", "session-x", "session-17-ab", "calm-fox", "session-17040672000001"]
        {
            assert_eq!(range(other), None, "{other}");
        }
    }
}
