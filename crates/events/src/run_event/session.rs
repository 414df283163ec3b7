//! [`SessionEvent`]: the third level of a run, a session with its stages and pieces of work.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SessionStatus;
use crate::work_item::{ItemState, WorkItem};

/// What happened to a session as a whole: its stages, its pieces of work, its pauses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionEvent {
    /// A session begins.
    SessionStarted {
        /// The loop's or pipeline's name.
        plan: String,
        /// Its stages, in order.
        stages: Vec<String>,
        /// The configuration it runs with, whatever becomes of the files.
        sources: Value,
    },
    /// A session goes on in another process.
    SessionResumed {
        /// How often the session was resumed, this time included.
        time: u32,
        /// The configuration from here on, if it was read anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sources: Option<Value>,
    },
    /// A stage begins.
    StageStarted {
        /// Its name.
        stage: String,
        /// From 1.
        index: u32,
        /// It ends after so many iterations at the latest.
        iterations_max: u32,
    },
    /// A piece of work is taken from a stage's queue. Recorded before anything is done about it.
    ItemStarted {
        /// The stage's number, from 1.
        stage: u32,
        /// Which of the stage's executions, from 1.
        execution: u32,
        /// What is to be done.
        item: WorkItem,
    },
    /// A piece of work is over.
    ItemEnded {
        /// The stage's number, from 1.
        stage: u32,
        /// Which of the stage's executions, from 1.
        execution: u32,
        /// [`WorkItem::key`].
        key: String,
        /// What became of it.
        state: ItemState,
        /// Why, where it is not done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// How many iterations it took; 0 where it was left to another session.
        iterations: u32,
        /// How long it took, its hooks included, in milliseconds.
        duration_ms: f64,
    },
    /// The session waits, and nothing runs meanwhile.
    Paused {
        /// What kind of pause it is.
        cause: PauseCause,
        /// The cause in words.
        reason: String,
        /// Until when, ISO 8601 in UTC, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// The pause is over.
    Continued {},
    /// A stage has ended.
    StageEnded {
        /// Its name.
        stage: String,
        /// From 1.
        index: u32,
        /// Why: `completed`, `max_iterations`, `max_runtime`, `failed`.
        reason: String,
        /// How many iterations it had.
        iterations: u32,
    },
    /// A session has ended, or is left to be resumed.
    SessionEnded {
        /// How it ended.
        status: SessionStatus,
        /// Why, in words.
        reason: String,
    },
    /// Something that a person should know.
    Noted {
        /// The text.
        note: String,
    },
}

/// Why a session waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// The agent was asked too often, and says when it may be asked again.
    RateLimit,
    /// What may be used is used up.
    Quota,
    /// The agent's service is down.
    Outage,
    /// The session has cost as much as it may.
    Cost,
    /// Somebody wants it to wait.
    Person,
}
