//! [`Stopwatch`]: how long a session has worked in this process.

use std::time::{Duration, Instant};

/// Stops while the session waits for agents or for a person.
pub(super) struct Stopwatch {
    began: Instant,
    paused: Duration,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), paused: Duration::ZERO }
    }

    /// Subtracts a pause that began at `since`.
    pub(super) fn has_paused(&mut self, since: Instant) {
        self.paused += since.elapsed();
    }

    pub(super) fn worked(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.paused)
    }
}
