//! What a store had and has no more.

/// Something that was committed and is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// The last entries of a journal, or all of it.
    Entries {
        /// Whose project; a very long path is cut.
        project: String,
        /// Whose session.
        session: String,
        /// How many entries it had.
        had: u64,
        /// How many it has.
        has: u64,
    },
    /// Changes of records: of sessions, tasks, waits or issues.
    Records,
}
