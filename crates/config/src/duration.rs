//! Durations as people write them: `5` and `0.5` are seconds, `500ms`, `5s`, `5m`, `2h`, `1d`.

use std::time::Duration;

use hookwright_engine::limits::WAIT_MAX;

/// The duration of a file, if it is one and within [`WAIT_MAX`].
pub(super) fn parse(text: &str) -> Option<Duration> {
    parse_duration(text).filter(|duration| *duration <= WAIT_MAX)
}

/// The duration, if it is one, however long.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds_each = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    let number = number.trim();
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds_each).ok()
}

/// The duration of this many seconds, if it is valid and within [`WAIT_MAX`].
pub(super) fn from_seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| *duration <= WAIT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_fractions_and_units_are_read() {
        for (text, millis) in [
            ("5", 5_000),
            ("0.5", 500),
            ("500ms", 500),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("1.5s", 1_500),
            ("1d", 86_400_000),
            ("10 s", 10_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not_a_duration() {
        for text in ["", "s", "-1", "5x", "1e400", "5 minutes", "nan", "inf", "31d", "1.2.3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
