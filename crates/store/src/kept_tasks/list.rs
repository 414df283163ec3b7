//! [`TaskList`]: a snapshot of a project's tasks.

use std::collections::HashMap;

use hookwright_events::task::{Task, TaskId, TaskState};

use super::{KeptTask, TaskError, read};
use crate::Record;

/// Some of the tasks and the states of all, by priority and then by age: the order to work in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskList {
    /// The requested tasks.
    pub tasks: Vec<KeptTask>,
    /// The state of every task.
    pub states: HashMap<TaskId, TaskState>,
}

impl TaskList {
    /// Whether a task can start now: it is open, and every task that it waits for is completed.
    pub fn is_ready(&self, task: &Task) -> bool {
        task.state == TaskState::Open && self.waits_for(task).next().is_none()
    }

    /// The unfinished tasks that a task waits for.
    pub fn waits_for<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = TaskId> + 'a {
        let is_completed = |id: &TaskId| self.states.get(id) == Some(&TaskState::Completed);
        task.depends_on.iter().copied().filter(move |id| !is_completed(id))
    }

    /// How many tasks are in a state.
    pub fn count(&self, state: TaskState) -> usize {
        self.states.values().filter(|found| **found == state).count()
    }

    /// Adds a record. Parses the task only if its state is wanted.
    pub(super) fn add(&mut self, record: &Record, wanted: &[TaskState]) -> Result<(), TaskError> {
        let unreadable = |cause: &str| TaskError::Unreadable {
            id: record.key.name.clone(),
            cause: cause.to_owned(),
        };
        let id = TaskId::typed(&record.key.name).ok_or_else(|| unreadable("it has no number"))?;
        let state = TaskState::typed(&record.status)
            .ok_or_else(|| unreadable(&format!("its state is `{}`", record.status)))?;
        self.states.insert(id, state);
        if wanted.is_empty() || wanted.contains(&state) {
            self.tasks.push(read(record)?);
        }
        Ok(())
    }

    pub(super) fn sort(&mut self) {
        self.tasks.sort_by_key(|kept| (kept.task.priority, kept.task.id));
    }
}
