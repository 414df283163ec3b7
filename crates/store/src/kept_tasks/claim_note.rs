//! [`ClaimNote`]: what a session writes beside a task that it claims, before it knows the task.

use hookwright_events::task::{Task, TaskState};
use serde_json::{Value, json};

/// The session that claimed a task, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClaimNote {
    pub(super) session: String,
    pub(super) at_ms: i64,
}

impl ClaimNote {
    pub(super) fn to_json(&self) -> String {
        json!({ "session": self.session, "at_ms": self.at_ms }).to_string()
    }

    /// `None` if it is not a note of this form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let note: Value = serde_json::from_str(text).ok()?;
        let session = note.get("session")?.as_str()?.to_owned();
        Some(Self { session, at_ms: note.get("at_ms")?.as_i64()? })
    }

    /// Makes a task the session's.
    pub(super) fn apply(&self, task: &mut Task) {
        task.set_state(TaskState::InProgress);
        task.session = Some(self.session.clone());
        task.updated_ms = self.at_ms;
    }
}
