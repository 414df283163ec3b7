//! What can be wrong with a piece of work that somebody names, in words for people.

use super::Message;
use crate::text::count;

/// A piece of work that cannot be used.
#[derive(Debug)]
pub(crate) enum WorkFailure {
    /// No issue has this number.
    NoSuchIssue { number: u64, known: Vec<u64> },
    /// There may be one: a folder of issues cannot be read.
    Unreadable { problem: String },
    /// Several folders have an issue of this number.
    ManyIssues { number: u64, folders: Vec<String> },
    /// A session works on it now.
    InWork { name: String, session: String },
    /// It looks neither like an issue nor like a task.
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
