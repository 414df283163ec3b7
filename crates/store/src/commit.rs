//! What can be changed at once.

use crate::{JournalKey, Kind, LaneMove, Queued, RecordKey};

/// One change of the store: all of it happens or nothing.
///
/// The parts are done in the order in which they stand here, so that a journal can be dropped and
/// begun anew in one commit.
#[derive(Debug, Clone)]
pub struct Commit<'a> {
    /// How safe it has to be before [`Store::commit`](crate::Store::commit) returns.
    pub durability: Durability,
    /// The lease under which the writer acts.
    pub fence: Option<&'a Fence>,
    /// Journals to forget with all their entries. One that is not there is no error.
    pub drop_journals: Vec<JournalKey>,
    /// Entries for the end of one journal.
    pub append: Option<Append<'a>>,
    /// Records that must be as their reader found them. They stay as they are.
    pub expects: Vec<Expect>,
    /// Records to forget.
    pub deletes: Vec<Delete>,
    /// Records to write.
    pub puts: Vec<Put>,
}

impl Commit<'_> {
    /// An empty commit that is on the disk when it returns, with all commits before it.
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
        }
    }
}

/// How safe a commit is when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// On the disk, and every commit before it too.
    Synced,
    /// With the operating system: safe from the end of this program, not of the machine.
    Unsynced,
}

/// Proof that the writer holds a lease. A commit with a token that has been passed on fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The lease's name.
    pub lease: String,
    /// The token of the grant.
    pub token: u64,
}

/// Entries for the end of a journal.
#[derive(Debug, Clone, Copy)]
pub struct Append<'a> {
    /// Whose journal. One that is not there begins with this.
    pub journal: &'a JournalKey,
    /// The last sequence number that the writer knows; 0 for an empty journal.
    pub expected: u64,
    /// Their values. They get the sequence numbers after `expected`.
    pub entries: &'a [String],
}

/// A record to write.
#[derive(Debug, Clone)]
pub struct Put {
    /// What it is.
    pub kind: Kind,
    /// Whose and which.
    pub key: RecordKey,
    /// What must be there now.
    pub expected: Expected,
    /// What to keep.
    pub value: String,
    /// When it came to be, in milliseconds since 1970. A record that is there keeps its own.
    pub created_at_ms: i64,
    /// A word to filter by.
    pub status: String,
    /// Its place in a queue, if it waits in one.
    pub queued: Option<Queued>,
    /// Records of the same kind and project that it moves from one lane to another.
    pub moves: Option<LaneMove>,
}

/// A record that must be as its reader found it.
#[derive(Debug, Clone)]
pub struct Expect {
    /// What it is.
    pub kind: Kind,
    /// Whose and which.
    pub key: RecordKey,
    /// What must be there now.
    pub expected: Expected,
}

/// A record to forget.
#[derive(Debug, Clone)]
pub struct Delete {
    /// What it is.
    pub kind: Kind,
    /// Whose and which.
    pub key: RecordKey,
    /// What must be there now.
    pub expected: Expected,
}

/// What a writer takes a record to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// There is none.
    Absent,
    /// This version of it is there.
    Version(u64),
    /// Whatever there is, or nothing.
    Any,
}

impl Expected {
    /// Whether what was found is what was expected.
    pub(crate) fn is(self, found: Option<u64>) -> bool {
        match self {
            Self::Absent => found.is_none(),
            Self::Version(version) => found == Some(version),
            Self::Any => true,
        }
    }
}

/// What a commit led to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// The last sequence number of the journal that was appended to; 0 without an append.
    pub last: u64,
    /// The new versions of the records, in the order of the puts. Versions of one store only go up
    /// and none is given twice, so that a record that was deleted and made anew is a different one.
    pub versions: Vec<u64>,
}
