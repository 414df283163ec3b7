//! Tasks as work items: taken one by one, and completed when their execution is over, unless the
//! agent has set another state itself.

use std::collections::HashSet;
use std::sync::Arc;

use hookwright_events::task::{Task, TaskId, TaskState};
use hookwright_events::{ItemState, WorkItem, WorkSource};
use hookwright_store::{
    ClaimedTask, DeadLease, Fence, KeptTask, KeptTasks, Put, StoreError, TaskClaim, TaskError,
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

/// The project's tasks, as one session takes and ends them. Its methods block.
#[derive(Clone)]
pub(super) struct TasksOfSession {
    tasks: KeptTasks,
    session: String,
    fence: Fence,
}

impl Session {
    /// Takes the next task for this session.
    pub(super) async fn take_task(
        &self,
        put_back: Arc<HashSet<String>>,
        unless: Option<EarlyEnd>,
    ) -> Result<Option<TakenItem>, Halt> {
        let (tasks, now_ms) = (self.tasks(), self.recorder.now_ms());
        let calls = self.recorder.journal.calls();
        if let Some(leave) = unless {
            let is_any = calls.call(move |_| tasks.is_any(&put_back)).await?;
            return if is_any { Err(Halt::Leave(leave)) } else { Ok(None) };
        }
        Ok(calls.call(move |_| tasks.claim(&put_back, now_ms)).await?)
    }

    /// Takes an interrupted task again; `false` if another session has taken it.
    pub(super) async fn take_task_again(&self, item: &WorkItem) -> Result<bool, Halt> {
        let (tasks, key, now_ms) = (self.tasks(), item.key.clone(), self.recorder.now_ms());
        let calls = self.recorder.journal.calls();
        Ok(calls.call(move |_| tasks.take_again(&key, now_ms)).await?)
    }

    /// The number of tasks that this session may take now or later, and has not begun.
    pub(super) async fn open_tasks(&self, index: usize) -> Result<usize, Halt> {
        let begun: Vec<String> = self.in_work(index).into_iter().map(str::to_owned).collect();
        let (tasks, calls) = (self.tasks(), self.recorder.journal.calls());
        Ok(calls.call(move |_| tasks.count_open(&begun)).await?)
    }

    /// The state of a task.
    pub(in crate::session) async fn look_at_task(&self, task: TaskId) -> Result<Happening, Halt> {
        let (tasks, calls) = (self.tasks(), self.recorder.journal.calls());
        let (state, is_ours) = calls.call(move |_| tasks.look(task)).await?;
        Ok(Happening::TaskSeen { state, is_ours })
    }

    pub(super) fn tasks(&self) -> TasksOfSession {
        let journal = &self.recorder.journal;
        TasksOfSession {
            tasks: KeptTasks::new(Arc::clone(journal.calls().store()), journal.project()),
            session: self.recorder.session.clone(),
            fence: journal.fence().clone(),
        }
    }
}

impl TasksOfSession {
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Whether a task could be taken that is not among these.
    fn is_any(&self, put_back: &HashSet<String>) -> Result<bool, TaskError> {
        let skip = |id: TaskId| put_back.contains(&id.to_string());
        Ok(self.tasks.next(&skip, &|session| self.may_take_from(session))?.is_some())
    }

    fn claim(
        &self,
        put_back: &HashSet<String>,
        now_ms: i64,
    ) -> Result<Option<TakenItem>, TaskError> {
        let skip: Vec<String> = put_back.iter().cloned().collect();
        let claimed = self.tasks.claim_next(&TaskClaim {
            session: &self.session,
            fence: Some(&self.fence),
            skip: &skip,
            dead: &|session| self.dead_lease(session),
            now_ms,
        })?;
        Ok(claimed.map(|ClaimedTask { kept, left_by }| (item(&kept.task), left_by)))
    }

    fn take_again(&self, key: &str, now_ms: i64) -> Result<bool, TaskError> {
        for _ in 0..RECORD_CONFLICTS_MAX {
            let kept = self.tasks.get(key)?;
            // A person or the agent has set its state, and that counts.
            let Some(session) = &kept.task.session else { return Ok(true) };
            if kept.task.state != TaskState::InProgress {
                return Ok(*session == self.session);
            }
            if !self.is_free(&kept.task)? {
                return Ok(false);
            }
            // Written again even if it is ours: a session that read it while no process ran this
            // one must not get it.
            if self.tasks.take_over(&kept, &self.session, now_ms)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn count_open(&self, begun: &[String]) -> Result<usize, TaskError> {
        let mut open = self.tasks.count_open(&|session| self.may_take_from(session))?;
        for key in begun {
            let found = TaskId::typed(key).map(|id| self.tasks.find(id)).transpose()?.flatten();
            let is_counted = found.map_or(Ok(false), |kept| self.is_free(&kept.task))?;
            open -= u64::from(is_counted).min(open);
        }
        Ok(usize::try_from(open).unwrap_or(usize::MAX))
    }

    /// A task's state, and whether this session works on it.
    fn look(&self, task: TaskId) -> Result<(TaskState, bool), TaskError> {
        let kept = self.tasks.get(&task.to_string())?;
        Ok((kept.task.state, self.is_ours(&kept)))
    }

    /// A task's record at the end of its execution. A state that was set meanwhile counts.
    pub(super) fn put_end(
        &self,
        item: &WorkItem,
        end: ItemState,
        now_ms: Option<i64>,
    ) -> Result<Option<Put>, TaskError> {
        let mut kept = self.tasks.get(&item.key)?;
        if !self.is_ours(&kept) {
            return Ok(None);
        }
        kept.task.set_state(match end {
            ItemState::Done => TaskState::Completed,
            ItemState::Failed | ItemState::Blocked => TaskState::Blocked,
            ItemState::Open => TaskState::Open,
        });
        kept.task.updated_ms = now_ms.unwrap_or_default();
        Ok(Some(self.tasks.put_for(&kept)))
    }

    /// Whether this session may take a task: no session works on it, or only one that no process
    /// runs, like this one before it was resumed.
    fn is_free(&self, task: &Task) -> Result<bool, StoreError> {
        match (task.state, &task.session) {
            (TaskState::Open, _) => Ok(true),
            (TaskState::InProgress, Some(session)) => self.may_take_from(session),
            // A person who works on it without a session sets and ends this state by hand.
            (TaskState::InProgress, None) => Ok(false),
            (TaskState::Completed | TaskState::Blocked | TaskState::Cancelled, _) => Ok(false),
        }
    }

    /// Whether this session may take over the work of another one: it is the same, or no process
    /// runs it.
    fn may_take_from(&self, session: &str) -> Result<bool, StoreError> {
        Ok(session == self.session || self.dead_lease(session)?.is_some())
    }

    /// The lease of another session, if no process runs that session.
    fn dead_lease(&self, session: &str) -> Result<Option<DeadLease>, StoreError> {
        let lease = lease::name_of(self.tasks.project(), session);
        lease::dead(self.tasks.store(), &lease)
    }

    fn is_ours(&self, kept: &KeptTask) -> bool {
        kept.task.state == TaskState::InProgress
            && kept.task.session.as_deref() == Some(self.session.as_str())
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
