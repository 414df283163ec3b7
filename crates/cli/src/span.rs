//! Durations as people type them: `30`, `30s`, `500ms`, `5m`, `12h`, `30d`, `2w`.

use std::time::Duration;

use hookwright_config::parse_duration;

/// The longest duration: a hundred years. Nothing here is older, and no sum overflows.
const SPAN_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Parses a duration of whole units; without a unit it is in seconds.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let expected = || "expected a span of time like 30s, 5m, 12h, 30d or 2w".to_owned();
    let is_whole = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let span = match text.strip_suffix('w') {
        Some(weeks) => parse_duration(&format!("{weeks}d")).map(|days| days.saturating_mul(7)),
        None => parse_duration(text),
    };
    let span = span.filter(|_| is_whole).ok_or_else(expected)?;
    match span <= SPAN_MAX {
        true => Ok(span),
        false => Err("expected at most a hundred years".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_whole_number_and_a_unit() {
        for (text, seconds) in [
            ("0", 0),
            ("30", 30),
            ("5m", 300),
            ("12h", 43_200),
            ("30d", 2_592_000),
            ("1w", 604_800),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "d", "1.5h", "-1d", "5 m", "5y", "99999999999999999999", "36501d"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
