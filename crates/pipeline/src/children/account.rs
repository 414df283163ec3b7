//! [`Account`]: what a child uses, told to its parent.
//!
//! Whatever a turn of the child used, or of a session below it, is an entry of the parent's journal as
//! well, and counts for its bounds. The two journals are two commits: what a crash has kept from the
//! second one is made up for when the child is taken up.

use std::sync::Arc;

use hookwright_engine::Observer;
use hookwright_engine::ports::StartedBy;
use hookwright_events::{FiringEvent, RunEvent, Usage};

use crate::session::{Recorder, Spending};

/// Of one child.
pub(super) struct Account {
    /// The child's session, and the stage of the parent that it counts for.
    pub(super) child: String,
    pub(super) stage: u32,
    pub(super) started_by: StartedBy,
    /// The parent's.
    pub(super) recorder: Recorder,
    pub(super) spending: Spending,
}

impl Account {
    /// The parent's observers, and one that takes note of what the child uses.
    pub(super) fn observers(self: Arc<Self>) -> Vec<Observer> {
        let mut observers = self.recorder.observers.clone();
        observers.push(Arc::new(move |event: &RunEvent| {
            if event.session.as_deref() == Some(&*self.child)
                && let Some(usage) = event.kind.used()
            {
                self.add(usage);
            }
        }));
        observers
    }

    /// Writes down that the child has used so much more.
    pub(super) fn add(&self, usage: Usage) {
        self.spending.add(self.stage, Some(&usage));
        let used = FiringEvent::ChildUsed {
            hook: self.started_by.hook.clone(),
            session: self.child.clone(),
            stage: self.stage,
            usage,
        };
        // A parent that cannot write anything down ends for that by itself.
        let _ = self.recorder.write_in(self.started_by.firing, used);
    }
}
