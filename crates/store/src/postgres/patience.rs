//! [`Patience`]: how long calls wait for a database that is away, and who is told.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;

use super::connection_thread::pause;

/// A change of whether the database can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reachability {
    /// It has been unreachable since then.
    Away {
        /// When the first call failed.
        since: SystemTime,
    },
    /// It answers again.
    Back {
        /// When the first call had failed.
        since: SystemTime,
    },
    /// A call has waited as long as calls may wait, and has failed.
    GivenUp {
        /// When it first failed.
        since: SystemTime,
    },
}

/// Calls with every change. It runs on the store's thread and must not call the store.
pub type Listener = Box<dyn Fn(Reachability) + Send + Sync>;

/// How long calls wait. Clones share their state.
#[derive(Clone)]
pub struct Patience {
    state: Arc<PatienceState>,
}

struct PatienceState {
    limit: watch::Sender<Duration>,
    listener: Mutex<Option<Listener>>,
    away_since: Mutex<Option<SystemTime>>,
}

impl Patience {
    /// Calls wait up to this long.
    pub(super) fn up_to(limit: Duration) -> Self {
        let limit = watch::Sender::new(limit);
        let (listener, away_since) = (Mutex::new(None), Mutex::new(None));
        Self { state: Arc::new(PatienceState { limit, listener, away_since }) }
    }

    /// Calls wait up to this long from now on, also those that wait already.
    pub fn set_limit(&self, limit: Duration) {
        self.state.limit.send_replace(limit);
    }

    /// Tells every change to this listener.
    pub fn listen(&self, listener: Listener) {
        *lock(&self.state.listener) = Some(listener);
    }

    /// Since when the database is away, if it is.
    #[must_use]
    pub fn away_since(&self) -> Option<SystemTime> {
        *lock(&self.state.away_since)
    }

    pub(super) fn tell_away(&self, since: SystemTime) {
        let is_new = lock(&self.state.away_since).replace(since).is_none();
        if is_new {
            self.tell(Reachability::Away { since });
        }
    }

    pub(super) fn tell_back(&self) {
        let since = lock(&self.state.away_since).take();
        if let Some(since) = since {
            self.tell(Reachability::Back { since });
        }
    }

    pub(super) fn tell_given_up(&self, since: SystemTime) {
        self.tell(Reachability::GivenUp { since });
    }

    fn tell(&self, change: Reachability) {
        if let Some(listener) = &*lock(&self.state.listener) {
            listener(change);
        }
    }

    /// Pauses; `false` if the limit was reached.
    pub(super) async fn wait(&self, duration: Duration, began: Instant) -> bool {
        let mut limit = self.state.limit.subscribe();
        let paused = pause(duration);
        tokio::pin!(paused);
        loop {
            let left = limit.borrow_and_update().saturating_sub(began.elapsed());
            if left.is_zero() {
                return false;
            }
            tokio::select! {
                () = &mut paused => return true,
                () = pause(left) => return false,
                _ = limit.changed() => {}
            }
        }
    }
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Patience")
    }
}
