//! [`StoreError`]: why a store failed.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::{Expected, JournalKey, Kind, RecordKey, WorkerId};

/// Why the store failed.
///
/// No variant names the location: the program that opened the store adds it ([`StoreError::at`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// Another process holds the lease now; this writer must stop.
    Fenced {
        /// The lease's name.
        lease: String,
        /// The writer's token.
        token: u64,
        /// The current holder's token, if there is one.
        current: Option<u64>,
    },
    /// Another process has appended to the journal.
    JournalConflict {
        /// The journal.
        journal: JournalKey,
        /// The last sequence number that the writer had read.
        expected: u64,
        /// The actual last sequence number.
        found: u64,
    },
    /// Another process has changed the record.
    RecordConflict {
        /// The kind of record.
        kind: Kind,
        /// Project and name.
        key: RecordKey,
        /// The state that the writer expected.
        expected: Expected,
        /// The stored version, if there is a record.
        found: Option<u64>,
    },
    /// A value exceeds one of the [`limits`](crate::limits).
    TooLarge {
        /// What exceeds its limit.
        what: &'static str,
        /// The actual amount.
        found: u64,
        /// The limit.
        max: u64,
    },
    /// A newer version of the program created this store.
    Newer {
        /// The store's version.
        found: i64,
        /// The newest version that this program supports.
        supported: i64,
    },
    /// The store cannot be read. Nothing was changed.
    Damaged {
        /// Description of the damage.
        cause: String,
    },
    /// The store is not writable.
    NotWritable {
        /// The system's error message.
        cause: String,
    },
    /// No space left: a full disk, a quota or a limit on file sizes. Nothing was changed, and the
    /// store works again once there is space.
    Full {
        /// The system's error message.
        cause: String,
    },
    /// This process has reached its limit of open files.
    NoDescriptors,
    /// Other processes held the lock for too long.
    Busy {
        /// How long this process waited.
        waited: Duration,
    },
    /// The database cannot be reached. What became of a commit is unknown.
    Away {
        /// When the first call failed.
        since: SystemTime,
        /// Description of the failure, without the address.
        cause: String,
    },
    /// The server does not admit the user, or lacks rights for them.
    Denied {
        /// The server's error message, without address and password.
        cause: String,
    },
    /// The server's identity cannot be verified.
    Untrusted {
        /// Why not, without the address.
        cause: String,
    },
    /// The connection has to be encrypted, and the server does not offer that.
    NotEncrypted,
    /// The server is not a Postgres.
    NotPostgres,
    /// The server is a Postgres that is too old.
    ServerTooOld {
        /// The server's version.
        found: String,
        /// The oldest major version that is supported.
        needed: u32,
    },
    /// The database has no store yet.
    NoSchema,
    /// An older version of the program created this store, and it is not upgraded by itself.
    Older {
        /// The store's version.
        found: i64,
        /// The version that this program needs.
        needed: i64,
    },
    /// Other workers have declared this one dead, because its beats did not arrive.
    DeclaredDead {
        /// This process.
        worker: WorkerId,
    },
    /// The store was removed or replaced while it was open; writes would be lost.
    Gone,
    /// Another read or write error.
    Io {
        /// The system's error message.
        cause: String,
    },
}

impl StoreError {
    /// The message with the [location](crate::StoreLocation), so that a person can find the store.
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
            Self::Away { since, cause } => {
                let seconds = since.elapsed().unwrap_or_default().as_secs();
                match seconds {
                    0 => format!("{store} is unreachable: {cause}"),
                    _ => format!("{store} has been unreachable for {seconds} s: {cause}"),
                }
            }
            Self::Denied { cause } => format!("{store} denies access: {cause}"),
            Self::Untrusted { cause } => format!("{store} cannot be trusted: {cause}"),
            Self::NotEncrypted => format!(
                "{store} cannot be trusted: the server does not offer encrypted connections"
            ),
            Self::NotPostgres => format!("{store} is at an address where no Postgres answers"),
            Self::ServerTooOld { found, needed } => {
                format!("{store} is on Postgres {found}, expected at least {needed}")
            }
            Self::NoSchema => format!("{store} is not initialised"),
            Self::Older { found, needed } => {
                format!("{store} has version {found}, expected {needed}")
            }
            Self::DeclaredDead { .. } => {
                format!("{store} got no sign of life from this process, which was declared dead")
            }
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
