//! Advice about the store and the folders of sessions.

use hookwright_pipeline::folder::FolderError;
use hookwright_store::{StoreError, StoreLocation};

use super::Message;
use crate::{state, store_settings};

/// Advice about a session's folder. Whether the session exists depends on the moment of the error.
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

/// Whether the user's store is a database.
fn is_database() -> bool {
    matches!(state::location(), Ok(StoreLocation::Postgres(_)))
}

/// The message if a command needs a database and the store is a file.
pub(super) fn no_database() -> Message {
    Message {
        heading: "the store is a file on this machine, expected a database".into(),
        place: None,
        help: "write `store: postgres://USER@HOST/DATABASE` into ~/.config/hookwright/store.yaml"
            .into(),
    }
}

/// The message if this machine has no store to move.
pub(super) fn nothing_to_move() -> Message {
    Message {
        heading: "there is no store on this machine, so there is nothing to move".into(),
        place: state::folder().ok().map(|folder| StoreLocation::Folder(folder).to_string()),
        help: "begin a session: `hookwright run FILE`".into(),
    }
}

/// The message about an error of the store.
pub(super) fn of_store(error: &StoreError) -> Message {
    let help = match error {
        StoreError::Newer { .. } if is_database() => "use the newer hookwright on this machine too",
        StoreError::Newer { .. } => {
            "use the newer hookwright, or set XDG_STATE_HOME to another folder"
        }
        StoreError::Older { .. } => "upgrade it: `hookwright store upgrade`",
        StoreError::NoSchema => "initialise it: `hookwright store init`",
        StoreError::Away { .. } => {
            "check that the database runs and the network reaches it, then try again; a session that \
             was cut off continues with `hookwright resume`"
        }
        StoreError::Denied { .. } => {
            "check user, password and rights; an administrator creates both with `CREATE ROLE USER \
             LOGIN PASSWORD '…'` and `CREATE DATABASE DATABASE OWNER USER` (docs/machines.md)"
        }
        StoreError::Untrusted { .. } => {
            "check the server's certificate: the address needs a host that it names; name its \
             authority with `root_certificate: FILE` in store.yaml"
        }
        StoreError::NotEncrypted => "turn `ssl` on in the server's settings",
        StoreError::NotPostgres => "check host and port of the address",
        StoreError::ServerTooOld { .. } => "upgrade the server",
        StoreError::NotWritable { .. } if is_database() => {
            "name the primary server in the address, not a standby"
        }
        StoreError::Damaged { .. } => {
            "nothing was changed; move the file to begin a new store, or restore it from a backup"
        }
        StoreError::NotWritable { .. } => "check who owns the folder and whether it is read-only",
        StoreError::NoDescriptors => "raise the limit on open files (`ulimit -n`)",
        StoreError::Full { .. } if is_database() => {
            "free space on the disk of the database server, then resume: `hookwright resume`"
        }
        StoreError::Full { .. } => "free disk space, then resume: `hookwright resume`",
        StoreError::Busy { .. } => "another hookwright is using it; try again",
        StoreError::DeclaredDead { .. } => {
            "check the network between this machine and the database, then resume the session: \
             `hookwright resume`"
        }
        StoreError::Gone => "restore the file; what was written since then is lost",
        StoreError::Fenced { .. } | StoreError::JournalConflict { .. } => {
            "another process has taken over the session; check `hookwright sessions list`"
        }
        StoreError::RecordConflict { .. } => "another process changed it; try again",
        StoreError::TooLarge { .. } => "make hooks and agents print less",
        StoreError::Io { .. } if is_database() => "run `hookwright store check`",
        StoreError::Io { .. } => "check the disk, then resume: `hookwright resume`",
    };
    let heading = state::location().map_or_else(|_| error.to_string(), |at| error.at(&at));
    let place = is_about_location(error).then(store_settings::place).flatten();
    Message { heading, place, help: help.into() }
}

/// Whether another location of the store would help. Otherwise its setting is not shown.
fn is_about_location(error: &StoreError) -> bool {
    match error {
        StoreError::Fenced { .. }
        | StoreError::JournalConflict { .. }
        | StoreError::RecordConflict { .. }
        | StoreError::TooLarge { .. }
        | StoreError::NoDescriptors
        | StoreError::DeclaredDead { .. } => false,
        StoreError::Newer { .. }
        | StoreError::Older { .. }
        | StoreError::Damaged { .. }
        | StoreError::NotWritable { .. }
        | StoreError::Full { .. }
        | StoreError::Busy { .. }
        | StoreError::Away { .. }
        | StoreError::Denied { .. }
        | StoreError::Untrusted { .. }
        | StoreError::NotEncrypted
        | StoreError::NotPostgres
        | StoreError::ServerTooOld { .. }
        | StoreError::NoSchema
        | StoreError::Gone
        | StoreError::Io { .. } => true,
    }
}

/// The same for a session of the built-in agent, which `hookwright resume` does not continue.
pub(super) fn of_agents_store(error: &StoreError) -> Message {
    let first = match error {
        StoreError::Full { .. } => "free disk space",
        StoreError::Io { .. } if !is_database() => "check the disk",
        StoreError::Away { .. } => "check that the database runs and the network reaches it",
        StoreError::DeclaredDead { .. } => {
            "check the network between this machine and the database"
        }
        _ => return of_store(error),
    };
    let help = format!(
        "{first}, then run the agent again; `--continue` goes on with a session that had begun"
    );
    Message { help, ..of_store(error) }
}
