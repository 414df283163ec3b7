//! [`WatchedStore`], for tests: passes calls on to another store and counts reads. A test can also
//! act before each commit, and change the entries that are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use crate::{
    Acquired, ClaimRequest, ClaimedRecord, Commit, Committed, Entry, Filter, Heading, Held,
    JournalKey, Kind, LaneKey, Living, Loss, Reclaimed, Record, RecordKey, Rewrite, Store,
    StoreError, Workers,
};

/// A test's function that runs before each commit; an error prevents the commit.
type BeforeCommit = Box<dyn Fn(&Commit<'_>) -> Result<(), StoreError> + Send + Sync>;

/// Rewrites an entry of a journal as it is read.
type RewriteEntry = Box<dyn Fn(String) -> String + Send + Sync>;

/// A store that a test watches.
pub struct WatchedStore {
    behind: Arc<dyn Store>,
    before_commit: BeforeCommit,
    rewrite: RewriteEntry,
    records: AtomicUsize,
    entries: AtomicUsize,
    journals: AtomicUsize,
    changes: AtomicUsize,
    living: Option<Arc<dyn Living>>,
    never_on: Option<ThreadId>,
}

impl WatchedStore {
    /// Wraps this store.
    pub fn new(behind: Arc<dyn Store>) -> Self {
        let (records, entries, journals, changes) = Default::default();
        let (before_commit, rewrite): (BeforeCommit, RewriteEntry) =
            (Box::new(|_| Ok(())), Box::new(|entry| entry));
        let (living, never_on) = (None, None);
        Self {
            behind,
            before_commit,
            rewrite,
            records,
            entries,
            journals,
            changes,
            living,
            never_on,
        }
    }

    /// Calls this function before each commit.
    #[must_use]
    pub fn before_commit(
        self,
        before: impl Fn(&Commit<'_>) -> Result<(), StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self { before_commit: Box::new(before), ..self }
    }

    /// Passes each entry that is read through this function.
    #[must_use]
    pub fn rewriting(self, rewrite: impl Fn(String) -> String + Send + Sync + 'static) -> Self {
        Self { rewrite: Box::new(rewrite), ..self }
    }

    /// Judges holders itself, in this way.
    #[must_use]
    pub fn judging(self, living: Arc<dyn Living>) -> Self {
        Self { living: Some(living), ..self }
    }

    /// Says that it is remote. From now on calls on this thread panic: they would block it while the
    /// store is away.
    #[must_use]
    pub fn remote(self) -> Self {
        Self { never_on: Some(thread::current().id()), ..self }
    }

    /// How many records were read.
    pub fn records_read(&self) -> usize {
        self.records.load(Ordering::Relaxed)
    }

    /// How many entries of journals were read.
    pub fn entries_read(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// How often a journal was read.
    pub fn journals_read(&self) -> usize {
        self.journals.load(Ordering::Relaxed)
    }

    /// How often [`Store::changes`] was called.
    pub fn changes_asked(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }

    fn behind(&self) -> &dyn Store {
        let here = thread::current().id();
        assert_ne!(self.never_on, Some(here), "a remote store is called on a session's thread");
        &*self.behind
    }

    fn read_records<T>(&self, found: Vec<T>) -> Vec<T> {
        self.records.fetch_add(found.len(), Ordering::Relaxed);
        found
    }
}

impl Store for WatchedStore {
    fn is_remote(&self) -> bool {
        self.never_on.is_some() || self.behind.is_remote()
    }

    fn now_ms(&self) -> i64 {
        self.behind.now_ms()
    }

    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        (self.before_commit)(commit)?;
        self.behind().commit(commit)
    }

    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut entries = self.behind().journal(journal, after, limit)?;
        self.journals.fetch_add(1, Ordering::Relaxed);
        self.entries.fetch_add(entries.len(), Ordering::Relaxed);
        for entry in &mut entries {
            entry.value = (self.rewrite)(std::mem::take(&mut entry.value));
        }
        Ok(entries)
    }

    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError> {
        self.behind().last(journal)
    }

    fn changes(&self) -> Result<u64, StoreError> {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.behind().changes()
    }

    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        self.records.fetch_add(1, Ordering::Relaxed);
        self.behind().get(kind, key)
    }

    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        Ok(self.read_records(self.behind().list(kind, filter)?))
    }

    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError> {
        Ok(self.read_records(self.behind().headings(kind, filter)?))
    }

    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError> {
        Ok(self.read_records(self.behind().queue(lane, from_rank, limit)?))
    }

    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError> {
        self.records.fetch_add(1, Ordering::Relaxed);
        self.behind().next_lane(behind)
    }

    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError> {
        self.behind().queued(prefix)
    }

    fn claim(&self, request: &ClaimRequest<'_>) -> Result<Option<ClaimedRecord>, StoreError> {
        let claimed = self.behind().claim(request)?;
        self.records.fetch_add(usize::from(claimed.is_some()), Ordering::Relaxed);
        Ok(claimed)
    }

    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError> {
        self.behind().acquire(lease, holder, instead_of)
    }

    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError> {
        self.behind().holder(lease)
    }

    fn living(&self) -> Option<Arc<dyn Living>> {
        self.living.clone().or_else(|| self.behind.living())
    }

    fn workers(&self) -> Option<Arc<dyn Workers>> {
        self.behind.workers()
    }

    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError> {
        self.behind().release(lease, token)
    }

    fn take_losses(&self) -> Vec<Loss> {
        self.behind().take_losses()
    }

    fn reclaim(&self, rewrite: Rewrite) -> Result<Reclaimed, StoreError> {
        self.behind().reclaim(rewrite)
    }
}
