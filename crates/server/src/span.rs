//! Durations in words.

/// A span in words, in its largest unit or two: `2 days`, `1 hour 20 minutes`.
pub fn in_words(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let unit = |number: i64, noun: &str| {
        if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
    };
    let pair = |large: String, rest: i64, noun: &str| {
        if rest == 0 { large } else { format!("{large} {}", unit(rest, noun)) }
    };
    match () {
        () if days >= 1 => pair(unit(days, "day"), hours % 24, "hour"),
        () if hours >= 1 => pair(unit(hours, "hour"), minutes % 60, "minute"),
        () if minutes >= 1 => unit(minutes, "minute"),
        () => unit(seconds, "second"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_given_in_its_largest_units() {
        for (ms, words) in [
            (-1, "0 seconds"),
            (1_999, "1 second"),
            (59_999, "59 seconds"),
            (60_000, "1 minute"),
            (3_599_999, "59 minutes"),
            (3_600_000, "1 hour"),
            (4_800_000, "1 hour 20 minutes"),
            (86_400_000, "1 day"),
            (30 * 86_400_000 - 1, "29 days 23 hours"),
        ] {
            assert_eq!(in_words(ms), words);
        }
    }
}
