//! Pieces of work: taken from a queue, and given back with what became of them.

mod choice;
mod issues;
mod tasks;

use hookwright_events::{ItemState, RunEventKind, SessionEvent, WorkItem};
use hookwright_process::faults;
use hookwright_store::StoreError;

use super::{Halt, Session};
use crate::course::Happening;
use crate::limits::RECORD_CONFLICTS_MAX;

/// What became of a piece of work.
pub(super) struct ItemEnd {
    pub(super) execution: u32,
    pub(super) item: WorkItem,
    /// When it was taken.
    pub(super) taken_at: String,
    pub(super) state: ItemState,
    pub(super) reason: Option<String>,
    pub(super) iterations: u32,
}

impl Session {
    /// Writes down what became of a piece of work, in one commit with its state in the queue.
    pub(super) fn end_item(&self, end: ItemEnd) -> Result<Happening, Halt> {
        let ItemEnd { execution, item, taken_at, state, reason, iterations } = end;
        let reason = reason.map(|reason| self.secrets.hide(&reason).into_owned());
        let event = self.event(RunEventKind::Session(SessionEvent::ItemEnded {
            stage: self.course.position().stage_number(),
            execution,
            key: item.key.clone(),
            state,
            reason: reason.clone(),
            iterations,
            duration_ms: self.since(&taken_at) as f64,
        }));
        faults::point("item ends");
        for time in 1.. {
            let put = self.put_end(&item, (state, reason.as_deref()))?;
            let put = put.into_iter().collect();
            match self.journal.write_with(std::slice::from_ref(&event), put) {
                Ok(()) => break,
                Err(StoreError::RecordConflict { .. }) if time < RECORD_CONFLICTS_MAX => {}
                Err(error) => return Err(error.into()),
            }
        }
        faults::point("item ended");
        self.show(&event);
        Ok(Happening::ItemEnded { state, reason })
    }
}
