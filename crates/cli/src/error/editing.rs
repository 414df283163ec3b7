//! Errors of a file that a command edits, with advice.

use std::io;
use std::path::PathBuf;

use serde_json::Value;

use super::{Message, without_number};

/// Why a file was not edited. Nothing was written.
#[derive(Debug)]
pub(crate) enum EditFailure {
    /// The system does not allow writing it.
    CannotWrite { path: PathBuf, cause: io::Error },
    /// It cannot be parsed, so the place of the change is unknown.
    Unreadable { place: String, cause: String },
    /// Its layout does not allow changing only the hook.
    OddLayout { path: PathBuf, hook: Value, point: &'static str },
    /// There is no folder for the user's files.
    NoHome,
}

impl EditFailure {
    /// The message for the user.
    pub(super) fn message(&self) -> Message {
        match self {
            EditFailure::CannotWrite { path, cause } => Message {
                heading: format!("the file cannot be written: {}", without_number(cause)),
                place: Some(path.display().to_string()),
                help: "nothing was changed; make the file and its folder writable".into(),
            },
            EditFailure::Unreadable { place, cause } => Message {
                heading: format!("the file cannot be edited: {cause}"),
                place: Some(place.clone()),
                help: "nothing was changed; fix the file first: `hookwright check` shows what is \
                     wrong"
                    .into(),
            },
            EditFailure::OddLayout { path, hook, point } => Message {
                heading: "the file cannot be edited without changing more than the hook".into(),
                place: Some(path.display().to_string()),
                help: format!("nothing was changed; edit `{hook}` at {point} yourself"),
            },
            EditFailure::NoHome => Message {
                heading: "there is no home folder for hooks of all projects".into(),
                place: None,
                help: "set HOME or XDG_CONFIG_HOME".into(),
            },
        }
    }
}
