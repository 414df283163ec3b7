//! [`Loss`]: committed data that a store no longer has.

/// Committed data that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// The last entries of a journal, or all of it.
    Entries {
        /// The project; a very long path is cut.
        project: String,
        /// The session.
        session: String,
        /// How many entries the journal had.
        had: u64,
        /// How many it still has.
        has: u64,
    },
    /// Changes of records: of sessions, tasks, waits or issues.
    Records,
}
