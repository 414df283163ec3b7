//! [`KeptTasks`]: a project's list of tasks, stored as records.
//!
//! Every change of a task names the version that it was made from, so that two processes cannot
//! change it at once. Rules for the whole list (no number is used twice, no two unfinished tasks
//! have the same text, no task waits for itself) are guarded by one more record, the list's own: a
//! change that depends on the rest of the list names that record's version too.
//!
//! A task is never removed. Tasks that will not be done are cancelled.

mod claim_note;
mod error;
mod lanes;
mod list;
mod rules;

use std::sync::Arc;

use hookwright_events::task::{Task, TaskId, TaskState, USUAL};

use crate::{Commit, Expect, Expected, Fence, Filter, Kind, Put, Record, RecordKey};
use crate::{Store, StoreError, limits, records};

use claim_note::ClaimNote;
pub use error::TaskError;
pub use list::TaskList;
use rules::{check_priority, checked_content};

/// The tasks of a project.
#[derive(Clone)]
pub struct KeptTasks {
    store: Arc<dyn Store>,
    project: String,
}

/// A stored task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTask {
    /// The task itself.
    pub task: Task,
    /// The version of its record.
    pub version: u64,
}

/// A task to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The task's text.
    pub content: String,
    /// Its first state.
    pub state: TaskState,
    /// From 0, the highest, to 4.
    pub priority: u8,
    /// Ids of tasks that have to be completed first, as the user typed them.
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

/// A change of a task; fields that are `None` stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskChange {
    /// The new state.
    pub state: Option<TaskState>,
    /// The new text.
    pub content: Option<String>,
    /// From 0, the highest, to 4.
    pub priority: Option<u8>,
    /// Ids of tasks that have to be completed first, as the user typed them.
    pub depends_on: Option<Vec<String>>,
    /// The session that works on it from now on.
    pub session: Option<String>,
}

/// The claim of a session that wants a task.
#[derive(Clone, Copy)]
pub struct TaskClaim<'a> {
    /// The session.
    pub session: &'a str,
    /// The lease under which it acts.
    pub fence: Option<&'a Fence>,
    /// Ids of tasks to pass over.
    pub skip: &'a [String],
    /// The lease of another session that no process runs any more; `None` if one may run it.
    pub dead: &'a dyn Fn(&str) -> Result<Option<DeadLease>, StoreError>,
    /// The time of the claim.
    pub now_ms: i64,
}

/// The lease of a session that no process runs. As soon as a process takes it, tasks of that session
/// cannot be claimed by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLease {
    /// The lease's name.
    pub lease: String,
    /// The dead holder's token; `None` if the lease is free.
    pub token: Option<u64>,
}

/// Result of [`KeptTasks::claim_next`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedTask {
    /// The task, which now belongs to the session.
    pub kept: KeptTask,
    /// The dead session that worked on it before.
    pub left_by: Option<String>,
}

/// Name and status of the list's own record. No task id looks like it.
const LIST: &str = "list";

/// The list's own record.
struct ListRecord {
    /// The last task number in use.
    last: u64,
    /// `None` before the first task.
    version: Option<u64>,
}

impl KeptTasks {
    /// The tasks of a project.
    pub fn new(store: Arc<dyn Store>, project: &str) -> Self {
        Self { store, project: project.to_owned() }
    }

    /// The store that has the tasks.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The project that has the tasks.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// Adds a task. Fails if an unfinished task has the same text.
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

    /// The task with this id, as the user typed it.
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

    /// The tasks in these states (all, if none is given) and the state of every task, as one
    /// snapshot.
    pub fn list(&self, states: &[TaskState]) -> Result<TaskList, TaskError> {
        let mut list = TaskList::default();
        for record in records(&*self.store, Kind::Task, self.all()) {
            list.add(&record?, states)?;
        }
        list.sort();
        Ok(list)
    }

    /// Assigns a task to a session, whichever session had it. `false` if the task has changed since
    /// it was read: another session may have it now.
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

    /// Sets a task's state, whichever session has it.
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

    /// A changed task, for a commit that the caller makes. The commit fails if the task has changed
    /// since it was read.
    pub fn put_for(&self, changed: &KeptTask) -> Put {
        self.put(&changed.task, Expected::Version(changed.version), None)
    }

    /// The changed task, checked against the rest of the list.
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

    /// Changes one task. If another process changes it meanwhile, reads it again and repeats.
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

    /// The first record's version after the commit; `None` if another process changed a record
    /// first.
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

    /// The record of a task. `waits_for` names the task that an open one is known to wait for.
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

/// The value of a claimed task with its claimer's note in it; `None` if it cannot be read.
pub(crate) fn claimed_value(record: &Record) -> Option<String> {
    serde_json::to_string(&read(record).ok()?.task).ok()
}

fn read(record: &Record) -> Result<KeptTask, TaskError> {
    let unreadable = |cause: String| TaskError::Unreadable { id: record.key.name.clone(), cause };
    let mut task: Task =
        serde_json::from_str(&record.value).map_err(|cause| unreadable(cause.to_string()))?;
    if let Some(text) = &record.claim_note {
        let note =
            ClaimNote::parse(text).ok_or_else(|| unreadable(format!("its claim is `{text}`")))?;
        note.apply(&mut task);
    }
    Ok(KeptTask { task, version: record.version })
}
