//! [`Commit`]: changes that a store makes in one transaction.

use crate::{JournalKey, Kind, LaneMove, Queued, RecordKey};

/// One transaction: either all of its changes happen or none.
///
/// The parts are applied in the order of these fields, so that one commit can drop a journal and
/// start it again.
#[derive(Debug, Clone)]
pub struct Commit<'a> {
    /// How safe it has to be before [`Store::commit`](crate::Store::commit) returns.
    pub durability: Durability,
    /// The lease under which the writer acts.
    pub fence: Option<&'a Fence>,
    /// Journals to delete with all their entries. A missing one is not an error.
    pub drop_journals: Vec<JournalKey>,
    /// Entries to append to one journal.
    pub append: Option<Append<'a>>,
    /// Records that must be unchanged since they were read. The commit does not change them.
    pub expects: Vec<Expect>,
    /// Records to delete.
    pub deletes: Vec<Delete>,
    /// Records to write.
    pub puts: Vec<Put>,
    /// Whether the fence's lease is released with it.
    pub releases_lease: bool,
}

impl Commit<'_> {
    /// An empty commit that is on the disk when it returns, together with all commits before it.
    #[must_use]
    pub fn synced() -> Self {
        Self::empty(Durability::Synced)
    }

    /// An empty commit that survives the end of the program.
    #[must_use]
    pub fn unsynced() -> Self {
        Self::empty(Durability::Unsynced)
    }

    fn empty(durability: Durability) -> Self {
        Self {
            durability,
            fence: None,
            drop_journals: Vec::new(),
            append: None,
            expects: Vec::new(),
            deletes: Vec::new(),
            puts: Vec::new(),
            releases_lease: false,
        }
    }
}

/// How safe a commit is when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// On the disk, and every commit before it too.
    Synced,
    /// Handed to the operating system: survives the end of this program, not of the machine.
    Unsynced,
}

/// Proof that the writer holds a lease. The commit fails if another process got the lease since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The lease's name.
    pub lease: String,
    /// The token that the lease was granted with.
    pub token: u64,
}

/// Entries to append to a journal.
#[derive(Debug, Clone, Copy)]
pub struct Append<'a> {
    /// Project and session. A missing journal is created.
    pub journal: &'a JournalKey,
    /// The last sequence number that the writer has read; 0 for an empty journal.
    pub expected: u64,
    /// Values of the entries, which get the sequence numbers after `expected`.
    pub entries: &'a [String],
}

/// A record to write.
#[derive(Debug, Clone)]
pub struct Put {
    /// The kind of record.
    pub kind: Kind,
    /// Project and name.
    pub key: RecordKey,
    /// The state that the writer expects the record to be in.
    pub expected: Expected,
    /// The new value.
    pub value: String,
    /// Creation time in milliseconds since 1970. An existing record keeps its own.
    pub created_at_ms: i64,
    /// A word that [`Filter`](crate::Filter) can select by.
    pub status: String,
    /// Position in a queue, if the record waits in one.
    pub queued: Option<Queued>,
    /// Moves records of the same kind and project from one lane to another.
    pub moves: Option<LaneMove>,
}

/// A record that must be unchanged since it was read.
#[derive(Debug, Clone)]
pub struct Expect {
    /// The kind of record.
    pub kind: Kind,
    /// Project and name.
    pub key: RecordKey,
    /// The state that the writer expects the record to be in.
    pub expected: Expected,
}

/// A record to delete.
#[derive(Debug, Clone)]
pub struct Delete {
    /// The kind of record.
    pub kind: Kind,
    /// Project and name.
    pub key: RecordKey,
    /// The state that the writer expects the record to be in.
    pub expected: Expected,
}

/// The state that a writer expects a record to be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The record does not exist.
    Absent,
    /// The record has this version.
    Version(u64),
    /// Any state: the writer overwrites whatever is stored.
    Any,
}

impl Expected {
    /// Whether the stored version (`None` for no record) matches.
    pub(crate) fn is(self, found: Option<u64>) -> bool {
        match self {
            Self::Absent => found.is_none(),
            Self::Version(version) => found == Some(version),
            Self::Any => true,
        }
    }
}

/// Result of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// Last sequence number of the journal that was appended to; 0 without an append.
    pub last: u64,
    /// The new versions of the records, in the order of the puts. The versions of a store only rise
    /// and are never reused, so a record that was deleted and created again has another version.
    pub versions: Vec<u64>,
}
