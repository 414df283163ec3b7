//! The one trait. What a commit is made of stands in `commit.rs`.

use crate::{
    Acquired, Commit, Committed, Entry, Filter, Heading, Held, JournalKey, Kind, LaneKey, Loss,
    Reclaimed, Record, RecordKey, Rewrite, StoreError,
};

/// Sessions, the journal of each, waits and tasks. The promises stand on the crate's front page.
pub trait Store: Send + Sync {
    /// Does all of it or nothing. Returns when it is as safe as its durability asks.
    ///
    /// [`StoreError::Fenced`], [`StoreError::JournalConflict`], [`StoreError::RecordConflict`] and
    /// [`StoreError::TooLarge`] mean that nothing has changed. After [`StoreError::Io`] it may or may
    /// not have happened; whoever goes on asks for [`Store::last`] first.
    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError>;

    /// Entries of a journal with a sequence number above `after`, oldest first.
    ///
    /// At most `limit`, at most [`limits::ENTRIES_PER_PAGE_MAX`](crate::limits::ENTRIES_PER_PAGE_MAX),
    /// and about [`limits::PAGE_BYTES_MAX`](crate::limits::PAGE_BYTES_MAX) of values, but always one
    /// if there is one: the end of a journal is an empty page. [`entries`](crate::entries) reads on
    /// until then.
    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// The last sequence number of a journal; 0 if it has no entry.
    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError>;

    /// A number that is another one once anything was committed, by whomever: the cheapest way to
    /// see that there is nothing new. It says so only beside another one of the same value.
    fn changes(&self) -> Result<u64, StoreError>;

    /// One record.
    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError>;

    /// Records that pass the filter, newest first.
    ///
    /// At most as many as the filter says, at most
    /// [`limits::RECORDS_PER_PAGE_MAX`](crate::limits::RECORDS_PER_PAGE_MAX), and bounded in bytes
    /// as [`Store::journal`] is: the end is an empty page. [`records`](crate::records) reads on
    /// until then.
    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError>;

    /// The headings of the records that [`Store::list`] would return: no value is read.
    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError>;

    /// Records of a lane from this rank on, each with its rank, lowest rank first. A page is bounded as
    /// [`Store::list`] is.
    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError>;

    /// The first lane of the same kind and project behind this one, by name. The lane itself need not exist.
    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError>;

    /// How many records the lanes have whose names begin so.
    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError>;

    /// Takes a lease: granted if nobody holds it, or if `instead_of` is the token of whoever holds
    /// it now, because the caller has found that holder dead. Each grant has a new, higher token.
    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError>;

    /// Who holds a lease.
    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError>;

    /// Gives a lease back; `false` if this token does not hold it (any more).
    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError>;

    /// What had been committed and was gone when the store was opened. It is told once: a store that
    /// is opened after this call has lost nothing, unless it cannot be written.
    fn take_losses(&self) -> Vec<Loss>;

    /// Deletes what is left of forgotten journals, and gives free space back to the system. Both are done a
    /// little at a time, so that other writers need not wait; one that is killed meanwhile leaves the rest to
    /// the next call.
    ///
    /// The file of an older version cannot shrink before it was written anew; see [`Rewrite`].
    fn reclaim(&self, rewrite: Rewrite) -> Result<Reclaimed, StoreError>;
}
