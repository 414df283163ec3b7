//! [`StoreError`]: why a store did not do what it was asked for.

use std::fmt;
use std::time::Duration;

use crate::{Expected, JournalKey, Kind, RecordKey};

/// Why the store did not do it.
///
/// No variant says where the store is: the program that opened it knows ([`StoreError::at`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// The lease has been passed on; the writer has to stop.
    Fenced {
        /// The lease's name.
        lease: String,
        /// What the writer had.
        token: u64,
        /// The token of the process that holds it now.
        current: Option<u64>,
    },
    /// Another process has appended.
    JournalConflict {
        /// Whose journal.
        journal: JournalKey,
        /// The last sequence number that the writer knew.
        expected: u64,
        /// The real one.
        found: u64,
    },
    /// Another process has changed a record.
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
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much there may be.
        max: u64,
    },
    /// A newer program made this store.
    Newer {
        /// The version it has.
        found: i64,
        /// The newest version this program knows.
        supported: i64,
    },
    /// It cannot be read. Nothing was changed.
    Damaged {
        /// How that shows.
        cause: String,
    },
    /// It may not be written.
    NotWritable {
        /// What the system says.
        cause: String,
    },
    /// No room: the disk, a quota or a limit on file sizes. Nothing was changed, and the store works
    /// again once there is room.
    Full {
        /// What the system says.
        cause: String,
    },
    /// This process has as many files open as it may.
    NoDescriptors,
    /// Others kept the store to themselves for too long.
    Busy {
        /// How long this process waited.
        waited: Duration,
    },
    /// It was removed or replaced while it was in use; whatever is written would be lost.
    Gone,
    /// Reading or writing failed in some other way.
    Io {
        /// What the system says.
        cause: String,
    },
}

impl StoreError {
    /// The message with the [location](crate::StoreLocation), for a person who has to find the store.
    pub fn at(&self, location: impl fmt::Display) -> String {
        self.about(&format!("the store `{location}`"))
    }

    fn about(&self, store: &str) -> String {
        match self {
            Self::Fenced { lease, token, .. } => {
                format!("the lease `{lease}` is no longer held with token {token}")
            }
            Self::JournalConflict { journal, expected, found } => format!(
                "expected the journal of `{}` to end at {expected} but it ends at {found}",
                journal.session
            ),
            Self::RecordConflict { kind, key, .. } => {
                format!("the {} `{}` was changed by another writer", kind.word(), key.name)
            }
            Self::TooLarge { what, found, max } => {
                format!("{what}: expected at most {max} but found {found}")
            }
            Self::Newer { found, supported } => {
                format!("{store} has version {found}, expected at most {supported}")
            }
            Self::Damaged { cause } => format!("{store} is damaged: {cause}"),
            Self::NotWritable { cause } => format!("{store} cannot be written: {cause}"),
            Self::Full { cause } => format!("no space left for {store}: {cause}"),
            Self::NoDescriptors => format!("{store} cannot be opened: too many files are open"),
            Self::Busy { waited } => format!("other processes kept {store} locked for {waited:?}"),
            Self::Gone => format!("{store} was removed or replaced while it was in use"),
            Self::Io { cause } => format!("{store} cannot be used: {cause}"),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.about("the store"))
    }
}

impl std::error::Error for StoreError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_location_where_that_is_known() {
        let full = StoreError::Full { cause: "quota exceeded".to_owned() };
        assert_eq!(full.to_string(), "no space left for the store: quota exceeded");
        let at = "no space left for the store `/state/store.sqlite3`: quota exceeded";
        assert_eq!(full.at("/state/store.sqlite3"), at);
    }
}
