//! Why a task could not be kept, found or changed.

use hookwright_events::task::{LOWEST, TaskId, TaskState};

use crate::StoreError;

/// Why a task could not be kept, found or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its record is none of ours, or a newer program's.
    #[error("the task `{id}` cannot be read: {cause}")]
    Unreadable {
        /// Which.
        id: String,
        /// How that shows.
        cause: String,
    },
    /// It says nothing.
    #[error("the task has no text")]
    Empty,
    /// Over one of the [`limits`](crate::limits).
    #[error("{what}: expected at most {max} but found {found}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: usize,
        /// How much there may be.
        max: usize,
    },
    /// There is no such priority.
    #[error("expected a priority from 0 (the highest) to {LOWEST} but found {found}")]
    Priority {
        /// What was wanted.
        found: u8,
    },
    /// There is one like it.
    #[error("`{id}` has the same text and is {}", state.as_str())]
    Same {
        /// Which.
        id: TaskId,
        /// How far that is.
        state: TaskState,
    },
    /// No task has this id.
    #[error("there is no task `{id}`")]
    Unknown {
        /// What was typed.
        id: String,
        /// The nearest one, if there are tasks.
        nearest: Option<TaskId>,
    },
    /// It would wait for itself.
    #[error("`{}` would wait for itself: {}", way[0], in_words(way))]
    Circle {
        /// From the task, through those that wait for each other, back to it.
        way: Vec<TaskId>,
    },
}

fn in_words(way: &[TaskId]) -> String {
    way.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
}
