//! [`WorkItem`]: one item of a queue, whatever its source.

use serde::{Deserialize, Serialize};

/// One item of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItem {
    /// The kind of queue.
    pub source: WorkSource,
    /// Identifies it within its source: an issue's number, a task's id, a line.
    pub key: String,
    /// The title for people.
    pub title: String,
    /// The whole text, if it is longer than the title. An issue's text is in its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// An issue's file, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The plan for an issue, relative to the root, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
}

/// The kinds of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkSource {
    /// A folder of files, one per issue.
    Issues,
    /// The project's own list of tasks.
    Tasks,
    /// The output of a command, one item per line.
    Command,
}

crate::words! {
    /// What became of a work item.
    pub enum ItemState {
        /// It is done.
        Done = "done",
        /// It was tried, and failed.
        Failed = "failed",
        /// A hook prevented its start.
        Blocked = "blocked",
        /// It was started and left for later: a limit of the loop was reached in the middle of it, it
        /// was put back, or another session took it.
        Open = "open",
    }
}

impl WorkItem {
    /// An issue's number.
    pub fn number(&self) -> Option<u64> {
        match self.source {
            WorkSource::Issues => self.key.parse().ok(),
            WorkSource::Tasks | WorkSource::Command => None,
        }
    }

    /// The name for people: `issue 3`, `task TAS-7`, or its line.
    pub fn name(&self) -> String {
        match self.source {
            WorkSource::Issues => format!("issue {}", self.key),
            WorkSource::Tasks => format!("task {}", self.key),
            WorkSource::Command => self.title.clone(),
        }
    }
}
