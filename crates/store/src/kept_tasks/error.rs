//! [`TaskError`]: why a task could not be added, found or changed.

use hookwright_events::task::{LOWEST, TaskId, TaskState};

use crate::StoreError;

/// Why a task could not be added, found or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record is damaged, or a newer version of the program wrote it.
    #[error("the task `{id}` cannot be read: {cause}")]
    Unreadable {
        /// The record's name.
        id: String,
        /// Why it cannot be parsed.
        cause: String,
    },
    /// The text is empty.
    #[error("the task has no text")]
    Empty,
    /// A value exceeds one of the [`limits`](crate::limits).
    #[error("{what}: expected at most {max} but found {found}")]
    TooLarge {
        /// What exceeds its limit.
        what: &'static str,
        /// The actual amount.
        found: usize,
        /// The limit.
        max: usize,
    },
    /// The priority is out of range.
    #[error("expected a priority from 0 (the highest) to {LOWEST} but found {found}")]
    Priority {
        /// The given priority.
        found: u8,
    },
    /// An unfinished task has the same text.
    #[error("`{id}` has the same text and is {}", state.as_str())]
    Same {
        /// The other task.
        id: TaskId,
        /// The other task's state.
        state: TaskState,
    },
    /// No task has this id.
    #[error("there is no task `{id}`")]
    Unknown {
        /// The id that the user typed.
        id: String,
        /// The nearest existing id, if there are tasks.
        nearest: Option<TaskId>,
    },
    /// The task would depend on itself.
    #[error("`{}` would wait for itself: {}", way[0], in_words(way))]
    Circle {
        /// The cycle of dependencies, which begins and ends with the task.
        way: Vec<TaskId>,
    },
}

fn in_words(way: &[TaskId]) -> String {
    way.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
}
