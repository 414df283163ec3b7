//! Tasks as work items: taken one by one, and completed when their execution is over, unless the
//! agent has set another state itself.

use std::collections::HashSet;
use std::sync::Arc;

use hookwright_events::task::{Task, TaskId, TaskState};
use hookwright_events::{ItemState, WorkItem, WorkSource};
use hookwright_store::{
    ClaimedTask, DeadLease, KeptTask, KeptTasks, Put, StoreError, TaskClaim, TaskError,
};

use super::super::{Halt, Session};
use super::choice::TakenItem;
use crate::course::{EarlyEnd, Happening};
use crate::lease;
use crate::limits::RECORD_CONFLICTS_MAX;

impl From<TaskError> for Halt {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Store(error) => error.into(),
            other => Halt::Leave(EarlyEnd::Failed(other.to_string())),
        }
    }
}

impl Session {
    /// Takes the next task for this session.
    pub(super) fn take_task(
        &self,
        put_back: &HashSet<String>,
        unless: Option<EarlyEnd>,
    ) -> Result<Option<TakenItem>, Halt> {
        let tasks = self.tasks();
        if let Some(leave) = unless {
            let skip = |id: TaskId| put_back.contains(&id.to_string());
            let next = tasks.next(&skip, &|session| self.may_take_from(session))?;
            return next.map_or(Ok(None), |_| Err(Halt::Leave(leave)));
        }
        let skip: Vec<String> = put_back.iter().cloned().collect();
        let claimed = tasks.claim_next(&TaskClaim {
            session: &self.recorder.session,
            fence: Some(self.recorder.journal.fence()),
            skip: &skip,
            dead: &|session| self.dead_lease(session),
            now_ms: self.recorder.now_ms(),
        })?;
        Ok(claimed.map(|ClaimedTask { kept, left_by }| (item(&kept.task), left_by)))
    }

    /// Takes an interrupted task again; `false` if another session has taken it.
    pub(super) fn take_task_again(&self, item: &WorkItem) -> Result<bool, Halt> {
        let tasks = self.tasks();
        for _ in 0..RECORD_CONFLICTS_MAX {
            let kept = tasks.get(&item.key)?;
            // A person or the agent has set its state, and that counts.
            let Some(session) = &kept.task.session else { return Ok(true) };
            if kept.task.state != TaskState::InProgress {
                return Ok(*session == self.recorder.session);
            }
            if !self.is_free(&kept.task)? {
                return Ok(false);
            }
            // Written again even if it is ours: a session that read it while no process ran this
            // one must not get it.
            if tasks.take_over(&kept, &self.recorder.session, self.recorder.now_ms())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of tasks that this session may take now or later, and has not begun.
    pub(super) fn open_tasks(&self, index: usize) -> Result<usize, Halt> {
        let tasks = self.tasks();
        let mut open = tasks.count_open(&|session| self.may_take_from(session))?;
        for key in self.in_work(index) {
            let found = TaskId::typed(key).map(|id| tasks.find(id)).transpose()?.flatten();
            let is_counted = found.map_or(Ok(false), |kept| self.is_free(&kept.task))?;
            open -= u64::from(is_counted).min(open);
        }
        Ok(usize::try_from(open).unwrap_or(usize::MAX))
    }

    /// Whether this session may take a task: no session works on it, or only one that no process
    /// runs, like this one before it was resumed.
    fn is_free(&self, task: &Task) -> Result<bool, Halt> {
        match (task.state, &task.session) {
            (TaskState::Open, _) => Ok(true),
            (TaskState::InProgress, Some(session)) => Ok(self.may_take_from(session)?),
            // A person who works on it without a session sets and ends this state by hand.
            (TaskState::InProgress, None) => Ok(false),
            (TaskState::Completed | TaskState::Blocked | TaskState::Cancelled, _) => Ok(false),
        }
    }

    /// Whether this session may take over the work of another one: it is the same, or no process
    /// runs it.
    fn may_take_from(&self, session: &str) -> Result<bool, StoreError> {
        Ok(session == self.recorder.session || self.dead_lease(session)?.is_some())
    }

    /// The lease of another session, if no process runs that session.
    fn dead_lease(&self, session: &str) -> Result<Option<DeadLease>, StoreError> {
        let lease = lease::name_of(self.recorder.journal.project(), session);
        lease::dead(&**self.recorder.journal.store(), &lease)
    }

    /// A task's record at the end of its execution. A state that was set meanwhile counts.
    pub(super) fn put_end_of_task(
        &self,
        item: &WorkItem,
        end: (ItemState, Option<&str>),
    ) -> Result<Option<Put>, Halt> {
        let tasks = self.tasks();
        let mut kept = tasks.get(&item.key)?;
        if !self.is_ours(&kept) {
            return Ok(None);
        }
        kept.task.set_state(match end.0 {
            ItemState::Done => TaskState::Completed,
            ItemState::Failed | ItemState::Blocked => TaskState::Blocked,
            ItemState::Open => TaskState::Open,
        });
        kept.task.updated_ms = self.recorder.now_ms();
        Ok(Some(tasks.put_for(&kept)))
    }

    /// The state of a task.
    pub(in crate::session) fn look_at_task(&self, task: TaskId) -> Result<Happening, Halt> {
        let kept = self.tasks().get(&task.to_string())?;
        Ok(Happening::TaskSeen { state: kept.task.state, is_ours: self.is_ours(&kept) })
    }

    fn is_ours(&self, kept: &KeptTask) -> bool {
        kept.task.state == TaskState::InProgress
            && kept.task.session.as_deref() == Some(self.recorder.session.as_str())
    }

    fn tasks(&self) -> KeptTasks {
        KeptTasks::new(Arc::clone(self.recorder.journal.store()), self.recorder.journal.project())
    }
}

fn item(task: &Task) -> WorkItem {
    let title = task.content.lines().next().unwrap_or_default().trim();
    WorkItem {
        source: WorkSource::Tasks,
        key: task.id.to_string(),
        title: title.to_owned(),
        content: (title != task.content).then(|| task.content.clone()),
        file: None,
        plan_file: None,
    }
}
