//! A store in memory: the same meaning as the one on disk, gone with the program.
//!
//! For tests and for hosts that keep nothing. It grows with what is put into it; nothing makes room.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::page::Page;
use crate::{
    Acquired, Append, Commit, Committed, Delete, Entry, Fence, Filter, Held, JournalKey, Kind,
    Place, Put, Record, RecordKey, Store, StoreError, limits,
};

/// A store in memory. Every commit is as safe as the program itself.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in the middle of a change has passed `Changes`, which has put everything back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        limits::check_commit(commit)?;
        let mut state = self.state();
        if let Some(fence) = commit.fence {
            state.check(fence)?;
        }
        let mut changes = Changes { state: &mut state, undo: Vec::new() };
        let committed = changes.make(commit)?;
        changes.undo.clear();
        changes.state.changes += 1;
        Ok(committed)
    }

    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let state = self.state();
        let values = state.journals.get(journal).map_or(&[][..], Vec::as_slice);
        let skipped = usize::try_from(after).unwrap_or(usize::MAX);
        let mut page = Page::new(limit.min(limits::ENTRIES_PER_PAGE_MAX));
        for (sequence, value) in (1..).zip(values).skip(skipped) {
            if !page.has_room(value.len()) {
                break;
            }
            page.push(Entry { sequence, value: value.clone() }, value.len());
        }
        Ok(page.into_items())
    }

    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError> {
        Ok(self.state().last(journal))
    }

    fn changes(&self) -> Result<u64, StoreError> {
        Ok(self.state().changes)
    }

    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        Ok(self.state().records.get(&(kind, key.clone())).cloned())
    }

    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        limits::check_statuses(&filter.statuses)?;
        let state = self.state();
        let of_kind = state.records.iter().filter(|((other, _), _)| *other == kind);
        let mut found: Vec<&Record> =
            of_kind.map(|(_, record)| record).filter(|record| passes(filter, record)).collect();
        found.sort_by_key(|record| std::cmp::Reverse(record.place));
        let mut page = Page::new(filter.limit.min(limits::RECORDS_PER_PAGE_MAX));
        for record in found {
            if !page.has_room(record.value.len()) {
                break;
            }
            page.push(record.clone(), record.value.len());
        }
        Ok(page.into_items())
    }

    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError> {
        limits::check_lease(lease, holder)?;
        let mut state = self.state();
        if let Some(held) = state.leases.get(lease)
            && instead_of != Some(held.token)
        {
            return Ok(Acquired::Held(held.clone()));
        }
        let token = state.next_revision();
        state.changes += 1;
        state.leases.insert(lease.to_owned(), Held { holder: holder.to_owned(), token });
        Ok(Acquired::Granted { token })
    }

    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError> {
        Ok(self.state().leases.get(lease).cloned())
    }

    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError> {
        let mut state = self.state();
        let is_held = state.leases.get(lease).is_some_and(|held| held.token == token);
        if is_held {
            state.leases.remove(lease);
            state.changes += 1;
        }
        Ok(is_held)
    }
}

fn passes(filter: &Filter, record: &Record) -> bool {
    filter.project.as_ref().is_none_or(|project| *project == record.key.project)
        && (filter.statuses.is_empty() || filter.statuses.contains(&record.status))
        && filter.name_prefix.as_ref().is_none_or(|prefix| record.key.name.starts_with(prefix))
        && filter.before.is_none_or(|before| record.place < before)
}

#[derive(Debug, Default)]
struct State {
    journals: HashMap<JournalKey, Vec<String>>,
    records: BTreeMap<(Kind, RecordKey), Record>,
    leases: HashMap<String, Held>,
    /// Versions and tokens: goes up with each that is given.
    revision: u64,
    inserted: u64,
    /// Goes up with everything that changes.
    changes: u64,
}

impl State {
    fn check(&self, fence: &Fence) -> Result<(), StoreError> {
        let current = self.leases.get(&fence.lease).map(|held| held.token);
        if current == Some(fence.token) {
            return Ok(());
        }
        Err(StoreError::Fenced { lease: fence.lease.clone(), token: fence.token, current })
    }

    fn last(&self, journal: &JournalKey) -> u64 {
        self.journals.get(journal).map_or(0, Vec::len) as u64
    }

    fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }
}

/// The changes of one commit; unless it comes to its end, all of them are taken back.
struct Changes<'a> {
    state: &'a mut State,
    undo: Vec<Undo>,
}

/// How one change is taken back.
enum Undo {
    Journal { key: JournalKey, values: Option<Vec<String>> },
    Append { key: JournalKey, len: usize },
    Record { key: (Kind, RecordKey), record: Option<Record> },
}

impl Changes<'_> {
    fn make(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        for journal in &commit.drop_journals {
            let values = self.state.journals.remove(journal);
            self.undo.push(Undo::Journal { key: journal.clone(), values });
        }
        let last = commit.append.as_ref().map(|append| self.append(append)).transpose()?;
        for delete in &commit.deletes {
            self.delete(delete)?;
        }
        let versions = commit.puts.iter().map(|put| self.put(put)).collect::<Result<_, _>>()?;
        Ok(Committed { last: last.unwrap_or_default(), versions })
    }

    fn append(&mut self, append: &Append<'_>) -> Result<u64, StoreError> {
        let (key, found) = (append.journal.clone(), self.state.last(append.journal));
        if found != append.expected {
            let expected = append.expected;
            return Err(StoreError::JournalConflict { journal: key, expected, found });
        }
        let last = limits::check_journal(found, append.entries.len())?;
        let values = self.state.journals.entry(key.clone()).or_default();
        self.undo.push(Undo::Append { key, len: values.len() });
        values.extend_from_slice(append.entries);
        Ok(last)
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), StoreError> {
        let key = (delete.kind, delete.key.clone());
        let found = self.state.records.get(&key).map(|record| record.version);
        if !delete.expected.is(found) {
            let (kind, key) = key;
            let expected = delete.expected;
            return Err(StoreError::RecordConflict { kind, key, expected, found });
        }
        let record = self.state.records.remove(&key);
        self.undo.push(Undo::Record { key, record });
        Ok(())
    }

    fn put(&mut self, put: &Put) -> Result<u64, StoreError> {
        let key = (put.kind, put.key.clone());
        let there = self.state.records.get(&key);
        let (found, place) = (there.map(|record| record.version), there.map(|record| record.place));
        if !put.expected.is(found) {
            let (kind, key) = key;
            return Err(StoreError::RecordConflict { kind, key, expected: put.expected, found });
        }
        let version = self.state.next_revision();
        let place = place.unwrap_or_else(|| {
            self.state.inserted += 1;
            Place { created_at_ms: put.created_at_ms, inserted: self.state.inserted }
        });
        let (status, value) = (put.status.clone(), put.value.clone());
        let record = Record { key: put.key.clone(), version, place, status, value };
        let record = self.state.records.insert(key.clone(), record);
        self.undo.push(Undo::Record { key, record });
        Ok(version)
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        for undo in self.undo.drain(..).rev() {
            match undo {
                Undo::Journal { key, values: Some(values) } => {
                    self.state.journals.insert(key, values);
                }
                Undo::Journal { key: _, values: None } => {}
                Undo::Append { key, len } => {
                    if let Some(values) = self.state.journals.get_mut(&key) {
                        values.truncate(len);
                    }
                }
                Undo::Record { key, record: Some(record) } => {
                    self.state.records.insert(key, record);
                }
                Undo::Record { key, record: None } => {
                    self.state.records.remove(&key);
                }
            }
        }
    }
}
