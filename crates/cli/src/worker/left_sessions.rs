//! [`LeftSessions`]: sessions that a worker could not run, and leaves to others for a while: longer
//! each time, because this machine may be the reason.

use std::time::Duration;

use hookwright_store::RecordKey;
use tokio::time::Instant;

/// How long a worker leaves a session to others the first time. Each further time is twice as long.
const PAUSE_MIN: Duration = Duration::from_secs(5);

/// The longest of these pauses. A machine without other workers tries that often.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Default)]
pub(super) struct LeftSessions(Vec<LeftSession>);

#[derive(Debug)]
struct LeftSession {
    key: RecordKey,
    until: Instant,
    pause: Duration,
    is_left: bool,
}

impl LeftSessions {
    /// Leaves this session to others.
    pub(super) fn leave(&mut self, key: &RecordKey, now: Instant) {
        let known = self.0.iter().position(|left| left.key == *key);
        let pause = known.map(|place| self.0.swap_remove(place).pause * 2);
        let pause = pause.map_or(PAUSE_MIN, |pause| pause.min(PAUSE_MAX));
        self.0.push(LeftSession { key: key.clone(), until: now + pause, pause, is_left: true });
    }

    /// Whether this worker may take one of them again, and could not at the last call. One that it
    /// does not take for a long time is forgotten.
    pub(super) fn has_expired(&mut self, now: Instant) -> bool {
        let mut has_expired = false;
        for left in self.0.iter_mut().filter(|left| left.is_left && left.until <= now) {
            left.is_left = false;
            has_expired = true;
        }
        self.0.retain(|left| left.until + PAUSE_MAX > now);
        has_expired
    }

    /// The names of those of a project.
    pub(super) fn names(&self, project: &str) -> Vec<String> {
        let left = self.0.iter().filter(|left| left.is_left && left.key.project == project);
        left.map(|left| left.key.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> RecordKey {
        RecordKey { project: "shop".to_owned(), name: name.to_owned() }
    }

    #[test]
    fn a_session_is_left_to_others_longer_each_time_up_to_a_limit() {
        let (mut left, mut now) = (LeftSessions::default(), Instant::now());
        for seconds in [5, 10, 20, 40, 80, 160, 300, 300] {
            left.leave(&key("s"), now);
            assert_eq!((left.names("shop"), left.names("other")), (vec!["s".to_owned()], vec![]));
            assert!(!left.has_expired(now + Duration::from_secs(seconds - 1)), "{seconds}");
            now += Duration::from_secs(seconds);
            assert!(left.has_expired(now), "{seconds}");
            assert!(!left.has_expired(now), "it is told once");
            assert_eq!(left.names("shop"), Vec::<String>::new());
        }
    }

    #[test]
    fn a_session_that_others_have_taken_meanwhile_is_forgotten() {
        let (mut left, now) = (LeftSessions::default(), Instant::now());
        left.leave(&key("s"), now);
        left.leave(&key("s"), now);
        let much_later = now + PAUSE_MAX * 2;
        left.has_expired(much_later);
        left.leave(&key("s"), much_later);
        assert!(left.has_expired(much_later + PAUSE_MIN));
    }
}
