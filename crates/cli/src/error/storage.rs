//! What a person can do about the store and about the folders of sessions.

use hookwright_pipeline::folder::FolderError;
use hookwright_store::StoreError;

use super::Message;
use crate::state;

/// What a person can do about a session's folder. Whether there is a session yet depends on when it
/// happened.
pub(super) fn of_folder(error: &FolderError) -> &'static str {
    match error {
        FolderError::RootMissing { .. } => "restore the folder, or change to another project",
        FolderError::NotAFolder { .. } | FolderError::NotAFile { .. } => {
            "move it; then resume a session that had begun: `hookwright resume`"
        }
        FolderError::SymbolicLink { .. } => {
            "replace it with a real file or folder; then resume a session that had begun: \
             `hookwright resume`"
        }
        FolderError::NotWritable { .. } => {
            "check who owns it and whether it is read-only; then resume a session that had begun: \
             `hookwright resume`"
        }
        FolderError::NoRoom { .. } => "free disk space, then resume: `hookwright resume`",
        FolderError::Other { .. } => {
            "fix the problem; then resume a session that had begun: `hookwright resume`"
        }
    }
}

/// What a person can do about the store.
pub(super) fn of_store(error: &StoreError) -> Message {
    let help = match error {
        StoreError::Newer { .. } => {
            "use the newer hookwright, or set XDG_STATE_HOME to another folder"
        }
        StoreError::Damaged { .. } => {
            "nothing was changed; move the file to begin a new store, or restore it from a backup"
        }
        StoreError::NotWritable { .. } => "check who owns the folder and whether it is read-only",
        StoreError::NoDescriptors => "raise the limit on open files (`ulimit -n`)",
        StoreError::Full { .. } => "free disk space, then resume: `hookwright resume`",
        StoreError::Busy { .. } => "another hookwright is using it; try again",
        StoreError::Gone => "restore the file; what was written since then is lost",
        StoreError::Fenced { .. } | StoreError::JournalConflict { .. } => {
            "another process has taken over the session; check `hookwright sessions list`"
        }
        StoreError::RecordConflict { .. } => "another process changed it; try again",
        StoreError::TooLarge { .. } => "make hooks and agents print less",
        StoreError::Io { .. } => "check the disk, then resume: `hookwright resume`",
    };
    let heading = state::location().map_or_else(|_| error.to_string(), |at| error.at(&at));
    Message { heading, place: None, help: help.into() }
}
