//! [`Task`]: something to do in a project, by people or by an agent.

use serde::{Deserialize, Serialize};

/// The least urgent priority.
pub const LOWEST: u8 = 4;

/// The default priority.
pub const USUAL: u8 = 2;

/// The prefix of every task id.
const PREFIX: &str = "TAS-";

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The id: `TAS-3`.
    pub id: TaskId,
    /// What to do.
    pub content: String,
    /// The task's state.
    pub state: TaskState,
    /// From 0, the most urgent one, to [`LOWEST`].
    pub priority: u8,
    /// Tasks that must be completed first.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// The time of its creation, in milliseconds since 1970.
    pub created_ms: i64,
    /// The time of its last change, in milliseconds since 1970.
    pub updated_ms: i64,
    /// The session that works on it, or has completed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A task's number, unique in its project and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskId(pub u64);

crate::words! {
    /// The state of a task.
    #[derive(Hash)]
    pub enum TaskState {
        /// No session works on it.
        Open = "open",
        /// A session or a person works on it.
        InProgress = "in_progress",
        /// It is done.
        Completed = "completed",
        /// It cannot be done now.
        Blocked = "blocked",
        /// It will not be done.
        Cancelled = "cancelled",
    }
}

impl Task {
    /// Sets the state. Only a task in progress or completed keeps its session.
    pub fn set_state(&mut self, state: TaskState) {
        self.state = state;
        match state {
            TaskState::InProgress | TaskState::Completed => {}
            TaskState::Open | TaskState::Blocked | TaskState::Cancelled => self.session = None,
        }
    }
}

impl TaskId {
    /// Parses an id as people type it: `TAS-3`, `tas-3` or `3`.
    pub fn typed(text: &str) -> Option<Self> {
        let text = text.trim();
        let number = match text.split_at_checked(PREFIX.len()) {
            Some((prefix, number)) if prefix.eq_ignore_ascii_case(PREFIX) => number,
            _ => text,
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|number| is_number && *number > 0).map(Self)
    }
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{PREFIX}{}", self.0))
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for TaskId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::typed(&text).ok_or_else(|| format!("`{text}` is not a task id"))
    }
}

impl TaskState {
    /// The states of tasks that are still to be done.
    pub const UNFINISHED: [Self; 3] = [Self::Open, Self::InProgress, Self::Blocked];

    /// Parses a state as people type it; `remaining` is an old word for `open`.
    pub fn typed(word: &str) -> Option<Self> {
        let word = word.trim().to_ascii_lowercase().replace('-', "_");
        match word.as_str() {
            "remaining" => Some(Self::Open),
            word => Self::parse(word),
        }
    }

    /// Whether there is still something to do.
    pub fn is_unfinished(self) -> bool {
        Self::UNFINISHED.contains(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_parsed_with_or_without_its_prefix_and_written_with_it() {
        for text in ["TAS-12", "tas-12", "12", " Tas-12\n"] {
            assert_eq!(TaskId::typed(text), Some(TaskId(12)), "{text}");
        }
        for text in
            ["", "TAS-", "TAS-0", "0", "+3", "TAS--3", "TASK-3", "3a", "ä", "99999999999999999999"]
        {
            assert_eq!(TaskId::typed(text), None, "{text}");
        }
        assert_eq!(TaskId(12).to_string(), "TAS-12");
        assert_eq!(format!("[{:8}]", TaskId(12)), "[TAS-12  ]");
    }

    #[test]
    fn every_state_is_parsed_by_its_name_and_open_by_an_old_name_too() {
        for state in TaskState::ALL {
            assert_eq!(TaskState::typed(state.as_str()), Some(state));
        }
        assert_eq!(TaskState::typed("remaining"), Some(TaskState::Open));
        assert_eq!(TaskState::typed("In-Progress"), Some(TaskState::InProgress));
        assert_eq!(TaskState::typed("done"), None);
    }

    #[test]
    fn a_task_that_is_not_worked_on_has_no_session() {
        for (state, session) in [
            (TaskState::Open, None),
            (TaskState::InProgress, Some("calm-fox")),
            (TaskState::Completed, Some("calm-fox")),
            (TaskState::Blocked, None),
            (TaskState::Cancelled, None),
        ] {
            let mut task = Task {
                id: TaskId(1),
                content: "x".into(),
                state: TaskState::InProgress,
                priority: USUAL,
                depends_on: Vec::new(),
                created_ms: 1,
                updated_ms: 1,
                session: Some("calm-fox".into()),
            };
            task.set_state(state);
            assert_eq!((task.state, task.session.as_deref()), (state, session));
        }
    }
}
