//! [`Slots`]: how many children run, or requests are on their way, at once.
//!
//! A slot is held by a running child only, never while an action waits for something else, and
//! awaited hooks have slots of their own. So a hook that fires an event whose hooks need slots can
//! never wait for itself, however many hooks run in the background.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::limits::CHILDREN_MAX;

/// How many of a kind run at once.
#[derive(Debug)]
pub(crate) struct Slots {
    awaited: Semaphore,
    background: Semaphore,
}

impl Default for Slots {
    fn default() -> Self {
        Self::with_limit(CHILDREN_MAX)
    }
}

impl Slots {
    /// So many that are awaited, and as many that nothing waits for.
    pub(crate) fn with_limit(most: usize) -> Self {
        Self { awaited: Semaphore::new(most), background: Semaphore::new(most) }
    }

    /// A place for a child that nothing waits for any more, if there is one now.
    pub(crate) fn move_to_background(&self) -> Option<SemaphorePermit<'_>> {
        self.background.try_acquire().ok()
    }

    /// A place for one of them; waits until there is one.
    pub(crate) async fn take(&self, awaited: bool) -> SemaphorePermit<'_> {
        let kind = if awaited { &self.awaited } else { &self.background };
        kind.acquire().await.expect("slots are never closed")
    }
}
