//! A store in memory: the same meaning as the one on disk, gone with the program.
//!
//! For tests and for hosts that keep nothing. It grows with what is put into it; nothing makes room.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::page::Page;
use crate::{
    Acquired, Append, Commit, Committed, Delete, Entry, Expected, Fence, Filter, Heading, Held,
    JournalKey, Kind, LaneKey, LaneMove, Place, Put, Queued, Record, RecordKey, Store, StoreError,
    limits,
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
        let state = self.state();
        Ok(state.records.get(&(kind, key.clone())).map(|kept| kept.record.clone()))
    }

    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        limits::check_statuses(&filter.statuses)?;
        let state = self.state();
        let of_kind = state.records.iter().filter(|((other, _), _)| *other == kind);
        let mut found: Vec<&Record> =
            of_kind.map(|(_, kept)| &kept.record).filter(|record| passes(filter, record)).collect();
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

    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError> {
        let records = self.list(kind, filter)?.into_iter();
        let heading = |record: Record| Heading {
            name: record.key.name,
            status: record.status,
            place: record.place,
        };
        Ok(records.map(heading).collect())
    }

    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError> {
        let state = self.state();
        let mut page = Page::new(limit.min(limits::RECORDS_PER_PAGE_MAX));
        for ((_, _, _, rank, _), key) in state.lane(lane, from_rank) {
            let Some(Kept { record, .. }) = state.records.get(&(lane.kind, key.clone())) else {
                continue;
            };
            if !page.has_room(record.value.len()) {
                break;
            }
            page.push((*rank, record.clone()), record.value.len());
        }
        Ok(page.into_items())
    }

    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError> {
        let state = self.state();
        let (kind, project) = (behind.kind, behind.project);
        let mut from = lane_place(behind, i64::MAX);
        from.4 = u64::MAX;
        let next = state.lanes.range((Bound::Excluded(from), Bound::Unbounded)).next();
        let next = next.filter(|((of, whose, ..), _)| *of == kind && whose == project);
        Ok(next.map(|((_, _, lane, ..), _)| lane.clone()))
    }

    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError> {
        let state = self.state();
        let lanes = state.lanes.range(lane_place(prefix, i64::MIN)..);
        let count = lanes
            .take_while(|((kind, project, lane, ..), _)| {
                *kind == prefix.kind && project == prefix.project && lane.starts_with(prefix.lane)
            })
            .count();
        Ok(count as u64)
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

/// A record, and where it waits.
#[derive(Debug, Clone)]
struct Kept {
    record: Record,
    queued: Option<Queued>,
}

/// Kind, project, lane, rank and insertion: the order of queues.
type LanePlace = (Kind, String, String, i64, u64);

fn lane_place(lane: LaneKey<'_>, rank: i64) -> LanePlace {
    (lane.kind, lane.project.to_owned(), lane.lane.to_owned(), rank, 0)
}

#[derive(Debug, Default)]
struct State {
    journals: HashMap<JournalKey, Vec<String>>,
    records: BTreeMap<(Kind, RecordKey), Kept>,
    /// The records that wait in queues.
    lanes: BTreeMap<LanePlace, RecordKey>,
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

    /// What is in a lane from this rank on.
    fn lane(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
    ) -> impl Iterator<Item = (&LanePlace, &RecordKey)> {
        let mut last = lane_place(lane, i64::MAX);
        last.4 = u64::MAX;
        self.lanes.range(lane_place(lane, from_rank)..=last)
    }

    /// Keeps a record, or forgets it; returns what was there.
    fn set(&mut self, key: &(Kind, RecordKey), kept: Option<Kept>) -> Option<Kept> {
        let place = |kept: &Kept| {
            let Queued { lane, rank } = kept.queued.clone()?;
            Some((key.0, key.1.project.clone(), lane, rank, kept.record.place.inserted))
        };
        let new = kept.as_ref().and_then(place);
        let before = match kept {
            Some(kept) => self.records.insert(key.clone(), kept),
            None => self.records.remove(key),
        };
        if let Some(place) = before.as_ref().and_then(place) {
            self.lanes.remove(&place);
        }
        if let Some(place) = new {
            self.lanes.insert(place, key.1.clone());
        }
        before
    }

    fn version(&self, key: &(Kind, RecordKey)) -> Option<u64> {
        self.records.get(key).map(|kept| kept.record.version)
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
    Record { key: (Kind, RecordKey), kept: Option<Kept> },
}

impl Changes<'_> {
    fn make(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        for journal in &commit.drop_journals {
            let values = self.state.journals.remove(journal);
            self.undo.push(Undo::Journal { key: journal.clone(), values });
        }
        let last = commit.append.as_ref().map(|append| self.append(append)).transpose()?;
        for expect in &commit.expects {
            self.expect(&(expect.kind, expect.key.clone()), expect.expected)?;
        }
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

    fn expect(&self, key: &(Kind, RecordKey), expected: Expected) -> Result<(), StoreError> {
        let found = self.state.version(key);
        if expected.is(found) {
            return Ok(());
        }
        let (kind, key) = key.clone();
        Err(StoreError::RecordConflict { kind, key, expected, found })
    }

    fn set(&mut self, key: (Kind, RecordKey), kept: Option<Kept>) {
        let kept = self.state.set(&key, kept);
        self.undo.push(Undo::Record { key, kept });
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), StoreError> {
        let key = (delete.kind, delete.key.clone());
        self.expect(&key, delete.expected)?;
        self.set(key, None);
        Ok(())
    }

    fn put(&mut self, put: &Put) -> Result<u64, StoreError> {
        let key = (put.kind, put.key.clone());
        self.expect(&key, put.expected)?;
        let place = self.state.records.get(&key).map(|kept| kept.record.place);
        let version = self.state.next_revision();
        let place = place.unwrap_or_else(|| {
            self.state.inserted += 1;
            Place { created_at_ms: put.created_at_ms, inserted: self.state.inserted }
        });
        let (status, value) = (put.status.clone(), put.value.clone());
        let record = Record { key: put.key.clone(), version, place, status, value };
        self.set(key, Some(Kept { record, queued: put.queued.clone() }));
        if let Some(moved) = &put.moves {
            self.move_lane(put, moved);
        }
        Ok(version)
    }

    fn move_lane(&mut self, put: &Put, moved: &LaneMove) {
        let from = LaneKey { kind: put.kind, project: &put.key.project, lane: &moved.from };
        let keys: Vec<RecordKey> =
            self.state.lane(from, i64::MIN).map(|(_, key)| key.clone()).collect();
        for key in keys {
            let key = (put.kind, key);
            let Some(mut kept) = self.state.records.get(&key).cloned() else { continue };
            if let Some(queued) = &mut kept.queued {
                queued.lane.clone_from(&moved.to);
            }
            self.set(key, Some(kept));
        }
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
                Undo::Record { key, kept } => {
                    self.state.set(&key, kept);
                }
            }
        }
    }
}
