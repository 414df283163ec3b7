//! Issues as work items: taken in the order of their numbers, from a folder that is listed again
//! when it has changed.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use hookwright_events::WorkItem;
use hookwright_store::StoreError;

use super::super::{Halt, Session};
use super::choice::{MissedItems, TakenItem};
use crate::course::EarlyEnd;
use crate::plan::Until;
use crate::queue::{
    IssueFolder, IssueQueue, IssueState, IssueStates, KeptIssue, Queue, QueueError,
};

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
    pub(super) async fn take_issue(
        &mut self,
        folder: &IssueFolder,
        put_back: Arc<HashSet<String>>,
        unless: Option<EarlyEnd>,
    ) -> Result<Option<TakenItem>, Halt> {
        let refreshed = self.with_issues(folder, |queue, states, session| {
            Ok::<_, QueueError>((queue.refresh(states, session)?, queue.take_faults()))
        });
        let (found, faults) = refreshed.await?;
        self.recorder.journal.plan_issues(found).await?;
        for fault in faults {
            self.note_fault_of_issue(&fault).await?;
        }
        let (mut is_last_try, mut missed) = (false, MissedItems::default());
        loop {
            let (skipped, put_back) = (missed.clone(), Arc::clone(&put_back));
            let first = self.with_issues(folder, move |queue, states, session| {
                let skip = |number: u64| {
                    skipped.is_given_up(number) || put_back.contains(&number.to_string())
                };
                queue.first(states, session, &skip)
            });
            let first = first.await?;
            let queue = self.issue_queue(folder);
            let Some((number, kept)) = first else {
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
                    self.note_fault_of_issue(&fault.to_string()).await?;
                    continue;
                }
            };
            let left_by = kept.and_then(|kept| left_by_another(kept, &self.recorder.session));
            if self.take(folder, &item).await? {
                return Ok(Some((item, left_by)));
            }
            missed.note(number);
        }
    }

    /// Takes an issue for this session; `false` if another session was faster or has it.
    pub(super) async fn take(
        &self,
        folder: &IssueFolder,
        item: &WorkItem,
    ) -> Result<bool, StoreError> {
        let (states, folder, item) = (self.issue_states(), folder.clone(), item.clone());
        let (session, now) = (self.recorder.session.clone(), self.recorder.clock.now());
        let calls = self.recorder.journal.calls();
        calls.call(move |_| states.take(&folder, &item, &session, &now)).await
    }

    /// Does something with a folder's issues and their states, for the session with this name.
    async fn with_issues<T: Send + Unpin + 'static>(
        &mut self,
        folder: &IssueFolder,
        work: impl FnOnce(&mut IssueQueue, &IssueStates, &str) -> T + Send + 'static,
    ) -> T {
        let queue = self.queues.by_folder.remove(folder.shown());
        let mut queue = queue.unwrap_or_else(|| IssueQueue::new(folder));
        let (states, session) = (self.issue_states(), self.recorder.session.clone());
        let worked = self.recorder.journal.calls().call(move |_| {
            let done = work(&mut queue, &states, &session);
            (queue, done)
        });
        let (queue, done) = worked.await;
        self.queues.by_folder.insert(folder.shown().to_owned(), queue);
        done
    }

    /// The number of open issues of a folder that this session has not begun.
    pub(super) async fn open_issues(
        &self,
        index: usize,
        folder: &IssueFolder,
    ) -> Result<usize, Halt> {
        let begun: BTreeSet<String> = self.in_work(index).into_iter().map(str::to_owned).collect();
        let (states, folder) = (self.issue_states(), folder.clone());
        let session = self.recorder.session.clone();
        let counted = self.recorder.journal.calls().call(move |_| {
            let is_begun = |key: &str| begun.contains(key);
            IssueQueue::count_open(&folder, &states, &session, &is_begun)
        });
        Ok(counted.await?)
    }

    /// Notes the open issues of its folders in the session's record. A folder that cannot be listed
    /// is reported when its stage comes.
    pub(in crate::session) async fn plan_open_issues(&mut self) -> Result<(), Halt> {
        let folders = self.plan.stages.iter().filter_map(|stage| match &stage.until {
            Until::Queue { queue: Queue::Issues(folder), .. } => Some(folder.clone()),
            Until::Queue { .. } | Until::Fixed | Until::Judgment { .. } => None,
        });
        for folder in folders.collect::<Vec<_>>() {
            let found = self.with_issues(&folder, IssueQueue::refresh).await;
            match found {
                Ok(found) => self.recorder.journal.plan_issues(found).await?,
                Err(_) => drop(self.queues.by_folder.remove(folder.shown())),
            }
        }
        Ok(())
    }

    fn issue_queue(&mut self, folder: &IssueFolder) -> &mut IssueQueue {
        let known = self.queues.by_folder.entry(folder.shown().to_owned());
        known.or_insert_with(|| IssueQueue::new(folder))
    }

    /// Before a session starts, an invalid name of an issue is an error. Later the other issues are
    /// still worked through, and the fault is reported once.
    async fn note_fault_of_issue(&mut self, fault: &str) -> Result<(), Halt> {
        let note = format!("skipped: {fault}");
        if self.queues.told.insert(note.clone()) {
            self.recorder.note(note).await?;
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
