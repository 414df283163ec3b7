//! [`SessionEvent`]: the third level of a run, a session with its stages and work items.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SessionStatus;
use crate::work_item::{ItemState, WorkItem};

/// What happened to a session as a whole: its stages, its work items, its pauses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionEvent {
    /// A session is submitted to workers, one of which will begin it.
    SessionSubmitted {
        /// The loop's or pipeline's name.
        plan: String,
        /// Its stages, in order.
        stages: Vec<String>,
        /// The configuration to run with, even if the files change.
        sources: Value,
    },
    /// A session begins.
    SessionStarted {
        /// The loop's or pipeline's name.
        plan: String,
        /// Its stages, in order.
        stages: Vec<String>,
        /// The configuration it runs with, even if the files change.
        sources: Value,
    },
    /// Another process continues the session.
    SessionResumed {
        /// How often the session was resumed, including this time.
        time: u32,
        /// The configuration from here on, if it was read again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sources: Option<Value>,
    },
    /// A stage begins.
    StageStarted {
        /// The stage's name.
        stage: String,
        /// The stage's number, from 1.
        index: u32,
        /// The maximum number of iterations.
        iterations_max: u32,
    },
    /// A work item is taken from a stage's queue. Recorded before anything is done about it.
    ItemStarted {
        /// The stage's number, from 1.
        stage: u32,
        /// The stage's execution, from 1.
        execution: u32,
        /// The work item.
        item: WorkItem,
    },
    /// A work item is finished.
    ItemEnded {
        /// The stage's number, from 1.
        stage: u32,
        /// The stage's execution, from 1.
        execution: u32,
        /// [`WorkItem::key`].
        key: String,
        /// The item's state now.
        state: ItemState,
        /// The reason, if it is not done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// How many iterations it took; 0 if it was left to another session.
        iterations: u32,
        /// The duration in milliseconds, including its hooks.
        duration_ms: f64,
    },
    /// The session pauses, and nothing runs.
    Paused {
        /// The kind of pause.
        cause: PauseCause,
        /// The reason in words.
        reason: String,
        /// The end of the pause, ISO 8601 in UTC, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// The pause is over.
    Continued {},
    /// A stage has ended.
    StageEnded {
        /// The stage's name.
        stage: String,
        /// The stage's number, from 1.
        index: u32,
        /// The reason: `completed`, `max_iterations`, `max_runtime`, `failed`.
        reason: String,
        /// How many iterations it had.
        iterations: u32,
    },
    /// A session has ended, or was left to be resumed.
    SessionEnded {
        /// The session's status.
        status: SessionStatus,
        /// The reason in words.
        reason: String,
    },
    /// The work tree as it is now was sent to the project's git remote. Recorded together with what
    /// has just ended, in sessions that other machines may continue.
    TreeKept {
        /// The id of its commit.
        tree: String,
    },
    /// A note for people.
    Noted {
        /// The text.
        note: String,
    },
}

/// Why a session pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// The agent is rate-limited, and says when it may be asked again.
    RateLimit,
    /// The agent is out of quota.
    Quota,
    /// The agent's service is down.
    Outage,
    /// The session has reached its cost limit.
    Cost,
    /// A person paused it.
    Person,
}
