//! What a person can do about the name of a project.

use std::path::PathBuf;

use hookwright_config::Fault;
use hookwright_store::ProjectError;

use super::storage::of_store;
use super::{Failure, Message, advice};
use crate::text::visible;

/// A project whose name cannot be used.
#[derive(Debug)]
pub(crate) enum ProjectFailure {
    /// The file that may name it is faulty.
    File { path: PathBuf, faults: Vec<Fault> },
    /// Another repository has the name.
    OfAnother {
        name: String,
        file: PathBuf,
        /// The repositories that have the name, in words.
        origins: Vec<String>,
        /// This one, in words.
        this: String,
        is_shallow: bool,
    },
    /// Git cannot say which repository this is.
    Git { name: String, root: PathBuf, cause: String },
    /// The store's record of the name.
    Kept(ProjectError),
    /// `project confirm` where no file names the project.
    NoName { root: PathBuf },
    /// `project confirm` with another name than the file's.
    OtherName { given: String, name: String, file: PathBuf },
    /// An agent or a hook tries to confirm a name.
    FromInside,
}

impl From<ProjectFailure> for Failure {
    fn from(failure: ProjectFailure) -> Self {
        Failure::Project(failure)
    }
}

impl ProjectFailure {
    pub(super) fn message(&self) -> Message {
        match self {
            Self::File { path, faults } => of_file(path, faults),
            Self::OfAnother { name, file, origins, this, is_shallow } => {
                let fetch = match is_shallow {
                    true => "fetch the first commits (`git fetch --unshallow`), or ",
                    false => "choose another name; or ",
                };
                message(
                    format!(
                        "the project name `{name}` belongs to {}, but this is {}",
                        visible(&origins.join(" and ")),
                        visible(this)
                    ),
                    Some(file.display().to_string()),
                    format!(
                        "{fetch}if both are one project, share its sessions and tasks: \
                         `hookwright project confirm {name}`"
                    ),
                )
            }
            Self::Git { name, root, cause } => message(
                format!(
                    "cannot check whether this repository may use the project name `{name}`: {}",
                    visible(cause)
                ),
                Some(root.display().to_string()),
                "fix that: `git -C DIR rev-parse --git-common-dir` has to work, with Git 2.31 or \
                 newer",
            ),
            Self::Kept(ProjectError::Store(error)) => of_store(error),
            Self::Kept(error @ ProjectError::Unreadable { .. }) => message(
                error.to_string(),
                None,
                "use the newer hookwright, or choose another name in hookwright.yaml",
            ),
            Self::Kept(error @ ProjectError::TooMany { name, .. }) => message(
                error.to_string(),
                None,
                format!("keep this one only: `hookwright project confirm {name} --only`"),
            ),
            Self::NoName { root } => message(
                "this project has no name".to_owned(),
                Some(root.display().to_string()),
                "add `project: NAME` to its hookwright.yaml",
            ),
            Self::OtherName { given, name, file } => message(
                format!("expected the project's name `{name}` but found `{given}`"),
                Some(file.display().to_string()),
                format!("confirm the name in the file: `hookwright project confirm {name}`"),
            ),
            Self::FromInside => message(
                "a project's name cannot be confirmed from inside a session or a hook".to_owned(),
                None,
                "a person has to do it, in a terminal outside the session",
            ),
        }
    }
}

fn of_file(path: &std::path::Path, faults: &[Fault]) -> Message {
    let Some(fault) = faults.first() else {
        return message(
            "the file is faulty".to_owned(),
            Some(path.display().to_string()),
            "fix it",
        );
    };
    let told = advice(fault);
    let at = fault
        .place
        .as_ref()
        .map_or_else(String::new, |place| format!(":{}:{}", place.line, place.column));
    message(told.heading, Some(format!("{}{at}", path.display())), told.help)
}

fn message(heading: String, place: Option<String>, help: impl Into<String>) -> Message {
    Message { heading, place, help: help.into() }
}
