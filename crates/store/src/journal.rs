//! Journals: what happened in a session, numbered from 1.

/// Whose journal.
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
    /// Its number: 1 for the first, without gaps.
    pub sequence: u64,
    /// What was written.
    pub value: String,
}
