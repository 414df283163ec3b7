//! [`Queue`]: the source of a stage's work items.
//!
//! | source | a work item | its state |
//! |---|---|---|
//! | [`IssueFolder`] | a file `N-title.md` | in the store ([`IssueStates`]); the files stay untouched |
//! | the project's tasks | a task | in the store, with the task |
//! | a command | a line that it prints | up to the command; a session takes no failed one twice |

mod folder_listing;
mod issue_folder;
mod issue_queue;
mod issue_states;

use std::path::Path;

use hookwright_config::QueueSpec;

pub use issue_folder::{FoundIssues, Issue, IssueError, IssueFolder};
pub(crate) use issue_queue::{IssueQueue, QueueError};
pub use issue_states::{IssueRecord, IssueState, IssueStates, KeptIssue};

/// The source of a stage's work items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queue {
    /// A command, whose output has one item per line.
    Command(String),
    /// A folder of issues.
    Issues(IssueFolder),
    /// The project's own list of tasks.
    Tasks,
}

impl Queue {
    /// The queue of a loop's file.
    pub fn new(spec: &QueueSpec, root: &Path) -> Self {
        match spec {
            QueueSpec::Command(command) => Self::Command(command.clone()),
            QueueSpec::Issues(folder, _) => Self::Issues(IssueFolder::new(root, folder)),
            QueueSpec::Tasks => Self::Tasks,
        }
    }

    /// A description for plans.
    pub fn name(&self) -> String {
        match self {
            Self::Command(command) => format!("`{command}` prints nothing"),
            Self::Issues(folder) => format!("no issue is open in {}", folder.shown()),
            Self::Tasks => "no task is open".to_owned(),
        }
    }
}

/// A title that fits into an environment and an argument, which cannot contain NUL. Markdown
/// replaces it in the same way.
pub(crate) fn without_nul(title: &str) -> String {
    title.replace('\0', "\u{fffd}")
}
