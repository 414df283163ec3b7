//! [`Queue`]: where a stage's work is found, one piece at a time.
//!
//! | source | a piece of work | its state |
//! |---|---|---|
//! | [`IssueFolder`] | a file `N-title.md` | in the store ([`IssueStates`]); the files stay untouched |
//! | the project's tasks | a task | in the store, with the task |
//! | a command | a line that it prints | the command's own affair; a session takes none twice that failed |

mod folder_listing;
mod issue_folder;
mod issue_queue;
mod issue_states;

use std::path::Path;

use hookwright_config::QueueSpec;

pub use issue_folder::{FoundIssues, Issue, IssueError, IssueFolder};
pub(crate) use issue_queue::{IssueQueue, QueueError};
pub use issue_states::{IssueRecord, IssueState, IssueStates, KeptIssue};

/// Where a stage's work is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queue {
    /// What a command prints, one a line.
    Command(String),
    /// A folder of issues.
    Issues(IssueFolder),
    /// The project's own list of tasks.
    Tasks,
}

impl Queue {
    /// The queue as a loop's file says it.
    pub fn new(spec: &QueueSpec, root: &Path) -> Self {
        match spec {
            QueueSpec::Command(command) => Self::Command(command.clone()),
            QueueSpec::Issues(folder, _) => Self::Issues(IssueFolder::new(root, folder)),
            QueueSpec::Tasks => Self::Tasks,
        }
    }

    /// In words, for plans.
    pub fn name(&self) -> String {
        match self {
            Self::Command(command) => format!("`{command}` prints nothing"),
            Self::Issues(folder) => format!("no issue is open in {}", folder.shown()),
            Self::Tasks => "no task is open".to_owned(),
        }
    }
}

/// A title that fits into an environment and an argument, which hold no NUL. Markdown has this in its
/// place as well.
pub(crate) fn without_nul(title: &str) -> String {
    title.replace('\0', "\u{fffd}")
}
