//! [`Store`]: the trait of all stores. The parts of a commit are in `commit.rs`.

use std::sync::Arc;
use std::time::SystemTime;

use crate::{
    Acquired, ClaimRequest, ClaimedRecord, Commit, Committed, Entry, Filter, Heading, Held,
    JournalKey, Kind, LaneKey, Living, Loss, Reclaimed, Record, RecordKey, Rewrite, StoreError,
    Workers,
};

/// Storage of sessions, their journals, waits and tasks. The crate's documentation has the
/// promises.
pub trait Store: Send + Sync {
    /// Whether calls go over a network, and may take as long as that is down. A caller whose thread
    /// has to stay free then makes them on another one.
    fn is_remote(&self) -> bool {
        false
    }

    /// The store's time, in milliseconds since 1970. Whatever is compared with times of records
    /// follows it: deadlines, the order of lists, and how long something is kept. A machine whose
    /// clock is wrong then does no harm to others that share the store. It is read without a call.
    fn now_ms(&self) -> i64 {
        system_ms()
    }

    /// Makes all changes or none. Returns once they are as safe as the durability requires.
    ///
    /// After [`StoreError::Fenced`], [`StoreError::JournalConflict`],
    /// [`StoreError::RecordConflict`] and [`StoreError::TooLarge`], nothing has changed. After
    /// [`StoreError::Io`], the commit may or may not have happened; read [`Store::last`] before
    /// continuing.
    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError>;

    /// Entries of a journal with a sequence number above `after`, oldest first.
    ///
    /// At most `limit`, at most
    /// [`limits::ENTRIES_PER_PAGE_MAX`](crate::limits::ENTRIES_PER_PAGE_MAX), and about
    /// [`limits::PAGE_BYTES_MAX`](crate::limits::PAGE_BYTES_MAX) of values, but at least one if
    /// there is one: an empty page is the end. [`entries`](crate::entries) reads all pages.
    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// The last sequence number of a journal; 0 if it has no entry.
    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError>;

    /// A number that changes with every commit of any process: the cheapest check for news. Only
    /// equality with an earlier value means anything.
    fn changes(&self) -> Result<u64, StoreError>;

    /// One record.
    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError>;

    /// Records that match the filter, newest first.
    ///
    /// At most the filter's limit, at most
    /// [`limits::RECORDS_PER_PAGE_MAX`](crate::limits::RECORDS_PER_PAGE_MAX), and bounded in bytes
    /// like [`Store::journal`]: an empty page is the end. [`records`](crate::records) reads all
    /// pages.
    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError>;

    /// The headings of the records that [`Store::list`] would return, without reading values.
    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError>;

    /// Records of a lane from this rank on, each with its rank, lowest rank first. A page is
    /// bounded like [`Store::list`].
    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError>;

    /// The next lane of the same kind and project, by name. The given lane need not exist.
    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError>;

    /// The number of records in all lanes with this prefix.
    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError>;

    /// Takes the first record that is ready, if there is one: chooses it, grants its lease and writes
    /// its new state in one transaction.
    ///
    /// After [`StoreError::Fenced`] and [`StoreError::TooLarge`], nothing has changed. After
    /// [`StoreError::Io`], a record may have been claimed; its status and note tell.
    fn claim(&self, request: &ClaimRequest<'_>) -> Result<Option<ClaimedRecord>, StoreError>;

    /// Takes a lease: granted if it is free, or if `instead_of` is the current holder's token
    /// because the caller has found that holder dead. A store that has workers refuses that while
    /// it believes the holder to live. Each grant has a new, higher token.
    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError>;

    /// The holder of a lease.
    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError>;

    /// The store's own judgement of who is alive. `None` if it knows nothing of processes.
    fn living(&self) -> Option<Arc<dyn Living>> {
        None
    }

    /// The workers, for a store that several machines share.
    fn workers(&self) -> Option<Arc<dyn Workers>> {
        None
    }

    /// Releases a lease; `false` if this token does not hold it (any more).
    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError>;

    /// Committed data that was missing when the store was opened. Reported once: a store that is
    /// opened after this call has no losses, unless it is not writable.
    fn take_losses(&self) -> Vec<Loss>;

    /// Deletes the entries of dropped journals and gives free space back to the system, in small
    /// steps, so that other writers need not wait. If it is killed, the next call continues.
    ///
    /// The file of an older version cannot shrink until it is rewritten; see [`Rewrite`].
    fn reclaim(&self, rewrite: Rewrite) -> Result<Reclaimed, StoreError>;
}

/// This machine's time, in milliseconds since 1970.
pub(crate) fn system_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
