//! Why the store did not do it.

use std::path::PathBuf;
use std::time::Duration;

use crate::{Expected, JournalKey, Kind, RecordKey};

/// Why the store did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The lease has been passed on; the writer has to stop.
    #[error("the lease `{lease}` is no longer held with token {token}")]
    Fenced {
        /// The lease's name.
        lease: String,
        /// What the writer had.
        token: u64,
        /// Who holds it now, if anybody.
        current: Option<u64>,
    },
    /// Somebody else has appended.
    #[error(
        "the journal of `{}` ends at {found}, not at {expected} as its writer thought",
        journal.session
    )]
    JournalConflict {
        /// Whose journal.
        journal: JournalKey,
        /// The last sequence number that the writer knew.
        expected: u64,
        /// The real one.
        found: u64,
    },
    /// Somebody else has changed a record.
    #[error("the {} `{}` is not what its writer thought", kind.word(), key.name)]
    RecordConflict {
        /// What it is.
        kind: Kind,
        /// Whose and which.
        key: RecordKey,
        /// What the writer took it to be.
        expected: Expected,
        /// The version that is there, if any.
        found: Option<u64>,
    },
    /// Over one of the [`limits`](crate::limits).
    #[error("{what}: {found}, and at most {max} are kept")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much there may be.
        max: u64,
    },
    /// A newer program made this store.
    #[error("the store `{}` has version {found}, and this program knows up to {supported}", path.display())]
    Newer {
        /// The store's file.
        path: PathBuf,
        /// The version it has.
        found: i64,
        /// The newest version this program knows.
        supported: i64,
    },
    /// It cannot be read. Nothing was changed.
    #[error("the store `{}` is damaged: {cause}", path.display())]
    Damaged {
        /// The store's file.
        path: PathBuf,
        /// How that shows.
        cause: String,
    },
    /// The folder or the file may not be written.
    #[error("the store `{}` cannot be written: {cause}", path.display())]
    NotWritable {
        /// The store's file.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
    /// No room: the disk, a quota or a limit on file sizes. Nothing was changed, and the store works
    /// again once there is room.
    #[error("there is no room for the store `{}`: {cause}", path.display())]
    Full {
        /// The store's file.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
    /// This process has as many files open as it may.
    #[error("the store `{}` cannot be opened: too many files are open", path.display())]
    NoDescriptors {
        /// The store's file.
        path: PathBuf,
    },
    /// Others kept the store to themselves for too long.
    #[error("the store `{}` was in use by others for {waited:?}", path.display())]
    Busy {
        /// The store's file.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The file was removed or replaced while it was in use; whatever is written would be lost.
    #[error("the store `{}` was removed or replaced while it was in use", path.display())]
    Gone {
        /// The store's file.
        path: PathBuf,
    },
    /// Reading or writing failed in some other way.
    #[error("the store `{}` cannot be used: {cause}", path.display())]
    Io {
        /// The store's file.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
}
