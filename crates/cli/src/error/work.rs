//! Errors about a work item that a user names, with advice.

use super::Message;
use crate::text::count;

/// A work item that cannot be used.
#[derive(Debug)]
pub(crate) enum WorkFailure {
    /// No issue has this number.
    NoSuchIssue { number: u64, known: Vec<u64> },
    /// A folder of issues cannot be read, so it is unknown whether the issue exists.
    Unreadable { problem: String },
    /// Several folders have an issue with this number.
    ManyIssues { number: u64, folders: Vec<String> },
    /// A session works on it now.
    InWork { name: String, session: String },
    /// The text is neither an issue nor a task.
    NoSuchItem { item: String },
}

impl WorkFailure {
    pub(super) fn message(&self) -> Message {
        match self {
            WorkFailure::NoSuchIssue { number, known } => message(
                format!("there is no issue {number} in this project"),
                match known.len() {
                    0 => "issues are files like issues/3-title.md".to_owned(),
                    many => format!(
                        "there {} {}; `hookwright status` lists them",
                        if many == 1 { "is" } else { "are" },
                        count(many, "issue")
                    ),
                },
            ),
            WorkFailure::Unreadable { problem } => message(
                format!("some issues cannot be read: {problem}"),
                "fix that first, then check with `hookwright status`",
            ),
            WorkFailure::ManyIssues { number, folders } => message(
                format!("several folders have an issue {number}: {}", folders.join(", ")),
                format!("choose one with `--folder {}`", folders[0]),
            ),
            WorkFailure::InWork { name, session } => message(
                format!("session {session} is working on {name}"),
                format!("wait for it, or end it: `hookwright stop {session}`"),
            ),
            WorkFailure::NoSuchItem { item } => message(
                format!("there is no issue or task `{item}` in this project"),
                "an issue is named by its number, a task by its id, like TAS-3; `hookwright status` lists \
                 issues, `hookwright task list` tasks",
            ),
        }
    }
}

fn message(heading: String, help: impl Into<String>) -> Message {
    Message { heading, place: None, help: help.into() }
}
