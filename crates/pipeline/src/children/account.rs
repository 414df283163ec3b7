//! [`Account`]: reports what a child uses to its parent.
//!
//! The usage of a turn of the child, or of a session below it, is an entry of the parent's journal
//! as well, and counts for its limits. The two journals are two commits: if a crash prevents the
//! second one, it is made when the child is resumed.

use std::sync::Arc;

use hookwright_engine::Observer;
use hookwright_engine::ports::StartedBy;
use hookwright_events::{FiringEvent, RunEvent, Usage};

use crate::session::{Recorder, Spending};

pub(super) struct Account {
    /// The child's session, and the stage of the parent that it counts for.
    pub(super) child: String,
    pub(super) stage: u32,
    pub(super) started_by: StartedBy,
    /// The parent's journal.
    pub(super) recorder: Recorder,
    pub(super) spending: Spending,
}

impl Account {
    /// The parent's observers, and one that notes what the child uses.
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

    /// Records further usage of the child.
    pub(super) fn add(&self, usage: Usage) {
        self.spending.add(self.stage, Some(&usage));
        let used = FiringEvent::ChildUsed {
            hook: self.started_by.hook.clone(),
            session: self.child.clone(),
            stage: self.stage,
            usage,
        };
        // A parent that cannot write its journal ends because of that.
        let entry = self.recorder.begin_entry(self.started_by.firing, used);
        self.recorder.show_once_written(entry);
    }
}
