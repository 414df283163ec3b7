//! Issues as work items: taken in the order of their numbers, from a folder that is listed again
//! when it has changed.

use std::collections::HashSet;

use super::super::{Halt, Session};
use super::choice::{MissedItems, TakenItem};
use crate::course::EarlyEnd;
use crate::plan::Until;
use crate::queue::{IssueFolder, IssueQueue, IssueState, KeptIssue, Queue, QueueError};

impl From<QueueError> for Halt {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::Store(error) => error.into(),
            QueueError::Folder(error) => Halt::Leave(EarlyEnd::Failed(error.to_string())),
        }
    }
}

impl Session {
    /// Takes the next issue for this session.
    pub(super) fn take_issue(
        &mut self,
        folder: &IssueFolder,
        put_back: &HashSet<String>,
        unless: Option<EarlyEnd>,
    ) -> Result<Option<TakenItem>, Halt> {
        let mut queue = self.issue_queue(folder);
        let taken = self.take_from(&mut queue, folder, put_back, unless);
        self.queues.by_folder.insert(folder.shown().to_owned(), queue);
        taken
    }

    fn take_from(
        &mut self,
        queue: &mut IssueQueue,
        folder: &IssueFolder,
        put_back: &HashSet<String>,
        unless: Option<EarlyEnd>,
    ) -> Result<Option<TakenItem>, Halt> {
        let states = self.issue_states();
        let found = queue.refresh(&states, &self.recorder.session)?;
        self.recorder.journal.plan_issues(&found)?;
        for fault in queue.take_faults() {
            self.note_fault_of_issue(&fault)?;
        }
        let (mut is_last_try, mut missed) = (false, MissedItems::default());
        loop {
            let skip =
                |number: u64| missed.is_given_up(number) || put_back.contains(&number.to_string());
            let Some((number, kept)) = queue.first(&states, &self.recorder.session, &skip)? else {
                if std::mem::replace(&mut is_last_try, true) || !queue.forgive() {
                    return Ok(None);
                }
                continue;
            };
            if let Some(leave) = unless {
                return Err(Halt::Leave(leave));
            }
            let item = match queue.issue(number) {
                Ok(issue) => issue.item(),
                Err(fault) => {
                    self.note_fault_of_issue(&fault.to_string())?;
                    continue;
                }
            };
            let left_by = kept.and_then(|kept| left_by_another(kept, &self.recorder.session));
            if states.take(folder, &item, &self.recorder.session, &self.recorder.clock.now())? {
                return Ok(Some((item, left_by)));
            }
            missed.note(number);
        }
    }

    /// The number of open issues of a folder that this session has not begun.
    pub(super) fn open_issues(&self, index: usize, folder: &IssueFolder) -> Result<usize, Halt> {
        let in_work = self.in_work(index);
        let is_begun = |key: &str| in_work.contains(key);
        Ok(IssueQueue::count_open(folder, &self.issue_states(), &self.recorder.session, &is_begun)?)
    }

    /// Notes the open issues of its folders in the session's record. A folder that cannot be listed
    /// is reported when its stage comes.
    pub(in crate::session) fn plan_open_issues(&mut self) -> Result<(), Halt> {
        let folders = self.plan.stages.iter().filter_map(|stage| match &stage.until {
            Until::Queue { queue: Queue::Issues(folder), .. } => Some(folder.clone()),
            Until::Queue { .. } | Until::Fixed | Until::Judgment { .. } => None,
        });
        for folder in folders.collect::<Vec<_>>() {
            let mut queue = self.issue_queue(&folder);
            if let Ok(found) = queue.refresh(&self.issue_states(), &self.recorder.session) {
                self.recorder.journal.plan_issues(&found)?;
                self.queues.by_folder.insert(folder.shown().to_owned(), queue);
            }
        }
        Ok(())
    }

    fn issue_queue(&mut self, folder: &IssueFolder) -> IssueQueue {
        let known = self.queues.by_folder.remove(folder.shown());
        known.unwrap_or_else(|| IssueQueue::new(folder))
    }

    /// Before a session starts, an invalid name of an issue is an error. Later the other issues are
    /// still worked through, and the fault is reported once.
    fn note_fault_of_issue(&mut self, fault: &str) -> Result<(), Halt> {
        let note = format!("skipped: {fault}");
        if self.queues.told.insert(note.clone()) {
            self.recorder.note(note)?;
        }
        Ok(())
    }
}

/// The other session that works on an issue, or did before it died.
fn left_by_another(kept: KeptIssue, session: &str) -> Option<String> {
    let record = kept.record;
    let is_anothers = record.state == IssueState::Active && record.session != session;
    is_anothers.then_some(record.session)
}
