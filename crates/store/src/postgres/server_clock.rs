//! [`ServerClock`]: the time of the database's server, without asking it each time.

use std::sync::{Mutex, PoisonError};

use rustix::time::{ClockId, clock_gettime};

/// The server's time, measured whenever a connection begins. In between this machine counts the
/// milliseconds that pass; its own clock may be wrong, and may be set meanwhile.
#[derive(Debug, Default)]
pub(super) struct ServerClock {
    /// The server's time and this machine's count at the same moment.
    measured: Mutex<Option<(i64, i64)>>,
}

/// The count of this machine when the server was asked for its time.
pub(super) struct ClockQuestion {
    counted_ms: i64,
}

impl ServerClock {
    /// Notes when the server is asked.
    pub(super) fn ask() -> ClockQuestion {
        ClockQuestion { counted_ms: counted_ms() }
    }

    /// Sets the clock. The server has read its own half way between question and answer, as far as
    /// one can tell.
    pub(super) fn set(&self, asked: &ClockQuestion, server_ms: i64) {
        let half_way = asked.counted_ms.midpoint(counted_ms());
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = Some((server_ms, half_way));
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> Option<i64> {
        let measured = *self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured.map(|(server_ms, then_ms)| server_ms.saturating_add(counted_ms() - then_ms))
    }
}

/// Milliseconds since this machine was started, including those in which it slept.
fn counted_ms() -> i64 {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    // It counts sleep there.
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let counted = clock_gettime(CLOCK);
    counted.tv_sec.saturating_mul(1000).saturating_add(counted.tv_nsec / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_from_what_the_server_said() {
        let clock = ServerClock::default();
        assert_eq!(clock.now_ms(), None);
        let long_ago = 1_000;
        clock.set(&ServerClock::ask(), long_ago);
        let first = clock.now_ms().expect("it is set");
        assert!((long_ago..long_ago + 60_000).contains(&first), "{first}");
        assert!(clock.now_ms() >= Some(first));
        clock.set(&ServerClock::ask(), 5);
        assert!(clock.now_ms() < Some(first));
    }
}
