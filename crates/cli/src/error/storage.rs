//! What a person can do about the store and about the folders of sessions.

use hookwright_pipeline::folder::FolderError;
use hookwright_store::StoreError;

use super::Message;
use crate::state;

/// What a person can do about a session's folder. Whether there is a session yet depends on when it
/// happened.
pub(super) fn of_folder(error: &FolderError) -> &'static str {
    match error {
        FolderError::RootMissing { .. } => "bring the folder back, or go to another project",
        FolderError::NotAFolder { .. } | FolderError::NotAFile { .. } => {
            "move it away; a session that had begun goes on with `hookwright resume`"
        }
        FolderError::SymbolicLink { .. } => {
            "put a real file or folder there; a session that had begun goes on with `hookwright resume`"
        }
        FolderError::NotWritable { .. } => {
            "see who owns it, and whether it is read-only; a session that had begun goes on with \
             `hookwright resume`"
        }
        FolderError::NoRoom { .. } => "make room, then go on with `hookwright resume`",
        FolderError::Other { .. } => {
            "fix it; a session that had begun goes on with `hookwright resume`"
        }
    }
}

/// What a person can do about the store.
pub(super) fn of_store(error: &StoreError) -> Message {
    let help = match error {
        StoreError::Newer { .. } => "use the newer hookwright, or another XDG_STATE_HOME",
        StoreError::Damaged { .. } => {
            "nothing was changed; move the file away to begin a new store, or bring it back from a \
             backup"
        }
        StoreError::NotWritable { .. } => "see who owns the folder, and whether it is read-only",
        StoreError::NoDescriptors => "raise the limit of open files (`ulimit -n`)",
        StoreError::Full { .. } => "make room, then go on with `hookwright resume`",
        StoreError::Busy { .. } => "another hookwright holds it; try again",
        StoreError::Gone => "bring the file back; what was written since is lost",
        StoreError::Fenced { .. } | StoreError::JournalConflict { .. } => {
            "another process has taken the session over; see `hookwright sessions list`"
        }
        StoreError::RecordConflict { .. } => "another process changed it; try again",
        StoreError::TooLarge { .. } => "let hooks and agents print less",
        StoreError::Io { .. } => "see whether the disk is well, then `hookwright resume`",
    };
    let heading = state::location().map_or_else(|_| error.to_string(), |at| error.at(&at));
    Message { heading, place: None, help: help.into() }
}
