//! Journals: the numbered events of a session.

/// Identifies a session's journal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JournalKey {
    /// The project's path as text.
    pub project: String,
    /// The session's name.
    pub session: String,
}

/// One entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Sequence number, from 1 without gaps.
    pub sequence: u64,
    /// The stored text.
    pub value: String,
}
