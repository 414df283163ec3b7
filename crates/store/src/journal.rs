//! Journals: what happened in a session, numbered from 1.

use crate::page::one_by_one;
use crate::{Store, StoreError, limits};

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

/// All entries above `after`, oldest first, page by page: memory stays flat however long the journal
/// is. Ends after the first error.
pub fn entries<'a>(
    store: &'a dyn Store,
    journal: &'a JournalKey,
    after: u64,
) -> impl Iterator<Item = Result<Entry, StoreError>> + 'a {
    let mut after = after;
    let pages = std::iter::from_fn(move || {
        let page = store.journal(journal, after, limits::ENTRIES_READ_AT_ONCE);
        if let Ok(entries) = &page {
            after = entries.last()?.sequence;
        }
        Some(page)
    });
    one_by_one(pages)
}
