//! [`WorkItem`]: one piece of work of a queue, whatever it was found in.

use serde::{Deserialize, Serialize};

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItem {
    /// What it was found in.
    pub source: WorkSource,
    /// Tells it from the others there: an issue's number, a task's id, a line.
    pub key: String,
    /// What it is called.
    pub title: String,
    /// All of it, where its title is not all; an issue's text is in its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// An issue's file, from the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The plan for an issue, from the root, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
}

/// Where work is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkSource {
    /// A folder of files, one an issue.
    Issues,
    /// The project's own list of tasks.
    Tasks,
    /// What a command prints, one a line.
    Command,
}

/// What became of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// It is done.
    Done,
    /// It was tried, and failed.
    Failed,
    /// A hook kept it from being started.
    Blocked,
    /// It was begun and left for later: a bound of the loop was reached in the middle of it, it was put
    /// back, or another session has taken it.
    Open,
}

impl WorkItem {
    /// An issue's number.
    pub fn number(&self) -> Option<u64> {
        match self.source {
            WorkSource::Issues => self.key.parse().ok(),
            WorkSource::Tasks | WorkSource::Command => None,
        }
    }

    /// How people call it: `issue 3`, `task TAS-7`, or its line.
    pub fn name(&self) -> String {
        match self.source {
            WorkSource::Issues => format!("issue {}", self.key),
            WorkSource::Tasks => format!("task {}", self.key),
            WorkSource::Command => self.title.clone(),
        }
    }
}

impl ItemState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ItemState::Done => "done",
            ItemState::Failed => "failed",
            ItemState::Blocked => "blocked",
            ItemState::Open => "open",
        }
    }
}
