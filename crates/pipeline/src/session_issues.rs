//! `IssueLog`: the issues that a session plans to work on, and their states.
//!
//! These lists grow with the session, and its record is written with every iteration. So they are
//! stored in pages beside the record, of which only the last one is written again. A page is never
//! read while the session runs; [`read_issues`] is for displaying the lists.

use std::collections::{HashMap, HashSet};

use hookwright_events::{ItemState, RunEvent, RunEventKind, SessionEvent};
use hookwright_store::{Expected, Kind, Put, RecordKey, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::limits::SESSION_ISSUES_PER_PAGE;
use crate::record::{IssueCounts, SessionRecord};

/// Fills in the lists of a record from its pages.
pub fn read_issues(store: &dyn Store, record: &mut SessionRecord) -> Result<(), StoreError> {
    let mut ended = ended_before(record);
    for number in 0..record.issue_pages {
        let Some(page) = IssuePage::read(store, record, number)? else { continue };
        record.issues_planned.extend(page.planned);
        ended.extend(page.ended);
    }
    // The last entry of an issue counts, and keeps its place in the order.
    let mut seen = HashSet::new();
    let mut last: Vec<(u64, ItemState)> =
        ended.into_iter().rev().filter(|(number, _)| seen.insert(*number)).collect();
    last.reverse();
    let in_state = |state: ItemState| {
        let these = last.iter().filter(move |(_, ended)| *ended == state);
        these.map(|(number, _)| *number).collect()
    };
    record.issues_completed = in_state(ItemState::Done);
    record.issues_failed = in_state(ItemState::Failed);
    Ok(())
}

/// The keys of a session's pages.
pub fn page_keys(record: &SessionRecord) -> impl Iterator<Item = RecordKey> + '_ {
    (0..record.issue_pages).map(|number| page_key(record, number))
}

fn page_key(record: &SessionRecord, number: u32) -> RecordKey {
    RecordKey { project: record.project().to_owned(), name: format!("{}/{number}", record.id) }
}

/// The lists in records of earlier versions.
fn ended_before(record: &SessionRecord) -> Vec<(u64, ItemState)> {
    let of = |numbers: &[u64], state| -> Vec<(u64, ItemState)> {
        numbers.iter().map(|number| (*number, state)).collect()
    };
    let completed = of(&record.issues_completed, ItemState::Done);
    completed.into_iter().chain(of(&record.issues_failed, ItemState::Failed)).collect()
}

/// Some of the entries, in the order in which they were added.
#[derive(Debug, Default, Serialize, Deserialize)]
struct IssuePage {
    planned: Vec<u64>,
    ended: Vec<(u64, ItemState)>,
}

impl IssuePage {
    fn read(
        store: &dyn Store,
        record: &SessionRecord,
        number: u32,
    ) -> Result<Option<Self>, StoreError> {
        let page = store.get(Kind::SessionIssues, &page_key(record, number))?;
        Ok(page.and_then(|page| serde_json::from_str(&page.value).ok()))
    }

    fn is_full(&self) -> bool {
        self.planned.len() + self.ended.len() >= SESSION_ISSUES_PER_PAGE
    }
}

/// The lists of a running session. Only the process that holds its lease writes them.
#[derive(Debug)]
pub(crate) struct IssueLog {
    planned: HashSet<u64>,
    ended: HashMap<u64, ItemState>,
    counts: IssueCounts,
    /// Pages to write, with their numbers. Entries are added to the last one.
    pages: Vec<(u32, IssuePage)>,
    is_changed: bool,
}

impl IssueLog {
    /// Reads what is stored of a session.
    pub(crate) fn read(store: &dyn Store, record: &SessionRecord) -> Result<Self, StoreError> {
        let mut log = Self {
            planned: record.issues_planned.iter().copied().collect(),
            ended: HashMap::new(),
            counts: IssueCounts::default(),
            pages: Vec::new(),
            is_changed: false,
        };
        ended_before(record).into_iter().for_each(|(number, state)| log.count(number, state));
        for number in 0..record.issue_pages {
            let page = IssuePage::read(store, record, number)?.unwrap_or_default();
            log.planned.extend(&page.planned);
            page.ended.iter().for_each(|(number, state)| log.count(*number, *state));
            log.pages = vec![(number, page)];
        }
        log.counts.planned = log.planned.len();
        Ok(log)
    }

    /// Adds issues that the session plans to work on.
    pub(crate) fn plan(&mut self, numbers: &[u64]) {
        for number in numbers {
            if self.planned.insert(*number) {
                self.counts.planned += 1;
                self.page().planned.push(*number);
            }
        }
    }

    /// Applies an event. The record says whether the session works on an issue.
    pub(crate) fn see(&mut self, event: &RunEvent, record: &SessionRecord) {
        match &event.kind {
            RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                self.plan(item.number().as_slice());
            }
            RunEventKind::Session(SessionEvent::ItemEnded { key, state, .. })
                if record.current_issue.is_some() =>
            {
                let number = key.parse().unwrap_or_default();
                // The same event comes again if another record of its commit has changed.
                if self.page().ended.last() != Some(&(number, *state)) {
                    self.page().ended.push((number, *state));
                    self.count(number, *state);
                }
            }
            _ => {}
        }
    }

    /// The records to write; updates the counts in the session's record.
    pub(crate) fn puts(&self, record: &mut SessionRecord) -> Vec<Put> {
        if !self.is_changed {
            return Vec::new();
        }
        record.issues = Some(self.counts);
        record.issue_pages = self.pages.last().map_or(0, |(number, _)| number + 1);
        let put = |(number, page): &(u32, IssuePage)| Put {
            kind: Kind::SessionIssues,
            key: page_key(record, *number),
            expected: Expected::Any,
            value: serde_json::to_string(page).unwrap_or_default(),
            created_at_ms: record.created_at_ms(),
            status: "kept".to_owned(),
            queued: None,
            moves: None,
        };
        self.pages.iter().map(put).collect()
    }

    /// Notes that they were written.
    pub(crate) fn written(&mut self) {
        self.is_changed = false;
        self.pages.drain(..self.pages.len().saturating_sub(1));
    }

    /// The page for the next entry.
    fn page(&mut self) -> &mut IssuePage {
        self.is_changed = true;
        let number = match self.pages.last() {
            Some((number, page)) if page.is_full() => Some(number + 1),
            Some(_) => None,
            None => Some(0),
        };
        self.pages.extend(number.map(|number| (number, IssuePage::default())));
        &mut self.pages.last_mut().expect("there is one by now").1
    }

    fn count(&mut self, number: u64, state: ItemState) {
        let before = self.ended.insert(number, state);
        if let Some(count) = before.and_then(|before| self.counts.of_state(before)) {
            *count -= 1;
        }
        if let Some(count) = self.counts.of_state(state) {
            *count += 1;
        }
    }
}

impl IssueCounts {
    /// The count for this state. A reopened issue was not completed.
    fn of_state(&mut self, state: ItemState) -> Option<&mut usize> {
        match state {
            ItemState::Done => Some(&mut self.completed),
            ItemState::Failed => Some(&mut self.failed),
            ItemState::Blocked | ItemState::Open => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use hookwright_events::{WorkItem, WorkSource};
    use hookwright_store::{Commit, SqliteStore};

    use super::*;

    fn record() -> SessionRecord {
        SessionRecord { id: "s".into(), workspace: "/p".into(), ..SessionRecord::default() }
    }

    fn event(kind: RunEventKind) -> RunEvent {
        RunEvent { version: 1, firing: 0, at: String::new(), session: None, kind }
    }

    fn started(number: u64) -> RunEvent {
        let item = WorkItem {
            source: WorkSource::Issues,
            key: number.to_string(),
            title: String::new(),
            content: None,
            file: None,
            plan_file: None,
        };
        event(RunEventKind::Session(SessionEvent::ItemStarted { stage: 1, execution: 1, item }))
    }

    fn ended(number: u64, state: ItemState) -> RunEvent {
        event(RunEventKind::Session(SessionEvent::ItemEnded {
            stage: 1,
            execution: 1,
            key: number.to_string(),
            state,
            reason: None,
            iterations: 1,
            duration_ms: 0.0,
        }))
    }

    /// Applies these events, each in a commit of its own; returns how many bytes were written.
    fn happens(store: &dyn Store, record: &mut SessionRecord, events: &[RunEvent]) -> usize {
        let mut log = IssueLog::read(store, record).expect("read");
        let mut bytes = 0;
        for event in events {
            log.see(event, record);
            record.see(event);
            let puts = log.puts(record);
            bytes += puts.iter().map(|put| put.value.len()).sum::<usize>();
            store.commit(&Commit { puts, ..Commit::unsynced() }).expect("written");
            log.written();
        }
        bytes
    }

    fn lists(store: &dyn Store, record: &SessionRecord) -> [Vec<u64>; 3] {
        let mut record = record.clone();
        read_issues(store, &mut record).expect("read");
        [record.issues_planned, record.issues_completed, record.issues_failed]
    }

    #[test]
    fn the_last_word_about_an_issue_counts_also_when_the_session_is_resumed() {
        let (store, mut record) = (SqliteStore::in_memory().expect("memory"), record());
        let first = [
            started(3),
            ended(3, ItemState::Failed),
            started(1),
            ended(1, ItemState::Done),
            started(2),
        ];
        happens(&store, &mut record, &first);
        let again = [ended(2, ItemState::Open), started(3), ended(3, ItemState::Done), started(4)];
        happens(&store, &mut record, &again);
        assert_eq!(lists(&store, &record), [vec![3, 1, 2, 4], vec![1, 3], vec![]]);
        let counts = IssueCounts { planned: 4, completed: 2, failed: 0 };
        assert_eq!((record.issue_counts(), record.issue_pages), (counts, 1));
    }

    #[test]
    fn lists_of_records_of_earlier_versions_are_gone_on_with() {
        let (store, mut record) = (SqliteStore::in_memory().expect("memory"), record());
        record.issues_planned = vec![1, 2, 3];
        record.issues_completed = vec![1];
        record.issues_failed = vec![2];
        assert_eq!(lists(&store, &record), [vec![1, 2, 3], vec![1], vec![2]]);
        let counts = IssueCounts { planned: 3, completed: 1, failed: 1 };
        assert_eq!(record.issue_counts(), counts);
        let events = [started(2), ended(2, ItemState::Done), started(9)];
        happens(&store, &mut record, &events);
        assert_eq!(lists(&store, &record), [vec![1, 2, 3, 9], vec![1, 2], vec![]]);
        let counts = IssueCounts { planned: 4, completed: 2, failed: 0 };
        assert_eq!(record.issue_counts(), counts);
    }

    #[test]
    fn an_issue_more_writes_as_much_after_4000_as_after_400() {
        let bytes_of_last = |count: u64| {
            let (store, mut record) = (SqliteStore::in_memory().expect("memory"), record());
            let of = |number| [started(number), ended(number, ItemState::Done)];
            let events: Vec<RunEvent> = (1..=count).flat_map(of).collect();
            happens(&store, &mut record, &events);
            let [planned, completed, _] = lists(&store, &record);
            assert_eq!((planned.len() as u64, completed.len() as u64), (count, count));
            let page = happens(&store, &mut record, &of(count + 1));
            page + serde_json::to_string(&record).expect("plain data").len()
        };
        let (few, many) = (bytes_of_last(400), bytes_of_last(4_000));
        assert!(many < few * 2, "{few} {many}");
    }
}
