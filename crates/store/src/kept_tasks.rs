//! [`KeptTasks`]: what is to be done in a project, on top of the records of a store.
//!
//! Every change of a task names the version that it was made from, so that two who want the same task
//! are told apart. What must hold for the list as a whole (no number is given twice, nothing unfinished
//! stands in it twice, nothing waits for itself) goes through one more record, the list's own: whoever
//! has read the list and changes it names the version of that record too.
//!
//! A task is never removed; one that will not be done is cancelled.

mod error;
mod lanes;
mod list;
mod rules;

use std::sync::Arc;

use hookwright_events::task::{Task, TaskId, TaskState, USUAL};

use crate::{Commit, Expect, Expected, Filter, Kind, Put, Record, RecordKey};
use crate::{Store, StoreError, limits, records};

pub use error::TaskError;
pub use list::TaskList;
use rules::{check_priority, checked_content};

/// The tasks of a project.
#[derive(Clone)]
pub struct KeptTasks {
    store: Arc<dyn Store>,
    project: String,
}

/// A task as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTask {
    /// What it is.
    pub task: Task,
    /// The version of its record.
    pub version: u64,
}

/// A task that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// What is to be done.
    pub content: String,
    /// How far it is already.
    pub state: TaskState,
    /// From 0, the highest, to 4.
    pub priority: u8,
    /// Ids of tasks that have to be completed before, as they were typed.
    pub depends_on: Vec<String>,
    /// The session that works on it.
    pub session: Option<String>,
}

impl NewTask {
    /// An open task of the usual priority that waits for no other.
    pub fn new(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            state: TaskState::Open,
            priority: USUAL,
            depends_on: Vec::new(),
            session: None,
        }
    }
}

/// What is to become of a task; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskChange {
    /// How far it is.
    pub state: Option<TaskState>,
    /// What is to be done.
    pub content: Option<String>,
    /// From 0, the highest, to 4.
    pub priority: Option<u8>,
    /// Ids of tasks that have to be completed before, as they were typed.
    pub depends_on: Option<Vec<String>>,
    /// The session that works on it from now on.
    pub session: Option<String>,
}

/// What [`KeptTasks::claim`] led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The session works on it now.
    Claimed(KeptTask),
    /// It is not open any more; its state and session say why.
    Taken(KeptTask),
}

/// The name of the list's own record, and its status. No task's id is like it.
const LIST: &str = "list";

/// The list's own record as it was read.
struct ListRecord {
    /// The last number that was given.
    last: u64,
    /// `None` before the first task.
    version: Option<u64>,
}

impl KeptTasks {
    /// The tasks of a project.
    pub fn new(store: Arc<dyn Store>, project: &str) -> Self {
        Self { store, project: project.to_owned() }
    }

    /// What they are kept in.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Whose they are.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// Keeps a new task. Refuses one that stands in the list and is unfinished.
    pub fn add(&self, new: &NewTask, now_ms: i64) -> Result<KeptTask, TaskError> {
        let content = checked_content(&new.content)?;
        check_priority(new.priority)?;
        loop {
            let list = self.list_record()?;
            let depends_on = self.known_ids(&new.depends_on)?;
            if new.state.is_unfinished() {
                self.refuse_same(content, None)?;
            }
            let mut task = Task {
                id: TaskId(list.last + 1),
                content: content.to_owned(),
                state: new.state,
                priority: new.priority,
                depends_on,
                created_ms: now_ms,
                updated_ms: now_ms,
                session: new.session.clone(),
            };
            task.set_state(new.state);
            let (waits_for, expects) = self.first_to_wait_for(&task)?;
            let puts = vec![
                self.put(&task, Expected::Absent, waits_for),
                self.put_list(&ListRecord { last: task.id.0, ..list }, now_ms),
            ];
            if let Some(version) = self.try_commit(puts, expects)? {
                return Ok(KeptTask { task, version });
            }
        }
    }

    /// The task with this id, as it was typed.
    pub fn get(&self, id: &str) -> Result<KeptTask, TaskError> {
        let found = match TaskId::typed(id) {
            Some(id) => self.find(id)?,
            None => None,
        };
        match found {
            Some(task) => Ok(task),
            None => Err(TaskError::Unknown { id: id.to_owned(), nearest: self.nearest(id)? }),
        }
    }

    /// The task with this id, if there is one.
    pub fn find(&self, id: TaskId) -> Result<Option<KeptTask>, TaskError> {
        let record = self.store.get(Kind::Task, &self.key(&id.to_string()))?;
        record.map(|record| read(&record)).transpose()
    }

    /// The tasks in these states (all, if none is given), and what is known of the rest, in one look.
    pub fn list(&self, states: &[TaskState]) -> Result<TaskList, TaskError> {
        let mut list = TaskList::default();
        for record in records(&*self.store, Kind::Task, self.all()) {
            list.add(&record?, states)?;
        }
        list.sort();
        Ok(list)
    }

    /// Notes that a session works on a task, if nobody does. For a session that does already it stays
    /// so.
    pub fn claim(&self, id: TaskId, session: &str, now_ms: i64) -> Result<Claim, TaskError> {
        let mut is_claimed = false;
        let kept = self.change(id, |task| {
            let is_open = task.state == TaskState::Open;
            is_claimed = is_open
                || (task.state == TaskState::InProgress
                    && task.session.as_deref() == Some(session));
            if is_open {
                task.set_state(TaskState::InProgress);
                task.session = Some(session.to_owned());
                task.updated_ms = now_ms;
            }
            is_open
        })?;
        Ok(if is_claimed { Claim::Claimed(kept) } else { Claim::Taken(kept) })
    }

    /// Notes that a session works on a task from now on, whoever did before. `false` if the task is no
    /// longer what it was when it was read: somebody else may have taken it over.
    pub fn take_over(
        &self,
        kept: &KeptTask,
        session: &str,
        now_ms: i64,
    ) -> Result<bool, TaskError> {
        let mut taken = kept.clone();
        taken.task.set_state(TaskState::InProgress);
        taken.task.session = Some(session.to_owned());
        taken.task.updated_ms = now_ms;
        Ok(self.try_commit(vec![self.put_for(&taken)], Vec::new())?.is_some())
    }

    /// Puts a task into a state, whoever works on it.
    pub fn set_state(
        &self,
        id: TaskId,
        state: TaskState,
        now_ms: i64,
    ) -> Result<KeptTask, TaskError> {
        self.change(id, |task| {
            let is_another = task.state != state;
            if is_another {
                task.set_state(state);
                task.updated_ms = now_ms;
            }
            is_another
        })
    }

    /// Changes a task.
    pub fn update(
        &self,
        id: TaskId,
        change: &TaskChange,
        now_ms: i64,
    ) -> Result<KeptTask, TaskError> {
        loop {
            let list = self.list_record()?;
            let kept = self.get(&id.to_string())?;
            let task = self.changed(&kept.task, change, now_ms)?;
            if task == kept.task {
                return Ok(kept);
            }
            let (waits_for, expects) = self.first_to_wait_for(&task)?;
            let puts = vec![
                self.put(&task, Expected::Version(kept.version), waits_for),
                self.put_list(&list, now_ms),
            ];
            if let Some(version) = self.try_commit(puts, expects)? {
                return Ok(KeptTask { task, version });
            }
        }
    }

    /// A changed task, to be kept in somebody else's commit. That fails if the task is no longer what
    /// it was when it was read.
    pub fn put_for(&self, changed: &KeptTask) -> Put {
        self.put(&changed.task, Expected::Version(changed.version), None)
    }

    /// A task after a change that the list as a whole allows.
    fn changed(&self, before: &Task, change: &TaskChange, now_ms: i64) -> Result<Task, TaskError> {
        let mut task = before.clone();
        if let Some(content) = &change.content {
            checked_content(content)?.clone_into(&mut task.content);
        }
        if let Some(priority) = change.priority {
            check_priority(priority)?;
            task.priority = priority;
        }
        if let Some(ids) = &change.depends_on {
            task.depends_on = self.known_ids(ids)?;
            self.refuse_circle(&task)?;
        }
        if let Some(session) = &change.session {
            task.session = Some(session.clone());
        }
        task.set_state(change.state.unwrap_or(before.state));
        let comes_back = task.state.is_unfinished() && !before.state.is_unfinished();
        if comes_back || (task.state.is_unfinished() && task.content != before.content) {
            self.refuse_same(&task.content, Some(task.id))?;
        }
        if task != *before {
            task.updated_ms = now_ms;
        }
        Ok(task)
    }

    /// Changes one task from what it is now; where somebody else was faster, their change comes first.
    fn change(
        &self,
        id: TaskId,
        mut change: impl FnMut(&mut Task) -> bool,
    ) -> Result<KeptTask, TaskError> {
        loop {
            let mut kept = self.get(&id.to_string())?;
            if !change(&mut kept.task) {
                return Ok(kept);
            }
            if let Some(version) = self.try_commit(vec![self.put_for(&kept)], Vec::new())? {
                return Ok(KeptTask { version, ..kept });
            }
        }
    }

    /// The version of the first of these records after the commit; `None` if somebody else was faster.
    fn try_commit(&self, puts: Vec<Put>, expects: Vec<Expect>) -> Result<Option<u64>, TaskError> {
        match self.store.commit(&Commit { puts, expects, ..Commit::synced() }) {
            Ok(committed) => Ok(committed.versions.first().copied()),
            Err(StoreError::RecordConflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn all(&self) -> Filter {
        Filter {
            project: Some(self.project.clone()),
            name_prefix: Some("TAS-".to_owned()),
            ..Filter::newest(limits::TASKS_PER_PAGE)
        }
    }

    fn list_record(&self) -> Result<ListRecord, TaskError> {
        let Some(record) = self.store.get(Kind::Task, &self.key(LIST))? else {
            return Ok(ListRecord { last: 0, version: None });
        };
        let last = record.value.parse().map_err(|cause: std::num::ParseIntError| {
            TaskError::Unreadable { id: LIST.to_owned(), cause: cause.to_string() }
        })?;
        Ok(ListRecord { last, version: Some(record.version) })
    }

    fn put_list(&self, list: &ListRecord, now_ms: i64) -> Put {
        Put {
            kind: Kind::Task,
            key: self.key(LIST),
            expected: list.version.map_or(Expected::Absent, Expected::Version),
            value: list.last.to_string(),
            created_at_ms: now_ms,
            status: LIST.to_owned(),
            queued: None,
            moves: None,
        }
    }

    /// A task to keep. One that is open waits for this one, as far as its writer knows.
    fn put(&self, task: &Task, expected: Expected, waits_for: Option<TaskId>) -> Put {
        Put {
            kind: Kind::Task,
            key: self.key(&task.id.to_string()),
            expected,
            value: serde_json::to_string(task).expect("a task is plain data with text keys"),
            created_at_ms: task.created_ms,
            status: task.state.as_str().to_owned(),
            queued: lanes::place(task, waits_for),
            moves: lanes::moved_by(task),
        }
    }

    fn key(&self, name: &str) -> RecordKey {
        RecordKey { project: self.project.clone(), name: name.to_owned() }
    }
}

fn read(record: &Record) -> Result<KeptTask, TaskError> {
    let task = serde_json::from_str(&record.value).map_err(|cause| TaskError::Unreadable {
        id: record.key.name.clone(),
        cause: cause.to_string(),
    })?;
    Ok(KeptTask { task, version: record.version })
}
