//! [`KeptWaits`]: questions to people, on top of the records of a store.
//!
//! A wait is decided once, whoever comes first: every change names the version that it was made from,
//! and one who comes second finds another. What a wait has become is not only what stands in its
//! record: its time may be over, or the only process that could have used the answer may be gone.
//! [`KeptWaits::get`] and all others take that into account.
//!
//! Waits belong to no project here. Their ids are one of a kind in the whole store, so that one look
//! finds a wait by its id, from wherever it is answered.

use std::sync::Arc;

use hookwright_events::wait::{PersonsDecision, Wait, WaitState};

use crate::{Commit, Delete, Durability, Expected, Filter, Kind, Place, Put, Record, RecordKey};
use crate::{Store, StoreError, limits, records};

/// Questions to people.
#[derive(Clone)]
pub struct KeptWaits {
    store: Arc<dyn Store>,
    /// Whether a wait's keeper may still run.
    may_run: fn(&str) -> bool,
}

/// What [`KeptWaits::open`] led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Opened {
    /// The wait is kept now.
    New,
    /// There is one with this id.
    There(Box<Wait>),
}

/// What [`KeptWaits::decide`] led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Decide {
    /// This decision counts.
    Counts(Box<Wait>),
    /// The wait had ended before; its state says how.
    TooLate(Box<Wait>),
    /// No wait has this id.
    Unknown,
}

/// Why a wait could not be kept, read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its record is none of ours, or a newer program's.
    #[error("the wait `{id}` cannot be read: {cause}")]
    Unreadable {
        /// Which.
        id: String,
        /// How that shows.
        cause: String,
    },
}

impl KeptWaits {
    /// The waits of a store. `may_run` says of the keeper of a wait whether it may still run.
    pub fn new(store: Arc<dyn Store>, may_run: fn(&str) -> bool) -> Self {
        Self { store, may_run }
    }

    /// Keeps a new wait; it is on the disk when this returns. Forgets a few that ended long ago.
    pub fn open(&self, wait: &Wait) -> Result<Opened, WaitError> {
        let deletes = self.long_over(wait.since_ms)?;
        let puts = vec![put(wait, Expected::Absent)];
        match self.store.commit(&Commit { deletes, puts, ..Commit::synced() }) {
            Ok(_) => Ok(Opened::New),
            Err(StoreError::RecordConflict { key, .. }) if key.name == wait.id => {
                match self.get(&wait.id, wait.since_ms)? {
                    Some(there) => Ok(Opened::There(Box::new(there))),
                    // Forgotten by somebody else in between.
                    None => self.open(wait),
                }
            }
            // Somebody else has forgotten the same ones, and they are not here for a second time.
            Err(StoreError::RecordConflict { .. }) => self.open(wait),
            Err(error) => Err(error.into()),
        }
    }

    /// The wait with this id, as it is at this time.
    pub fn get(&self, id: &str, now_ms: i64) -> Result<Option<Wait>, WaitError> {
        let record = self.store.get(Kind::Wait, &key(id))?;
        record.map(|record| self.read(&record, now_ms)).transpose()
    }

    /// Whether its record says that nobody has answered yet: the cheapest question about a wait.
    pub fn is_waiting(&self, id: &str) -> Result<bool, WaitError> {
        let record = self.store.get(Kind::Wait, &key(id))?;
        Ok(record.is_some_and(|record| record.status == WaitState::Waiting.as_str()))
    }

    /// Whether the process that asks may still run. One that does not run uses no answer before
    /// somebody takes the wait up.
    pub fn is_attended(&self, wait: &Wait) -> bool {
        (self.may_run)(&wait.keeper)
    }

    /// Notes that from now on this process asks, and how it is told of an answer.
    pub fn take_up(
        &self,
        id: &str,
        keeper: &str,
        bell: &str,
        now_ms: i64,
    ) -> Result<Option<Wait>, WaitError> {
        self.change(id, now_ms, |wait, _| {
            let is_another = wait.keeper != keeper || wait.bell != bell;
            if is_another {
                keeper.clone_into(&mut wait.keeper);
                bell.clone_into(&mut wait.bell);
            }
            is_another
        })
    }

    /// Those that can be answered at this time, oldest first.
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

    /// Notes that the request has arrived; it is on the disk when this returns.
    pub fn sent(&self, id: &str, now_ms: i64) -> Result<Option<Wait>, WaitError> {
        self.change(id, now_ms, |wait, _| !std::mem::replace(&mut wait.sent, true))
    }

    /// Decides a wait, if it still waits; the decision is on the disk when this returns.
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

    /// What has become of a wait, for whoever asked: a decision counts as used from here on, and a
    /// wait whose time is over cannot be decided any more.
    pub fn settle(&self, id: &str, now_ms: i64) -> Result<Option<Wait>, WaitError> {
        // A note that is lost with the machine leaves a decision that can be used again by the same
        // wait, or a time that is over anyway.
        self.change_with(Durability::Unsynced, id, now_ms, |wait, kept_as| match &wait.state {
            WaitState::Decided(decision) => {
                wait.state = WaitState::Used(decision.clone());
                true
            }
            WaitState::Expired => kept_as != WaitState::Expired.as_str(),
            WaitState::Waiting | WaitState::Used(_) | WaitState::Abandoned => false,
        })
    }

    /// Ends a wait that nobody will take up. One that has ended stays as it is.
    pub fn abandon(&self, id: &str, now_ms: i64) -> Result<Option<Wait>, WaitError> {
        self.change(id, now_ms, |wait, _| {
            let waits = wait.state == WaitState::Waiting;
            if waits {
                wait.state = WaitState::Abandoned;
            }
            waits
        })
    }

    /// Changes a wait from what it is at this time. Where somebody else was faster, their change comes
    /// first. `change` is also given the word that the record has for it, and says whether there is
    /// anything to write.
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

    /// A few that ended long before.
    fn long_over(&self, now_ms: i64) -> Result<Vec<Delete>, WaitError> {
        let kept_ms = i64::try_from(limits::ENDED_WAITS_KEPT.as_millis()).unwrap_or(i64::MAX);
        // A wait lasts no longer than it is kept afterwards: whatever its record says, it has ended.
        let before = now_ms.saturating_sub(kept_ms.saturating_mul(2));
        let filter = Filter {
            before: Some(Place { created_at_ms: before, inserted: 0 }),
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
