//! [`CountedStore`]: a real store that counts how often it is asked.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use hookwright_store::{
    Acquired, Commit, Committed, Entry, Filter, Heading, Held, JournalKey, Kind, LaneKey, Record,
    RecordKey, SqliteStore, Store, StoreError,
};

/// A store that counts.
pub(crate) struct CountedStore {
    store: SqliteStore,
    /// How often it was asked whether anything has changed.
    changes: AtomicUsize,
    /// How many entries of journals were read.
    entries: AtomicUsize,
    /// How often a journal was read.
    journals: AtomicUsize,
}

impl CountedStore {
    pub(crate) fn open(folder: &Path) -> Self {
        let (changes, entries, journals) = Default::default();
        Self { store: SqliteStore::open(folder).unwrap(), changes, entries, journals }
    }

    pub(crate) fn changes_asked(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }

    pub(crate) fn entries_read(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    pub(crate) fn journals_read(&self) -> usize {
        self.journals.load(Ordering::Relaxed)
    }
}

impl Store for CountedStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        self.store.commit(commit)
    }

    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let entries = self.store.journal(journal, after, limit)?;
        self.journals.fetch_add(1, Ordering::Relaxed);
        self.entries.fetch_add(entries.len(), Ordering::Relaxed);
        Ok(entries)
    }

    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError> {
        self.store.last(journal)
    }

    fn changes(&self) -> Result<u64, StoreError> {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.store.changes()
    }

    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        self.store.get(kind, key)
    }

    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        self.store.list(kind, filter)
    }

    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError> {
        self.store.headings(kind, filter)
    }

    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError> {
        self.store.queue(lane, from_rank, limit)
    }

    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError> {
        self.store.next_lane(behind)
    }

    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError> {
        self.store.queued(prefix)
    }

    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError> {
        self.store.acquire(lease, holder, instead_of)
    }

    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError> {
        self.store.holder(lease)
    }

    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError> {
        self.store.release(lease, token)
    }
}
