//! [`Transfer`]: copies sessions, tasks and the rest from one store to another.
//!
//! It can be repeated: what is there already is not written again, and never overwritten. A session
//! is its journal and its record; the record comes last, so that a copy that was interrupted does
//! not look whole. The caller makes sure that nothing changes the session meanwhile.

use std::collections::HashMap;

use crate::kept_tasks::claimed_value;
use crate::{
    Append, Commit, Entry, Expect, Expected, Filter, JournalKey, Kind, LaneKey, Put, Queued,
    Record, RecordKey, Store, StoreError, limits, records,
};

/// A transfer from one store to another.
#[derive(Clone, Copy)]
pub struct Transfer<'a> {
    /// The store that is read.
    pub from: &'a dyn Store,
    /// The store that is written.
    pub to: &'a dyn Store,
}

/// What became of a record or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferOutcome {
    /// It was copied, or the rest of it.
    Copied,
    /// It was there.
    AlreadyThere,
    /// Another one of the same name is there, which has gone on since or never was the same. It was
    /// left alone.
    Differs,
}

/// The positions in queues of the records of a kind and project.
type Positions = HashMap<String, Queued>;

impl Transfer<'_> {
    /// The keys of all records of a kind, oldest first: copied in this order, they keep it.
    pub fn keys(&self, kind: Kind) -> Result<Vec<RecordKey>, StoreError> {
        let filter = Filter::newest(limits::TASKS_PER_PAGE);
        let found: Result<Vec<RecordKey>, StoreError> =
            records(self.from, kind, filter).map(|record| Ok(record?.key)).collect();
        let mut keys = found?;
        keys.reverse();
        Ok(keys)
    }

    /// Copies a session with its journal.
    pub fn session(&self, key: &RecordKey) -> Result<TransferOutcome, StoreError> {
        let Some(record) = self.from.get(Kind::Session, key)? else {
            return Ok(TransferOutcome::AlreadyThere);
        };
        let there = self.to.get(Kind::Session, key)?;
        let journal = JournalKey { project: key.project.clone(), session: key.name.clone() };
        let mut last = match &there {
            Some(there) => match self.entries_there(&journal)? {
                Some(last) if last < self.from.last(&journal)? => last,
                Some(_) if there.value == record.value => return Ok(TransferOutcome::AlreadyThere),
                _ => return Ok(TransferOutcome::Differs),
            },
            None => {
                match self.drop_rest(key, &journal) {
                    // A session has begun there meanwhile.
                    Err(StoreError::RecordConflict { .. }) => return Ok(TransferOutcome::Differs),
                    dropped => dropped?,
                }
                0
            }
        };
        loop {
            let page = self.from.journal(&journal, last, limits::ENTRIES_READ_AT_ONCE)?;
            if page.is_empty() {
                break;
            }
            let entries: Vec<String> = page.into_iter().map(|entry| entry.value).collect();
            let append = Append { journal: &journal, expected: last, entries: &entries };
            last = self.to.commit(&Commit { append: Some(append), ..Commit::synced() })?.last;
        }
        let expected = there.map_or(Expected::Absent, |there| Expected::Version(there.version));
        let puts = vec![put(Kind::Session, &record, expected, None)];
        self.to.commit(&Commit { puts, ..Commit::synced() })?;
        Ok(TransferOutcome::Copied)
    }

    /// Drops what a copy that was interrupted has left: a journal without its session.
    fn drop_rest(&self, key: &RecordKey, journal: &JournalKey) -> Result<(), StoreError> {
        let expected = Expected::Absent;
        let expects = vec![Expect { kind: Kind::Session, key: key.clone(), expected }];
        let drop_journals = vec![journal.clone()];
        self.to.commit(&Commit { expects, drop_journals, ..Commit::synced() }).map(|_| ())
    }

    /// The number of entries in the other store if they are the beginning of this journal.
    fn entries_there(&self, journal: &JournalKey) -> Result<Option<u64>, StoreError> {
        let last = self.to.last(journal)?;
        let entry = |store: &dyn Store| -> Result<Option<Entry>, StoreError> {
            let before = last.saturating_sub(1);
            Ok(store.journal(journal, before, 1)?.pop())
        };
        let is_same = last == 0 || entry(self.from)? == entry(self.to)?;
        Ok(is_same.then_some(last))
    }

    /// Copies all records of another kind, each with its place in a queue.
    pub fn records(&self, kind: Kind) -> Result<Vec<(RecordKey, TransferOutcome)>, StoreError> {
        let mut positions: HashMap<String, Positions> = HashMap::new();
        let mut outcomes = Vec::new();
        for key in self.keys(kind)? {
            let Some(record) = self.from.get(kind, &key)? else { continue };
            let of_project = match positions.get(&key.project) {
                Some(positions) => positions,
                None => {
                    let read = self.positions(kind, &key.project)?;
                    positions.entry(key.project.clone()).or_insert(read)
                }
            };
            let queued = of_project.get(&key.name).cloned();
            let puts = vec![put(kind, &record, Expected::Absent, queued)];
            let outcome = match self.to.commit(&Commit { puts, ..Commit::synced() }) {
                Ok(_) => TransferOutcome::Copied,
                Err(StoreError::RecordConflict { .. }) => {
                    let there = self.to.get(kind, &key)?;
                    match there.is_some_and(|there| there.value == whole_value(kind, &record)) {
                        true => TransferOutcome::AlreadyThere,
                        false => TransferOutcome::Differs,
                    }
                }
                Err(error) => return Err(error),
            };
            outcomes.push((key, outcome));
        }
        Ok(outcomes)
    }

    /// Reads all lanes of a kind and project.
    fn positions(&self, kind: Kind, project: &str) -> Result<Positions, StoreError> {
        let mut positions = Positions::new();
        let mut behind = String::new();
        while let Some(lane) = self.from.next_lane(LaneKey { kind, project, lane: &behind })? {
            let (mut rank, mut is_over) = (i64::MIN, false);
            while !is_over {
                let key = LaneKey { kind, project, lane: &lane };
                let page = self.from.queue(key, rank, limits::TASKS_PER_PAGE)?;
                let before = positions.len();
                for (at, record) in page {
                    let waits_for = waits_for(&record);
                    let queued =
                        Queued { lane: lane.clone(), rank: at, waits_for, needs: Vec::new() };
                    positions.insert(record.key.name, queued);
                    rank = at;
                }
                // The next page begins with the last rank again.
                is_over = positions.len() == before;
            }
            behind = lane;
        }
        Ok(positions)
    }
}

/// The tasks that a task waits for. Records of other kinds wait for none.
fn waits_for(record: &Record) -> Vec<String> {
    let task: serde_json::Value = serde_json::from_str(&record.value).unwrap_or_default();
    let names = task["depends_on"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The value with what a claimer has noted beside it.
fn whole_value(kind: Kind, record: &Record) -> String {
    match (kind, &record.claim_note) {
        (Kind::Task, Some(_)) => claimed_value(record).unwrap_or_else(|| record.value.clone()),
        _ => record.value.clone(),
    }
}

fn put(kind: Kind, record: &Record, expected: Expected, queued: Option<Queued>) -> Put {
    Put {
        kind,
        key: record.key.clone(),
        expected,
        value: whole_value(kind, record),
        created_at_ms: record.place.created_at_ms,
        status: record.status.clone(),
        queued,
        moves: None,
    }
}
