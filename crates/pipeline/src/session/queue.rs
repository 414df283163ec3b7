//! Work items: taken from a queue, and returned with their state.

mod choice;
mod issues;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use hookwright_events::{ItemState, SessionEvent};
use hookwright_process::faults;

use super::{Halt, Session};
use crate::course::Happening;
use crate::queue::IssueQueue;

/// What a session knows of its folders of issues.
#[derive(Default)]
pub(super) struct IssueQueues {
    /// By their paths from the root.
    by_folder: BTreeMap<String, IssueQueue>,
    /// Faults of issues reported so far: no more than there are.
    told: BTreeSet<String>,
}

impl Session {
    /// Records the end of a work item, in one commit with its state in the queue.
    pub(super) async fn end_item(
        &self,
        state: ItemState,
        reason: Option<String>,
        iterations: u32,
    ) -> Result<Happening, Halt> {
        let position = self.course.position();
        let (stage, execution) = position.place();
        let item = position.item.as_ref().expect("a piece of work is being done");
        let reason = reason.map(|reason| self.workplace.hide(&reason));
        let event = self.recorder.event(SessionEvent::ItemEnded {
            stage,
            execution,
            key: item.key.clone(),
            state,
            reason: reason.clone(),
            iterations,
            duration_ms: self.time_of_item() as f64,
        });
        faults::point("item ends");
        let put = self.put_end(item, state, reason.clone());
        self.recorder.journal.write_with(event.clone(), put).await?;
        faults::point("item ended");
        self.recorder.show(&event);
        Ok(Happening::ItemEnded { state, reason })
    }
}
