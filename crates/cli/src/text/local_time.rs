//! Times for people, in the machine's time zone. For programs (`--json`, variables of hooks) they
//! stay ISO 8601 in UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::visible;

/// `2026-01-02 04:04:05` for `2026-01-02T03:04:05.678Z`, in a time zone an hour ahead. Any other
/// text stays unchanged.
pub(crate) fn local(time: &str) -> String {
    in_zone(time, TimeZone::system(), "%Y-%m-%d %H:%M:%S")
}

/// The same with milliseconds.
pub(crate) fn local_to_the_millisecond(time: &str) -> String {
    in_zone(time, TimeZone::system(), "%Y-%m-%d %H:%M:%S%.3f")
}

fn in_zone(time: &str, zone: TimeZone, format: &str) -> String {
    match time.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(zone).strftime(format).to_string(),
        Err(_) => visible(time).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_in_the_given_zone() {
        let zone = TimeZone::posix("XYZ-5:30").expect("a zone");
        let told = |time: &str, zone| in_zone(time, zone, "%Y-%m-%d %H:%M:%S%.3f");
        let moment = "2026-01-02T23:04:05.678Z";
        assert_eq!(told(moment, zone.clone()), "2026-01-03 04:34:05.678");
        assert_eq!(told(moment, TimeZone::UTC), "2026-01-02 23:04:05.678");
        assert_eq!(told("soon\x1b", zone), "soon␛");
    }
}
