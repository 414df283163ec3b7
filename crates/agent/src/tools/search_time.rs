//! [`SearchTime`]: when a search has to end.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::limits::SEARCH_TIME_MAX;

/// How long a search may take, and whether anybody still waits for it.
#[derive(Clone)]
pub(super) struct SearchTime {
    cancel: CancellationToken,
    ends: Instant,
}

impl SearchTime {
    pub(super) fn new(cancel: &CancellationToken) -> Self {
        Self { cancel: cancel.clone(), ends: Instant::now() + SEARCH_TIME_MAX }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.ends
    }
}
