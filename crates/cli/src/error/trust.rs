//! Messages for a user whose trusted files cannot be determined.

use std::path::{Path, PathBuf};

use super::{Message, without_number};
use crate::text::count;
use crate::trust::{self, TrustError};

pub(super) fn of_trust(error: &TrustError) -> Message {
    match error {
        TrustError::NoStateFolder => Message {
            heading: "cannot locate the trust file: HOME is not an absolute path".into(),
            place: None,
            help: "set HOME, or set XDG_STATE_HOME to a folder".into(),
        },
        TrustError::Unreadable { path, cause } => nothing_is_trusted(
            format!("the trust file cannot be read: {}", without_number(cause)),
            path,
            "check who owns it and its folder",
        ),
        TrustError::NotAFile { path } => nothing_is_trusted(
            "expected the trust file but found a folder, a pipe or a device".into(),
            path,
            "remove it, then trust your files again: `hookwright trust`",
        ),
        TrustError::OthersCanWrite { path, mode } => nothing_is_trusted(
            format!("others can write the trust file (mode {mode:03o}, expected 600)"),
            path,
            "they may have changed it: remove it, then trust your files again: `hookwright trust`",
        ),
        TrustError::OfOthers { path, owner } => nothing_is_trusted(
            format!("the trust file belongs to another user (uid {owner})"),
            path,
            "remove it, then trust your files again: `hookwright trust`",
        ),
        TrustError::TooLarge { path, bytes_max } => nothing_is_trusted(
            format!("the trust file has more than {bytes_max} bytes"),
            path,
            "remove it, then trust your files again: `hookwright trust`",
        ),
        TrustError::Newer { path, version } => nothing_is_trusted(
            format!("the trust file has version {version}, expected 1"),
            path,
            "use the newer hookwright, or set XDG_STATE_HOME to another folder",
        ),
        TrustError::Damaged { path, line } => nothing_is_trusted(
            format!("the trust file is damaged at line {line}"),
            path,
            "remove it, then trust your files again: `hookwright trust`",
        ),
        TrustError::NotWritable { path, cause } => Message {
            heading: format!("the trust file cannot be written: {}", without_number(cause)),
            place: Some(path.display().to_string()),
            help: "nothing was changed; check who owns the folder and whether the disk is full"
                .into(),
        },
        TrustError::Busy { path } => Message {
            heading: "another process is holding the lock on the trust file".into(),
            place: Some(path.display().to_string()),
            help: "nothing was changed; end the other `hookwright trust`, then try again".into(),
        },
        TrustError::Full { path, files_max } => Message {
            heading: format!("the trust file is full ({files_max} files)"),
            place: Some(path.display().to_string()),
            help: "find files you no longer need: `hookwright trust --list`; remove them: \
                 `hookwright trust --revoke FILE…`"
                .into(),
        },
    }
}

fn nothing_is_trusted(what: String, path: &Path, help: &str) -> Message {
    Message {
        heading: format!("{what}, so nothing is trusted"),
        place: Some(path.display().to_string()),
        help: help.into(),
    }
}

/// The message about files that a person has to trust first.
pub(super) fn no_terminal_to_ask(places: &[PathBuf]) -> Message {
    let are = if places.len() == 1 { "is" } else { "are" };
    let command = trust::command_to_type(places.iter().map(PathBuf::as_path), true);
    Message {
        heading: format!(
            "{} {are} not trusted, and there is no terminal to ask in",
            count(places.len(), "file")
        ),
        place: None,
        help: format!("read the hooks above, then run: `{command}`"),
    }
}
