//! `Retry-After`: seconds, or a date.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// The delay; `None` for an invalid value, and for a date in the past.
pub(super) fn read(value: &str) -> Option<Duration> {
    read_at(value.trim(), Timestamp::now())
}

fn read_at(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    // HTTP dates are mail dates, with a zone name in place of an offset.
    let until = DateTimeParser::new().parse_timestamp(value).ok()?;
    Duration::try_from(until.duration_since(now)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_nothing_else() {
        let now: Timestamp = "2026-11-15T10:00:00Z".parse().expect("a time");
        for (value, expected) in [
            ("120", Some(120)),
            ("0", Some(0)),
            ("Sun, 15 Nov 2026 10:01:30 GMT", Some(90)),
            ("Sun, 15 Nov 2026 09:00:00 GMT", None),
            ("-1", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(read_at(value, now), expected.map(Duration::from_secs), "{value}");
        }
    }
}
