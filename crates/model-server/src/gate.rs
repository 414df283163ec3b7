//! [`StreamGate`]: lets a test release the events of an answer one by one.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::http::SILENCE_MAX;

/// Holds events back. All clones are the same gate.
#[derive(Debug, Clone)]
pub struct StreamGate {
    /// How many events may pass; `None` for any number.
    allowed: Arc<(Mutex<Option<usize>>, Condvar)>,
}

impl StreamGate {
    pub(crate) fn open() -> Self {
        Self { allowed: Arc::new((Mutex::new(None), Condvar::new())) }
    }

    pub(crate) fn closed() -> Self {
        Self { allowed: Arc::new((Mutex::new(Some(0)), Condvar::new())) }
    }

    /// Lets this many more events pass.
    pub fn allow(&self, events: usize) {
        let (allowed, changed) = &*self.allowed;
        if let Some(allowed) = &mut *allowed.lock().unwrap_or_else(PoisonError::into_inner) {
            *allowed += events;
        }
        changed.notify_all();
    }

    /// Lets all events pass from now on.
    pub fn release(&self) {
        let (allowed, changed) = &*self.allowed;
        *allowed.lock().unwrap_or_else(PoisonError::into_inner) = None;
        changed.notify_all();
    }

    /// Waits until one event may pass, and returns whether it may. It waits for [`SILENCE_MAX`] at
    /// most, so that a failed test ends.
    pub(crate) fn pass(&self) -> bool {
        let (allowed, changed) = &*self.allowed;
        let allowed = allowed.lock().unwrap_or_else(PoisonError::into_inner);
        let held = changed.wait_timeout_while(allowed, SILENCE_MAX, |allowed| *allowed == Some(0));
        let (mut allowed, waited) = held.unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = &mut *allowed {
            *left = left.saturating_sub(1);
        }
        !waited.timed_out()
    }
}
