//! [`Trees`]: keeps the states of a session's work tree where other machines find them.
//!
//! A state that was kept ("a tree") has an id. The session writes it into its journal together with
//! the end of the turn or hook after which it was kept. Another machine restores the last one and
//! repeats what was cut off.
//!
//! [`GitTrees`] keeps them in the project's git remote, with work trees at a [`WorkPlace`] below a
//! worker's [`WorkFolder`]. `submission.rs` checks whether a project can be carried, `setup.rs` runs
//! the command that recreates what git ignores.

mod git_program;
mod git_trees;
mod head;
mod listing;
mod own_files;
mod remote;
mod repository;
mod secrets_in_objects;
mod setup;
mod store_cleaning;
mod submission;
mod tree_lock;
mod work_folder;
mod work_place;

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use git_program::GitProgram;
pub use git_trees::GitTrees;
pub use remote::{GitRemote, TreeRefs, delete_trees};
pub use setup::{SetupError, run_setup};
pub use store_cleaning::{clean_stores, forget_trees};
pub use submission::{Carriable, CarriedWork, CarryError};
pub use tree_lock::{StoreLock, TreeLock, remove_unused_trees};
pub use work_folder::{WorkFolder, WorkFolderError};
pub use work_place::WorkPlace;

/// A call of [`Trees`].
pub type TreeFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, TreeError>> + Send + 'a>>;

/// Keeps and restores the states of one session's work tree.
pub trait Trees: Send + Sync {
    /// Keeps the work tree as it is now. When it returns, other machines can restore it.
    fn keep(&self) -> TreeFuture<'_, KeptTree>;

    /// Makes the work tree what it was when this tree was kept. Does nothing if that was the last
    /// tree kept or restored here.
    fn restore<'a>(&'a self, tree: &'a TreeId) -> TreeFuture<'a, ()>;

    /// Publishes the work tree as the session's result. Returns the name of the result.
    fn publish(&self) -> TreeFuture<'_, String>;
}

/// Identifies a tree: the id of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TreeId(String);

/// The result of keeping a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptTree {
    /// The id of the last tree, which is this one; `None` if it is as it was submitted.
    pub tree: Option<TreeId>,
    /// What was not kept.
    pub left_out: Vec<LeftOut>,
}

/// A part of the work tree that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// A repository inside the work tree.
    NestedRepository {
        /// Its path.
        path: String,
    },
    /// A submodule at a commit that the work tree's repository does not contain.
    Submodule {
        /// Its path.
        path: String,
    },
    /// Branches beyond the limit.
    Branches {
        /// How many.
        count: usize,
    },
}

/// Why a tree cannot be kept or restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Git is not installed.
    #[error("`git` not found")]
    NoGit,
    /// Git fails.
    #[error("cannot {doing}: {said}")]
    Failed {
        /// The operation.
        doing: &'static str,
        /// The cause, mostly in git's words.
        said: String,
    },
    /// A file system that hangs, or a very big tree.
    #[error("cannot {doing}: it took more than {} s", after.as_secs())]
    TookTooLong {
        /// The operation.
        doing: &'static str,
        /// The limit.
        after: Duration,
    },
    /// The remote is unreachable.
    #[error("the git remote `{remote}` is unreachable: {said}")]
    Unreachable {
        /// The remote's address.
        remote: String,
        /// Git's message.
        said: String,
    },
    /// The remote does not accept it.
    #[error("the git remote `{remote}` refuses the push: {said}")]
    Refused {
        /// The remote's address.
        remote: String,
        /// The remote's message.
        said: String,
    },
    /// A file or a commit contains a secret.
    #[error("{object} contains {secret}, so nothing is sent to the git remote")]
    HoldsSecret {
        /// What contains it.
        object: String,
        /// The secret's placeholder.
        secret: String,
    },
    /// The remote does not have the commit that was submitted.
    #[error("the git remote `{remote}` does not have the submitted commit `{commit}`")]
    MissingCommit {
        /// The remote's address.
        remote: String,
        /// The commit's id.
        commit: TreeId,
    },
    /// The remote does not have a tree that was kept.
    #[error("the git remote `{remote}` does not have the work tree `{tree}`")]
    Missing {
        /// The remote's address.
        remote: String,
        /// The tree's id.
        tree: TreeId,
    },
    /// A file of the work tree cannot be used.
    #[error("cannot {doing} `{}`: {cause}", path.display())]
    File {
        /// The operation.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        cause: String,
    },
}

impl TreeError {
    /// Whether it may succeed if it is tried again.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::NoGit
            | Self::Failed { .. }
            | Self::TookTooLong { .. }
            | Self::Refused { .. }
            | Self::HoldsSecret { .. }
            | Self::MissingCommit { .. }
            | Self::Missing { .. }
            | Self::File { .. } => false,
        }
    }
}

impl TreeId {
    /// `None` if the text is not the id of a commit.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex =
            text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        (is_hex && matches!(text.len(), 40 | 64)).then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TreeId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("expected the id of a commit but found `{text}`"))
    }
}

impl From<TreeId> for String {
    fn from(id: TreeId) -> Self {
        id.0
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NestedRepository { path } => {
                write!(out, "`{path}` is a nested repository, which is not saved")
            }
            Self::Submodule { path } => {
                write!(
                    out,
                    "the submodule `{path}` is at another commit; its own commits are not saved"
                )
            }
            Self::Branches { count } => {
                write!(out, "too many branches: {count} not saved")
            }
        }
    }
}
