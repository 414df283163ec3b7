//! The desk of a running session: where other processes ask it for something while it runs.
//!
//! It is a socket in the user's state folder, which nobody else may enter. A caller writes one line of
//! JSON, a [`Request`], and reads one, an [`Answer`]. A caller that goes away changes nothing: what it
//! asked for is done.
//!
//! The socket is there as long as the session runs, and comes back when another process removes it. A
//! caller that cannot reach a session that runs does not do the work without it: a guard that cannot be
//! asked has not agreed. Only the session itself says that it takes nothing any more.
//!
//! [`caller`] is the side of the caller; `reception.rs` is the socket. What is asked for is done in
//! `session/task_desk.rs`.

pub mod caller;
mod place;
mod reception;

use hookwright_engine::Chain;
use hookwright_events::TaskId;
use serde::{Deserialize, Serialize};

pub use place::{DeskError, DeskPlace};
pub(crate) use reception::{Reception, read, write};

/// What a caller wants: a task is done, and its hooks shall say what they think.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// [`hookwright_events::run_event::VERSION`].
    pub version: u32,
    /// The project, so that two sessions are never taken for each other.
    pub project: String,
    /// The session.
    pub session: String,
    /// The task.
    pub complete_task: TaskId,
    /// The hooks in which the caller runs.
    #[serde(default)]
    pub chain: Chain,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// The task is completed.
    Completed {
        /// What hooks want people to know.
        messages: Vec<String>,
    },
    /// It was before.
    Already,
    /// A hook that runs because the task is being completed asked for it.
    Underway,
    /// A hook says no; the task is as it was.
    Blocked {
        /// Why.
        reason: String,
        /// What hooks want people to know.
        messages: Vec<String>,
    },
    /// It could not be done; the task is as it was.
    Failed {
        /// Why.
        reason: String,
    },
    /// The session takes nothing any more; the caller does it.
    Closed,
}
