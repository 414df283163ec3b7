//! [`SessionJournal`]: writes a session's run events, under the lease of the process that runs it,
//! together with the session's record.
//!
//! When [`SessionJournal::write`] returns, everything survives the end of this program. Entries that
//! people rely on (the start and the end of a session, the ends of iterations and stages) are also
//! on the disk. [`SessionJournal::write_with_next`] saves a commit: the entry waits for the next one.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hookwright_engine::Secrets;
use hookwright_engine::ports::{Journal, Promise};
use hookwright_events::{
    FiringEvent, FiringKey, Point, Report, RunEvent, RunEventKind, SessionEvent, TurnEvent,
};
use hookwright_process::faults;
use hookwright_store::{
    Append, Commit, Expected, Fence, JournalKey, Kind, Put, RecordKey, Store, StoreError,
};
use serde_json::Value;

use crate::limits::{RECORD_CONFLICTS_MAX, WAITING_ENTRIES_MAX};
use crate::record::SessionRecord;
use crate::session_issues::IssueLog;

/// Writes a session's run events.
pub struct SessionJournal {
    this: Weak<Self>,
    store: Arc<dyn Store>,
    key: JournalKey,
    session_id: String,
    fence: Fence,
    secrets: Secrets,
    state: Mutex<JournalState>,
}

struct JournalState {
    last: u64,
    version: Option<u64>,
    record: SessionRecord,
    /// The session's issues, once it has any.
    issues: Option<IssueLog>,
    /// What waits for the next commit.
    waiting: Vec<RunEvent>,
    /// Set by the first failure: from then on nothing is written, so that the journal has no gap.
    broken: Option<StoreError>,
    /// Called for every event, each with its number.
    beside: Vec<(u64, Beside)>,
    /// The number of the last one.
    last_beside: u64,
}

/// Returns a record to store in the same commit as an event, if any. It is called again for the
/// same event if another process has changed that record meanwhile.
pub type Beside = Box<dyn FnMut(&RunEvent) -> Option<Put> + Send>;

impl SessionJournal {
    /// A journal that continues after its entry `last`. `version` is that of the session's record,
    /// if there is one.
    pub fn new(
        store: Arc<dyn Store>,
        fence: Fence,
        secrets: Secrets,
        last: u64,
        version: Option<u64>,
        record: SessionRecord,
    ) -> Arc<Self> {
        let key = JournalKey { project: record.project().to_owned(), session: record.name.clone() };
        let session_id = record.id.clone();
        let state = JournalState {
            last,
            version,
            record,
            issues: None,
            waiting: Vec::new(),
            broken: None,
            beside: Vec::new(),
            last_beside: 0,
        };
        let state = Mutex::new(state);
        Arc::new_cyclic(|this| {
            let this = Weak::clone(this);
            Self { this, store, key, session_id, fence, secrets, state }
        })
    }

    /// See [`crate::session_id`].
    pub(crate) fn session_id(&self) -> &str {
        &self.session_id
    }

    /// The session's current record.
    pub fn record(&self) -> SessionRecord {
        self.state().record.clone()
    }

    /// Adds issues that the session plans to work on. They are written with the next entry that
    /// changes its record.
    pub(crate) fn plan_issues(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let mut state = self.state();
        state.issues(&*self.store)?.plan(numbers);
        Ok(())
    }

    /// Why nothing can be written any more.
    pub fn failure(&self) -> Option<StoreError> {
        self.state().broken.clone()
    }

    /// The store of the journal.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The session's lease.
    pub(crate) fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The session's project.
    pub(crate) fn project(&self) -> &str {
        &self.key.project
    }

    /// Calls `beside` for every event from now on. Returns the number for [`Self::forget_beside`].
    pub fn keep_beside(&self, beside: Beside) -> u64 {
        let mut state = self.state();
        state.last_beside += 1;
        let number = state.last_beside;
        state.beside.push((number, beside));
        number
    }

    /// Ends those calls.
    pub fn forget_beside(&self, number: u64) {
        self.state().beside.retain(|(known, _)| *known != number);
    }

    /// Writes these with the next commit. They are lost if the program is killed before that, so they
    /// may only be ends of something, and the caller writes something else before it waits for
    /// anyone.
    pub fn write_with_next(&self, events: &[RunEvent]) -> Result<(), StoreError> {
        let is_full = {
            let mut state = self.state();
            state.waiting.extend_from_slice(events);
            state.waiting.len() >= WAITING_ENTRIES_MAX
        };
        if is_full { self.write_waiting() } else { Ok(()) }
    }

    /// Writes what waits for the next commit.
    pub fn write_waiting(&self) -> Result<(), StoreError> {
        self.write(&[])
    }

    /// Writes these in one commit, behind what waits for one.
    pub fn write(&self, events: &[RunEvent]) -> Result<(), StoreError> {
        self.write_with(events, Vec::new())
    }

    /// The same, with further records in the same commit. If one of those has changed meanwhile,
    /// nothing is written, and the caller can try again.
    pub(crate) fn write_with(
        &self,
        events: &[RunEvent],
        others: Vec<Put>,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        let waiting = std::mem::take(&mut state.waiting);
        let all = waiting.iter().chain(events);
        let events: Vec<&RunEvent> = all.filter(|event| event.kind.is_journalled()).collect();
        if events.is_empty() {
            return Ok(());
        }
        if let Some(broken) = &state.broken {
            return Err(broken.clone());
        }
        let entries: Vec<String> = events.iter().map(|event| self.entry(event)).collect();
        let mut record = state.record.clone();
        let mut changed = state.version.is_none();
        for event in &events {
            state.see_issue(event, &record, &*self.store)?;
            changed |= record.see(event);
        }
        let pages = match &state.issues {
            Some(issues) if changed => issues.puts(&mut record),
            _ => Vec::new(),
        };
        let is_relied_on = events.iter().any(|event| is_relied_on(&event.kind));
        let append = Append { journal: &self.key, expected: state.last, entries: &entries };
        faults::point("journal entry");
        let mut conflicts = 0;
        let committed = loop {
            let beside = match conflicts {
                0..RECORD_CONFLICTS_MAX => state.beside(&events),
                // The caller checks afterwards whether it is there.
                _ => Vec::new(),
            };
            let is_synced = is_relied_on || !beside.is_empty();
            let mut commit = if is_synced { Commit::synced() } else { Commit::unsynced() };
            commit.fence = Some(&self.fence);
            commit.append = Some(append);
            commit.puts.extend(changed.then(|| self.put(&record, state.version)));
            commit.puts.extend(pages.iter().cloned());
            commit.puts.extend(others.iter().cloned());
            let mine = commit.puts.len();
            commit.puts.extend(beside);
            match self.store.commit(&commit) {
                Err(StoreError::RecordConflict { key, .. })
                    if commit.puts[mine..].iter().any(|put| put.key == key) =>
                {
                    conflicts += 1;
                }
                committed => break committed,
            }
        };
        match committed {
            Ok(committed) => {
                faults::point("journal entry written");
                state.last = committed.last;
                if changed {
                    state.version = committed.versions.first().copied();
                    state.issues.iter_mut().for_each(IssueLog::written);
                }
                state.record = record;
                Ok(())
            }
            Err(error @ StoreError::RecordConflict { .. }) if !others.is_empty() => {
                drop(events);
                state.waiting = waiting;
                Err(error)
            }
            Err(error) => {
                state.broken = Some(error.clone());
                Err(error)
            }
        }
    }

    fn put(&self, record: &SessionRecord, version: Option<u64>) -> Put {
        Put {
            kind: Kind::Session,
            key: RecordKey { project: record.project().to_owned(), name: record.name.clone() },
            expected: version.map_or(Expected::Absent, Expected::Version),
            value: serde_json::to_string(record).unwrap_or_default(),
            created_at_ms: record.created_at_ms(),
            status: record.status.to_string(),
            queued: None,
            moves: None,
        }
    }

    /// The entry's text: without secrets, and without output three times over.
    fn entry(&self, event: &RunEvent) -> String {
        let event = without_repetitions(event);
        let text = serde_json::to_string(&event).unwrap_or_default();
        // Most entries have none, and this is faster than a search in each of their texts.
        if !self.secrets.may_be_in_json(&text) {
            return text;
        }
        let mut value = serde_json::to_value(&event).unwrap_or_default();
        self.secrets.hide_in(&mut value);
        value.to_string()
    }

    /// Writes on another thread if the store is remote: timeouts and output of hooks and agents go on
    /// while it is away. A local store is faster than another thread.
    fn call<'a>(
        &'a self,
        events: &'a [RunEvent],
        write: fn(&Self, &[RunEvent]) -> Result<(), StoreError>,
    ) -> Promise<'a, io::Result<()>> {
        match self.this.upgrade().filter(|_| self.store.is_remote()) {
            Some(this) => {
                let events = events.to_vec();
                let writing = tokio::task::spawn_blocking(move || write(&this, &events));
                Box::pin(async move { writing.await?.map_err(io::Error::other) })
            }
            None => {
                let written = write(self, events).map_err(io::Error::other);
                Box::pin(std::future::ready(written))
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event without what other entries say too, or what nothing needs.
fn without_repetitions(event: &RunEvent) -> Cow<'_, RunEvent> {
    let RunEventKind::Firing(happened) = &event.kind else { return Cow::Borrowed(event) };
    let shorter = match happened {
        FiringEvent::Fired { event, subject, key, data: Some(_), late_answers }
            if key.as_deref().is_some_and(is_in_turn) =>
        {
            FiringEvent::Fired {
                event: event.clone(),
                subject: subject.clone(),
                key: key.clone(),
                data: None,
                late_answers: late_answers.clone(),
            }
        }
        FiringEvent::HookReported { report } => FiringEvent::HookReported {
            report: Report { stdout: String::new(), stderr: String::new(), ..report.clone() },
        },
        FiringEvent::Decided { decision: Value::Object(decision) } => {
            let fields = decision.iter().filter(|(name, _)| *name != "hooks");
            let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
            FiringEvent::Decided { decision: fields.collect() }
        }
        _ => return Cow::Borrowed(event),
    };
    Cow::Owned(RunEvent {
        version: event.version,
        firing: event.firing,
        at: event.at.clone(),
        session: event.session.clone(),
        kind: shorter.into(),
    })
}

/// Whether an agent's driver fired the event with this key. Such a firing is never taken up, so its data
/// are not needed; they may be a whole file.
fn is_in_turn(key: &str) -> bool {
    matches!(FiringKey::parse(key).point, Point::InTurn { .. })
}

/// Whether people rely on it: then it must survive a crash of the machine too.
fn is_relied_on(kind: &RunEventKind) -> bool {
    matches!(
        kind,
        RunEventKind::Session(SessionEvent::SessionStarted { .. })
            | RunEventKind::Session(SessionEvent::SessionEnded { .. })
            | RunEventKind::Turn(TurnEvent::TurnEnded { .. })
            | RunEventKind::Session(SessionEvent::StageEnded { .. })
            | RunEventKind::Session(SessionEvent::ItemEnded { .. })
    )
}

impl JournalState {
    /// The session's issues.
    fn issues(&mut self, store: &dyn Store) -> Result<&mut IssueLog, StoreError> {
        let issues = match self.issues.take() {
            Some(issues) => issues,
            None => IssueLog::read(store, &self.record)?,
        };
        Ok(self.issues.insert(issues))
    }

    fn see_issue(
        &mut self,
        event: &RunEvent,
        record: &SessionRecord,
        store: &dyn Store,
    ) -> Result<(), StoreError> {
        let is_about_one = match &event.kind {
            RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                item.number().is_some()
            }
            RunEventKind::Session(SessionEvent::ItemEnded { .. }) => record.current_issue.is_some(),
            _ => false,
        };
        if is_about_one {
            self.issues(store)?.see(event, record);
        }
        Ok(())
    }

    /// The records to store with these events.
    fn beside(&mut self, events: &[&RunEvent]) -> Vec<Put> {
        let asked = self.beside.iter_mut();
        asked.flat_map(|(_, beside)| events.iter().filter_map(|event| beside(event))).collect()
    }
}

impl Journal for SessionJournal {
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        self.record_all(std::slice::from_ref(event))
    }

    fn record_all<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        self.call(events, Self::write)
    }

    fn record_with_next<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        self.call(events, Self::write_with_next)
    }

    fn keeps_memory(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use hookwright_events::TaskState;
    use hookwright_store::{KeptTasks, NewTask, SqliteStore};

    use super::*;
    use crate::lease;

    fn journal(store: &Arc<dyn Store>) -> Arc<SessionJournal> {
        journal_hiding(store, Secrets::default())
    }

    fn journal_hiding(store: &Arc<dyn Store>, secrets: Secrets) -> Arc<SessionJournal> {
        let fence = lease::take(&**store, "s").expect("it is free");
        let record =
            SessionRecord { name: "s".into(), workspace: "/p".into(), ..SessionRecord::default() };
        SessionJournal::new(Arc::clone(store), fence, secrets, 0, None, record)
    }

    fn noted(note: &str) -> RunEvent {
        let kind = RunEventKind::Session(SessionEvent::Noted { note: note.to_owned() });
        RunEvent { version: 1, firing: 0, at: String::new(), session: None, kind }
    }

    /// Blocks the task with the entry `now`. Another writer may change the task before each call.
    fn blocks(tasks: &KeptTasks, others: u32) -> Beside {
        let (tasks, mut others) = (tasks.clone(), others);
        Box::new(move |event| {
            let is_it = matches!(&event.kind, RunEventKind::Session(SessionEvent::Noted { note }) if note == "now");
            let mut kept = tasks.get("1").expect("it is there");
            if others > 0 && is_it {
                others -= 1;
                let state = match kept.task.state {
                    TaskState::Open => TaskState::InProgress,
                    _ => TaskState::Open,
                };
                tasks.set_state(kept.task.id, state, 2).expect("it can be changed");
            }
            kept.task.set_state(TaskState::Blocked);
            is_it.then(|| tasks.put_for(&kept))
        })
    }

    #[test]
    fn an_entry_is_the_same_text_with_and_without_secrets_to_hide() {
        let store = || -> Arc<dyn Store> { Arc::new(SqliteStore::in_memory().expect("memory")) };
        let secrets = Secrets::new(vec![("TOKEN".to_owned(), "not-in-any-of-these".to_owned())]);
        let (without, with) = (journal(&store()), journal_hiding(&store(), secrets));
        for line in [
            r#"{"version":1,"firing":7,"at":"now","session":"s","kind":"fired","event":"iteration:start","subject":null,"key":"k","data":{"b":1.50,"a":[{}, "é\u0001"]}}"#,
            r#"{"version":1,"firing":7,"at":"now","session":"s","kind":"hook_spawned","hook":"h","child":"c","pipeline":"p"}"#,
            r#"{"version":1,"firing":0,"at":"now","session":null,"kind":"turn_ended","turn":{"stage":1,"iteration":2},"attempt":1,"result":{"decision":"stop"},"duration_ms":0.1}"#,
        ] {
            let event = RunEvent::from_json(line).expect(line);
            assert_eq!(without.entry(&event), with.entry(&event));
        }
    }

    #[test]
    fn waiting_entries_are_written_before_the_next_commit_and_do_not_wait_forever() {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
        let journal = journal(&store);
        let kept = || {
            let key = JournalKey { project: "/p".into(), session: "s".into() };
            let entries = store.journal(&key, 0, 1_000).expect("read");
            let notes = entries.into_iter().map(|entry| {
                let value: Value = serde_json::from_str(&entry.value).expect("JSON");
                value["note"].as_str().expect("a note").to_owned()
            });
            notes.collect::<Vec<_>>()
        };
        journal.write_with_next(&[noted("1"), noted("2")]).expect("put off");
        assert_eq!(kept(), Vec::<String>::new());
        journal.write(&[noted("3")]).expect("written");
        assert_eq!(kept(), ["1", "2", "3"]);
        journal.write_with_next(&[noted("4")]).expect("put off");
        journal.write_waiting().expect("written");
        journal.write_waiting().expect("nothing waits");
        assert_eq!(kept().len(), 4);
        for _ in 0..WAITING_ENTRIES_MAX {
            journal.write_with_next(&[noted("more")]).expect("put off");
        }
        assert_eq!(kept().len(), 4 + WAITING_ENTRIES_MAX);
    }

    #[test]
    fn a_record_beside_an_entry_is_written_in_the_same_commit() {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
        let tasks = KeptTasks::new(Arc::clone(&store), "/p");
        tasks.add(&NewTask::new("a"), 1).expect("kept");
        let state = || tasks.get("1").expect("there").task.state;
        let journal = journal(&store);
        let beside = journal.keep_beside(blocks(&tasks, 0));
        journal.write(&[noted("before")]).expect("written");
        assert_eq!(state(), TaskState::Open);
        journal.write(&[noted("now")]).expect("written");
        assert_eq!(state(), TaskState::Blocked);
        journal.forget_beside(beside);
        tasks.set_state(hookwright_events::TaskId(1), TaskState::Open, 3).expect("kept");
        journal.write(&[noted("now")]).expect("written");
        assert_eq!(state(), TaskState::Open);
    }

    #[test]
    fn a_record_that_others_change_meanwhile_does_not_keep_the_entry_from_being_written() {
        for (others, state) in [(3, TaskState::Blocked), (RECORD_CONFLICTS_MAX, TaskState::Open)] {
            let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
            let tasks = KeptTasks::new(Arc::clone(&store), "/p");
            tasks.add(&NewTask::new("a"), 1).expect("kept");
            let journal = journal(&store);
            journal.keep_beside(blocks(&tasks, others));
            journal.write(&[noted("now")]).expect("written");
            assert_eq!(journal.failure(), None);
            assert_eq!(tasks.get("1").expect("there").task.state, state, "{others}");
        }
    }
}
