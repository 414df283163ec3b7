//! [`Slots`]: how many child processes or requests run at once.
//!
//! Only a running child holds a slot, never an action that waits for something else, and awaited
//! hooks have slots of their own. So a hook that fires an event whose hooks need slots can never
//! wait for itself, however many hooks run in the background.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::limits::CHILDREN_MAX;

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
    /// `most` slots for awaited hooks, and as many for background hooks.
    pub(crate) fn with_limit(most: usize) -> Self {
        Self { awaited: Semaphore::new(most), background: Semaphore::new(most) }
    }

    /// A slot for a child that moves to the background, if one is free.
    pub(crate) fn move_to_background(&self) -> Option<SemaphorePermit<'_>> {
        self.background.try_acquire().ok()
    }

    /// Takes a slot; waits until one is free.
    pub(crate) async fn take(&self, awaited: bool) -> SemaphorePermit<'_> {
        let kind = if awaited { &self.awaited } else { &self.background };
        kind.acquire().await.expect("slots are never closed")
    }
}
