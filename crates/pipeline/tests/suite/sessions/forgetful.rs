//! A store in memory that does not take some entries of journals, as if the program had ended there.

use std::sync::Mutex;

use hookwright_store::{
    Acquired, Commit, Committed, Entry, Filter, Heading, Held, JournalKey, Kind, LaneKey,
    MemoryStore, Record, RecordKey, Store, StoreError,
};

/// A store that may forget.
#[derive(Default)]
pub(crate) struct Forgetful {
    kept: MemoryStore,
    /// Entries with this text are not taken, after so many that were.
    refused: Mutex<Option<(&'static str, usize)>>,
    /// What is done to every entry that is read.
    rewritten: Mutex<Option<Rewrite>>,
}

/// Makes another entry of an entry.
type Rewrite = fn(String) -> String;

impl Forgetful {
    /// From now on takes this many entries with this text, and then none.
    pub(crate) fn refuse(&self, text: &'static str, after: usize) {
        *self.refused.lock().expect("nobody panicked") = Some((text, after));
    }

    /// From now on journals read as if another program had written their entries.
    pub(crate) fn rewrite(&self, rewritten: Rewrite) {
        *self.rewritten.lock().expect("nobody panicked") = Some(rewritten);
    }

    /// From now on takes everything.
    pub(crate) fn take_all(&self) {
        *self.refused.lock().expect("nobody panicked") = None;
    }
}

impl Store for Forgetful {
    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        if let Some((text, left)) = &mut *self.refused.lock().expect("nobody panicked")
            && let Some(append) = &commit.append
            && append.entries.iter().any(|entry| entry.contains(*text))
        {
            if *left == 0 {
                let (path, cause) = ("memory".into(), "it is forgetful".to_owned());
                return Err(StoreError::NotWritable { path, cause });
            }
            *left -= 1;
        }
        self.kept.commit(commit)
    }

    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut entries = self.kept.journal(journal, after, limit)?;
        if let Some(rewritten) = *self.rewritten.lock().expect("nobody panicked") {
            for entry in &mut entries {
                entry.value = rewritten(std::mem::take(&mut entry.value));
            }
        }
        Ok(entries)
    }

    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError> {
        self.kept.last(journal)
    }

    fn changes(&self) -> Result<u64, StoreError> {
        self.kept.changes()
    }

    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        self.kept.get(kind, key)
    }

    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        self.kept.list(kind, filter)
    }

    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError> {
        self.kept.headings(kind, filter)
    }

    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError> {
        self.kept.queue(lane, from_rank, limit)
    }

    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError> {
        self.kept.next_lane(behind)
    }

    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError> {
        self.kept.queued(prefix)
    }

    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError> {
        self.kept.acquire(lease, holder, instead_of)
    }

    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError> {
        self.kept.holder(lease)
    }

    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError> {
        self.kept.release(lease, token)
    }
}
