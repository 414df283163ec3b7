//! [`IssueStates`]: the states of a project's issues, in the store. An issue without a record is
//! open.
//!
//! A session takes an issue by writing its name into the record, so that no two work on the same
//! one. Its lease tells whether that session still runs: issues of a dead session are open to
//! others.
//!
//! Records of issues that may be taken wait in lanes (`hookwright_store`, `queue.rs`):
//! `open/FOLDER//` has those that were reopened, `by/FOLDER//SESSION/` those that a session works
//! on. So the next one is found without reading the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use hookwright_events::{ItemState, WorkItem};
use hookwright_store::{
    Commit, Expected, Filter, Kind, LaneKey, Put, Queued, Record, RecordKey, Store, StoreError,
    headings, records,
};
use serde::{Deserialize, Serialize};

use super::IssueFolder;
use crate::lease;
use crate::limits::ISSUES_READ_AT_ONCE;
use crate::record::milliseconds;

/// The states of a project's issues.
pub struct IssueStates {
    store: Arc<dyn Store>,
    project: String,
}

/// The stored state of an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueRecord {
    /// The version of this format: 1.
    pub version: u32,
    /// The issue's folder, relative to the root.
    pub folder: String,
    /// The issue's number.
    pub number: u64,
    /// The title at that time.
    pub title: String,
    /// What became of it.
    pub state: IssueState,
    /// Why it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The session that worked on it last.
    pub session: String,
    /// The time of this state, ISO 8601 in UTC.
    pub at: String,
}

hookwright_events::words! {
    /// What became of an issue.
    #[derive(PartialOrd, Ord)]
    pub enum IssueState {
        /// No session works on it.
        Open = "open",
        /// A session works on it.
        Active = "active",
        /// A hook kept it from being started.
        Blocked = "blocked",
        /// It was tried, and failed.
        Failed = "failed",
        /// It is done.
        Done = "done",
    }
}

impl From<ItemState> for IssueState {
    fn from(state: ItemState) -> Self {
        match state {
            ItemState::Done => IssueState::Done,
            ItemState::Failed => IssueState::Failed,
            ItemState::Blocked => IssueState::Blocked,
            ItemState::Open => IssueState::Open,
        }
    }
}

/// A record, and the version of it that was read.
#[derive(Debug, Clone)]
pub struct KeptIssue {
    /// The stored record.
    pub record: IssueRecord,
    version: u64,
}

impl IssueStates {
    /// The states of a project's issues.
    pub fn new(store: Arc<dyn Store>, project: &str) -> Self {
        Self { store, project: project.to_owned() }
    }

    /// The records of all folders, by folder and number.
    pub fn all(&self) -> Result<BTreeMap<(String, u64), KeptIssue>, StoreError> {
        let filter = self.all_records();
        let mut known = BTreeMap::new();
        for record in records(&*self.store, Kind::Issue, filter) {
            let Some(kept) = kept(&record?) else { continue };
            known.insert((kept.record.folder.clone(), kept.record.number), kept);
        }
        Ok(known)
    }

    /// The states of a folder's issues, by number. An issue that is not among them is open.
    pub(crate) fn states(
        &self,
        folder: &IssueFolder,
    ) -> Result<BTreeMap<u64, IssueState>, StoreError> {
        let prefix = format!("{}/", folder.shown());
        let filter = Filter { name_prefix: Some(prefix.clone()), ..self.all_records() };
        let mut states = BTreeMap::new();
        for heading in headings(&*self.store, Kind::Issue, filter) {
            let heading = heading?;
            let number = heading.name.strip_prefix(&prefix).and_then(|rest| rest.parse().ok());
            if let (Some(number), Some(state)) = (number, IssueState::parse(&heading.status)) {
                states.insert(number, state);
            }
        }
        Ok(states)
    }

    /// The first record of an open issue of a folder, by number, among those that are `wanted`.
    pub(crate) fn first_open(
        &self,
        folder: &IssueFolder,
        wanted: &dyn Fn(u64) -> bool,
    ) -> Result<Option<KeptIssue>, StoreError> {
        self.first_of(&open_lane(folder.shown()), wanted)
    }

    /// The first record of an issue that this session or a dead one works on, among those that are
    /// `wanted`.
    pub(crate) fn first_left(
        &self,
        folder: &IssueFolder,
        session: &str,
        wanted: &dyn Fn(u64) -> bool,
    ) -> Result<Option<KeptIssue>, StoreError> {
        let prefix = lanes_of_sessions(folder.shown());
        let (mut behind, mut first) = (prefix.clone(), None::<KeptIssue>);
        while let Some(lane) = self.store.next_lane(self.lane(&behind))?
            && let Some(holder) = lane.strip_prefix(&prefix)
        {
            let holder = holder.trim_end_matches('/');
            if (holder == session || self.is_dead(holder)?)
                && let Some(other) = self.first_of(&lane, wanted)?
                && first.as_ref().is_none_or(|first| other.record.number < first.record.number)
            {
                first = Some(other);
            }
            behind = lane;
        }
        Ok(first)
    }

    fn first_of(
        &self,
        lane: &str,
        wanted: &dyn Fn(u64) -> bool,
    ) -> Result<Option<KeptIssue>, StoreError> {
        let (mut rest, mut limit) = (Some(i64::MIN), 1);
        while let Some(from) = rest {
            let page = self.store.queue(self.lane(lane), from, limit)?;
            rest = page.last().and_then(|(last, _)| last.checked_add(1));
            limit = (limit * 2).min(ISSUES_READ_AT_ONCE);
            let mut kept = page.iter().filter_map(|(_, record)| kept(record));
            if let Some(first) = kept.find(|kept| wanted(kept.record.number)) {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    /// The record of one issue.
    pub fn get(&self, folder: &IssueFolder, number: &str) -> Result<Option<KeptIssue>, StoreError> {
        let record = self.store.get(Kind::Issue, &self.key(folder.shown(), number))?;
        Ok(record.as_ref().and_then(kept))
    }

    /// Takes an issue for a session; `false` if another session was faster or has it.
    pub fn take(
        &self,
        folder: &IssueFolder,
        item: &WorkItem,
        session: &str,
        now: &str,
    ) -> Result<bool, StoreError> {
        let known = self.get(folder, &item.key)?;
        if let Some(kept) = &known
            && !self.is_free(&kept.record, session)?
        {
            return Ok(false);
        }
        let mut commit = Commit::unsynced();
        let record = record(folder, item, IssueState::Active, None, session, now);
        commit.puts.push(self.put(&record, known.as_ref()));
        match self.store.commit(&commit) {
            Ok(_) => Ok(true),
            Err(StoreError::RecordConflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a session may take an issue with this record.
    pub fn is_free(&self, record: &IssueRecord, session: &str) -> Result<bool, StoreError> {
        match record.state {
            IssueState::Open => Ok(true),
            IssueState::Active if record.session == session => Ok(true),
            IssueState::Active => self.is_dead(&record.session),
            IssueState::Blocked | IssueState::Failed | IssueState::Done => Ok(false),
        }
    }

    /// The record to write at the end of an item, in one commit with the entry that reports it;
    /// `None` if another process has changed its state meanwhile.
    pub fn put_end(
        &self,
        folder: &IssueFolder,
        item: &WorkItem,
        end: (ItemState, Option<&str>),
        session: &str,
        now: &str,
    ) -> Result<Option<Put>, StoreError> {
        let known = self.get(folder, &item.key)?;
        let is_ours = known.as_ref().is_some_and(|kept| {
            kept.record.state == IssueState::Active && kept.record.session == session
        });
        let record = record(folder, item, end.0.into(), end.1, session, now);
        Ok(is_ours.then(|| self.put(&record, known.as_ref())))
    }

    /// Reopens an issue.
    pub fn reopen(&self, kept: &KeptIssue, now: &str) -> Result<(), StoreError> {
        let mut commit = Commit::synced();
        let record = IssueRecord {
            state: IssueState::Open,
            reason: None,
            at: now.to_owned(),
            ..kept.record.clone()
        };
        commit.puts.push(self.put(&record, Some(kept)));
        self.store.commit(&commit).map(drop)
    }

    /// Whether no process runs a session.
    fn is_dead(&self, session: &str) -> Result<bool, StoreError> {
        let lease = lease::name_of(&self.project, session);
        Ok(lease::holder(&*self.store, &lease)?.is_none())
    }

    fn all_records(&self) -> Filter {
        Filter { project: Some(self.project.clone()), ..Filter::newest(ISSUES_READ_AT_ONCE) }
    }

    fn lane<'a>(&'a self, lane: &'a str) -> LaneKey<'a> {
        LaneKey { kind: Kind::Issue, project: &self.project, lane }
    }

    fn put(&self, record: &IssueRecord, known: Option<&KeptIssue>) -> Put {
        Put {
            kind: Kind::Issue,
            key: self.key(&record.folder, &record.number.to_string()),
            expected: known.map_or(Expected::Absent, |kept| Expected::Version(kept.version)),
            value: serde_json::to_string(record).unwrap_or_default(),
            created_at_ms: milliseconds(&record.at).unwrap_or(0),
            status: record.state.as_str().to_owned(),
            queued: place(record),
            moves: None,
        }
    }

    fn key(&self, folder: &str, number: &str) -> RecordKey {
        RecordKey { project: self.project.clone(), name: format!("{folder}/{number}") }
    }
}

fn record(
    folder: &IssueFolder,
    item: &WorkItem,
    state: IssueState,
    reason: Option<&str>,
    session: &str,
    now: &str,
) -> IssueRecord {
    IssueRecord {
        version: 1,
        folder: folder.shown().to_owned(),
        number: item.number().unwrap_or(0),
        title: item.title.clone(),
        state,
        reason: reason.map(str::to_owned),
        session: session.to_owned(),
        at: now.to_owned(),
    }
}

/// The place where an issue's record waits for its turn, if it does.
fn place(record: &IssueRecord) -> Option<Queued> {
    let lane = match record.state {
        IssueState::Open => open_lane(&record.folder),
        IssueState::Active => format!("{}{}/", lanes_of_sessions(&record.folder), record.session),
        IssueState::Blocked | IssueState::Failed | IssueState::Done => return None,
    };
    Some(Queued::at(lane, i64::try_from(record.number).unwrap_or(i64::MAX)))
}

/// The lane of issues that were begun and reopened. No folder has two slashes in a row.
fn open_lane(folder: &str) -> String {
    format!("open/{folder}//")
}

/// The prefix of the lanes of issues that sessions work on.
fn lanes_of_sessions(folder: &str) -> String {
    format!("by/{folder}//")
}

fn kept(record: &Record) -> Option<KeptIssue> {
    let read = serde_json::from_str(&record.value).ok()?;
    Some(KeptIssue { record: read, version: record.version })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hookwright_store::SqliteStore;

    use super::*;

    const NOW: &str = "2026-01-02T03:04:05Z";

    fn item(number: u64) -> WorkItem {
        super::super::Issue {
            number,
            title: "Title".to_owned(),
            file: String::new(),
            plan_file: None,
        }
        .item()
    }

    #[test]
    fn one_session_has_an_issue_until_it_is_over_or_the_session_is_dead() {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
        let states = IssueStates::new(Arc::clone(&store), "/p");
        let folder = IssueFolder::new(Path::new("/p"), Path::new("issues"));
        let take = |session: &str| states.take(&folder, &item(1), session, NOW).expect("written");
        let fence = lease::take(&*store, &lease::name_of("/p", "a")).expect("free");
        assert!(take("a"), "it is open");
        assert!(take("a"), "it is its own");
        assert!(!take("b"), "its session runs");
        store.release(&fence.lease, fence.token).expect("given back");
        assert!(take("b"), "its session is dead");
        let end = |session: &str| {
            let end = (ItemState::Failed, Some("no key"));
            states.put_end(&folder, &item(1), end, session, NOW).expect("read")
        };
        assert!(end("a").is_none(), "another one has it");
        let mut commit = Commit::synced();
        commit.puts.extend(end("b"));
        store.commit(&commit).expect("written");
        assert!(!take("a"), "it has failed");
        let kept = states.all().expect("read").remove(&("issues".to_owned(), 1)).expect("known");
        assert_eq!(
            (kept.record.state, kept.record.reason.as_deref()),
            (IssueState::Failed, Some("no key"))
        );
        states.reopen(&kept, NOW).expect("written");
        assert!(take("a"), "it is open again");
    }
}
