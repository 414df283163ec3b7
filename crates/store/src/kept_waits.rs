//! [`KeptWaits`]: questions to people, stored as records.
//!
//! A wait is decided once, by the first answer: every change names the version that it was made
//! from, so a second answer fails. A wait's state is more than its record says: it may have
//! expired, or the only process that could use the answer may be gone. [`KeptWaits::get`] and the
//! other methods take that into account.
//!
//! Waits belong to no project here. Their ids are unique in the whole store, so an answer from
//! anywhere finds its wait by id.

use std::sync::Arc;

use hookwright_events::wait::{PersonsDecision, Wait, WaitState};

use crate::{
    Commit, Delete, Durability, Expected, Filter, Kind, Put, Record, RecordKey, RecordPosition,
};
use crate::{Life, Living, Store, StoreError, limits, records};

/// Questions to people.
#[derive(Clone)]
pub struct KeptWaits {
    store: Arc<dyn Store>,
    living: Arc<dyn Living>,
}

/// Result of [`KeptWaits::open`].
#[derive(Debug, Clone, PartialEq)]
pub enum Opened {
    /// The wait was stored.
    New,
    /// A wait with this id exists already.
    AlreadyOpen(Box<Wait>),
}

/// Result of [`KeptWaits::decide`].
#[derive(Debug, Clone, PartialEq)]
pub enum Decide {
    /// This decision was the first and counts.
    Counts(Box<Wait>),
    /// The wait had ended before; its state says how.
    TooLate(Box<Wait>),
    /// No wait has this id.
    Unknown,
}

/// Why a wait could not be stored, read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record is damaged, or a newer version of the program wrote it.
    #[error("the wait `{id}` cannot be read: {cause}")]
    Unreadable {
        /// The wait's id.
        id: String,
        /// Why it cannot be parsed.
        cause: String,
    },
}

impl KeptWaits {
    /// The waits of a store. `living` judges the processes that keep them.
    pub fn new(store: Arc<dyn Store>, living: Arc<dyn Living>) -> Self {
        Self { store, living }
    }

    /// The time by which waits end.
    pub fn now_ms(&self) -> i64 {
        self.store.now_ms()
    }

    /// How this process describes itself as the keeper of a wait.
    pub fn keeper(&self) -> String {
        self.living.this()
    }

    /// Stores a new wait, which is on the disk on return. Deletes a few that ended long ago.
    pub fn open(&self, wait: &Wait) -> Result<Opened, WaitError> {
        let deletes = self.long_over(wait.since_ms)?;
        let puts = vec![put(wait, Expected::Absent)];
        match self.store.commit(&Commit { deletes, puts, ..Commit::synced() }) {
            Ok(_) => Ok(Opened::New),
            Err(StoreError::RecordConflict { key, .. }) if key.name == wait.id => {
                match self.get(&wait.id, wait.since_ms)? {
                    Some(there) => Ok(Opened::AlreadyOpen(Box::new(there))),
                    // Another process has deleted it in between.
                    None => self.open(wait),
                }
            }
            // Another process deleted the same old waits; the next attempt does not list them.
            Err(StoreError::RecordConflict { .. }) => self.open(wait),
            Err(error) => Err(error.into()),
        }
    }

    /// The wait with this id, in its state at this time.
    pub fn get(&self, id: &str, now_ms: i64) -> Result<Option<Wait>, WaitError> {
        let record = self.store.get(Kind::Wait, &key(id))?;
        record.map(|record| self.read(&record, now_ms)).transpose()
    }

    /// Whether the record is still unanswered: the cheapest check of a wait.
    pub fn is_waiting(&self, id: &str) -> Result<bool, WaitError> {
        let record = self.store.get(Kind::Wait, &key(id))?;
        Ok(record.is_some_and(|record| record.status == WaitState::Waiting.as_str()))
    }

    /// Whether the asking process may still be running. If not, the answer is unused until another
    /// process adopts the wait.
    pub fn is_attended(&self, wait: &Wait) -> bool {
        // A keeper that cannot be read counts as alive.
        self.living.judge(&wait.keeper) != Life::Ended
    }

    /// Whether other machines share the store.
    pub fn is_shared(&self) -> bool {
        self.store.is_remote()
    }

    /// Wakes the asking process, if it runs on another machine.
    pub fn wake_keeper(&self, wait: &Wait) {
        self.living.wake(&wait.keeper);
    }

    /// Makes this process the one that asks, and stores how to notify it of an answer. `root` is the
    /// path of its project, if that has a name: by it agents are recognised that would answer their
    /// own questions.
    pub fn adopt(
        &self,
        id: &str,
        keeper: &str,
        bell: &str,
        root: Option<&str>,
        now_ms: i64,
    ) -> Result<Option<Wait>, WaitError> {
        self.change(id, now_ms, |wait, _| {
            let is_another =
                wait.keeper != keeper || wait.bell != bell || wait.root.as_deref() != root;
            if is_another {
                keeper.clone_into(&mut wait.keeper);
                bell.clone_into(&mut wait.bell);
                wait.root = root.map(str::to_owned);
            }
            is_another
        })
    }

    /// The waits that can be answered at this time, oldest first.
    pub fn waiting(&self, now_ms: i64) -> Result<Vec<Wait>, WaitError> {
        let statuses = vec![WaitState::Waiting.as_str().to_owned()];
        let filter = Filter { statuses, ..Filter::newest(limits::RECORDS_PER_PAGE_MAX) };
        let mut all = Vec::new();
        for record in records(&*self.store, Kind::Wait, filter) {
            let wait = self.read(&record?, now_ms)?;
            if wait.state == WaitState::Waiting {
                all.push(wait);
            }
        }
        all.reverse();
        Ok(all)
    }

    /// Records that the request has been delivered; on the disk on return.
    pub fn sent(&self, id: &str, now_ms: i64) -> Result<Option<Wait>, WaitError> {
        self.change(id, now_ms, |wait, _| !std::mem::replace(&mut wait.sent, true))
    }

    /// Decides a wait if it is still unanswered; the decision is on the disk on return.
    pub fn decide(&self, id: &str, decision: &PersonsDecision) -> Result<Decide, WaitError> {
        let mut counts = false;
        let wait = self.change(id, decision.at_ms, |wait, _| {
            counts = wait.state == WaitState::Waiting;
            if counts {
                wait.state = WaitState::Decided(decision.clone());
            }
            counts
        })?;
        Ok(match wait.map(Box::new) {
            Some(wait) if counts => Decide::Counts(wait),
            Some(wait) => Decide::TooLate(wait),
            None => Decide::Unknown,
        })
    }

    /// The final state of a wait, for the process that asked: its decision is marked as used, and
    /// an expired wait can no longer be decided.
    pub fn settle(&self, id: &str, now_ms: i64) -> Result<Option<Wait>, WaitError> {
        // Losing this mark in a crash is harmless: the same wait uses its decision again, or is
        // expired anyway.
        self.change_with(Durability::Unsynced, id, now_ms, |wait, kept_as| match &wait.state {
            WaitState::Decided(decision) => {
                wait.state = WaitState::Used(decision.clone());
                true
            }
            WaitState::Expired => kept_as != WaitState::Expired.as_str(),
            WaitState::Waiting | WaitState::Used(_) | WaitState::Abandoned => false,
        })
    }

    /// Ends a wait that no process will adopt. A wait that has ended stays as it is.
    pub fn abandon(&self, id: &str, now_ms: i64) -> Result<Option<Wait>, WaitError> {
        self.change(id, now_ms, |wait, _| {
            let waits = wait.state == WaitState::Waiting;
            if waits {
                wait.state = WaitState::Abandoned;
            }
            waits
        })
    }

    /// Changes a wait from its state at this time. If another process changes it meanwhile, reads
    /// it again and repeats. `change` also gets the record's status, and returns whether to write.
    fn change(
        &self,
        id: &str,
        now_ms: i64,
        change: impl FnMut(&mut Wait, &str) -> bool,
    ) -> Result<Option<Wait>, WaitError> {
        self.change_with(Durability::Synced, id, now_ms, change)
    }

    fn change_with(
        &self,
        durability: Durability,
        id: &str,
        now_ms: i64,
        mut change: impl FnMut(&mut Wait, &str) -> bool,
    ) -> Result<Option<Wait>, WaitError> {
        loop {
            let Some(record) = self.store.get(Kind::Wait, &key(id))? else {
                return Ok(None);
            };
            let mut wait = self.read(&record, now_ms)?;
            if !change(&mut wait, &record.status) {
                return Ok(Some(wait));
            }
            let puts = vec![put(&wait, Expected::Version(record.version))];
            match self.store.commit(&Commit { durability, puts, ..Commit::synced() }) {
                Ok(_) => return Ok(Some(wait)),
                Err(StoreError::RecordConflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read(&self, record: &Record, now_ms: i64) -> Result<Wait, WaitError> {
        let mut wait: Wait = serde_json::from_str(&record.value).map_err(|cause| {
            WaitError::Unreadable { id: record.key.name.clone(), cause: cause.to_string() }
        })?;
        if wait.state == WaitState::Waiting {
            if wait.until_ms <= now_ms {
                wait.state = WaitState::Expired;
            } else if wait.key.is_none() && !self.is_attended(&wait) {
                wait.state = WaitState::Abandoned;
            }
        }
        Ok(wait)
    }

    /// A few waits that ended long ago.
    fn long_over(&self, now_ms: i64) -> Result<Vec<Delete>, WaitError> {
        let kept_ms = i64::try_from(limits::ENDED_WAITS_KEPT.as_millis()).unwrap_or(i64::MAX);
        // No wait lasts longer than ended ones are kept, so it has ended, whatever its record says.
        let before = now_ms.saturating_sub(kept_ms.saturating_mul(2));
        let filter = Filter {
            before: Some(RecordPosition { created_at_ms: before, inserted: 0 }),
            ..Filter::newest(limits::ENDED_WAITS_FORGOTTEN_AT_ONCE)
        };
        let old = self.store.list(Kind::Wait, &filter)?;
        let forget = |Record { key, version, .. }: Record| Delete {
            kind: Kind::Wait,
            key,
            expected: Expected::Version(version),
        };
        Ok(old.into_iter().map(forget).collect())
    }
}

fn key(id: &str) -> RecordKey {
    RecordKey { project: String::new(), name: id.to_owned() }
}

fn put(wait: &Wait, expected: Expected) -> Put {
    Put {
        kind: Kind::Wait,
        key: key(&wait.id),
        expected,
        value: serde_json::to_string(wait).expect("a wait is plain data with text keys"),
        created_at_ms: wait.since_ms,
        status: wait.state.as_str().to_owned(),
        queued: None,
        moves: None,
    }
}
