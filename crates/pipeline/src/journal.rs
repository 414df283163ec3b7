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
    Append, Commit, Delete, Expected, Fence, JournalKey, Put, Store, StoreError,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::limits::{RECORD_CONFLICTS_MAX, WAITING_ENTRIES_MAX};
use crate::record::SessionRecord;
use crate::session_issues::IssueLog;
use crate::store_calls::{StoreCall, StoreCalls};
use crate::submission;

/// Writes a session's run events.
pub struct SessionJournal {
    this: Weak<Self>,
    calls: StoreCalls,
    key: JournalKey,
    session_id: String,
    fence: Fence,
    secrets: Secrets,
    /// Locked during a whole commit, by the thread that makes it.
    end: Mutex<JournalEnd>,
    /// Never locked while anything is waited for.
    state: Mutex<JournalState>,
    /// Cancelled by the first failure.
    broken: CancellationToken,
    /// The number of the engine's entries that are not yet written.
    underway: watch::Sender<usize>,
}

/// Where the journal ends in the store.
struct JournalEnd {
    last: u64,
    version: Option<u64>,
    /// The session's issues, once it has any.
    issues: Option<IssueLog>,
}

struct JournalState {
    /// As it was written last.
    record: SessionRecord,
    /// What waits for the next commit.
    waiting: Vec<RunEvent>,
    /// Set by the first failure: from then on nothing is written, so that the journal has no gap.
    failure: Option<StoreError>,
    /// Called for every event, each with its number.
    beside: Vec<(u64, Arc<Mutex<Beside>>)>,
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
        calls: StoreCalls,
        fence: Fence,
        secrets: Secrets,
        last: u64,
        version: Option<u64>,
        record: SessionRecord,
    ) -> Arc<Self> {
        let key = JournalKey { project: record.project().to_owned(), session: record.name.clone() };
        let session_id = record.id.clone();
        let end = Mutex::new(JournalEnd { last, version, issues: None });
        let state = Mutex::new(JournalState {
            record,
            waiting: Vec::new(),
            failure: None,
            beside: Vec::new(),
            last_beside: 0,
        });
        let (broken, underway) = (CancellationToken::new(), watch::Sender::new(0));
        Arc::new_cyclic(|this| {
            let this = Weak::clone(this);
            Self { this, calls, key, session_id, fence, secrets, end, state, broken, underway }
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
    pub(crate) fn plan_issues(&self, numbers: Vec<u64>) -> StoreCall<Result<(), StoreError>> {
        self.call(move |journal| {
            let record = journal.record();
            let store = &**journal.calls.store();
            journal.end().issues(store, &record)?.plan(&numbers);
            Ok(())
        })
    }

    /// Why nothing can be written any more.
    pub fn failure(&self) -> Option<StoreError> {
        self.state().failure.clone()
    }

    /// Returns when nothing can be written any more.
    pub(crate) async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Returns when the engine has no entry under way: whatever it has recorded, it has also acted on.
    pub(crate) async fn settled(&self) {
        // The sender lives as long as `self`.
        let _ = self.underway.subscribe().wait_for(|count| *count == 0).await;
    }

    /// The session's calls to its store.
    pub(crate) fn calls(&self) -> &StoreCalls {
        &self.calls
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
        state.beside.push((number, Arc::new(Mutex::new(beside))));
        number
    }

    /// Ends those calls.
    pub fn forget_beside(&self, number: u64) {
        self.state().beside.retain(|(known, _)| *known != number);
    }

    /// Writes these with the next commit. They are lost if the program is killed before that, so they
    /// may only be ends of something, and the caller writes something else before it waits for
    /// anyone.
    pub fn write_with_next(&self, events: &[RunEvent]) -> StoreCall<Result<(), StoreError>> {
        let is_full = {
            let mut state = self.state();
            state.waiting.extend_from_slice(events);
            state.waiting.len() >= WAITING_ENTRIES_MAX
        };
        if is_full { self.write_waiting() } else { StoreCall::done(Ok(())) }
    }

    /// Writes what waits for the next commit.
    pub fn write_waiting(&self) -> StoreCall<Result<(), StoreError>> {
        self.write(&[])
    }

    /// Writes these in one commit, behind what waits for one.
    pub fn write(&self, events: &[RunEvent]) -> StoreCall<Result<(), StoreError>> {
        // What is only shown must not wait for a store that is away.
        let is_only_shown = !events.is_empty() && !events.iter().any(|it| it.kind.is_journalled());
        if is_only_shown {
            return StoreCall::done(Ok(()));
        }
        let waiting = std::mem::take(&mut self.state().waiting);
        if !self.calls.is_remote() {
            return StoreCall::done(self.commit(waiting, events, Vec::new(), &[]));
        }
        let events = events.to_vec();
        self.call(move |journal| journal.commit(waiting, &events, Vec::new(), &[]))
    }

    /// The same, with further records that no other process changes.
    pub(crate) fn write_kept(
        &self,
        events: Vec<RunEvent>,
        puts: Vec<Put>,
        deletes: Vec<Delete>,
    ) -> StoreCall<Result<(), StoreError>> {
        let waiting = std::mem::take(&mut self.state().waiting);
        self.call(move |journal| journal.commit(waiting, &events, puts, &deletes))
    }

    /// Writes nothing more, and lets everything end that records something.
    pub(crate) fn give_up(&self, cause: String) {
        self.state().failure.get_or_insert(StoreError::Io { cause });
        self.broken.cancel();
    }

    /// Counts as an entry under way until it is dropped.
    pub(crate) fn underway(&self) -> Underway<'_> {
        Underway::new(&self.underway)
    }

    /// The same, with a further record in the same commit. It is asked for again if it has changed
    /// meanwhile, up to a limit.
    pub(crate) fn write_with<E: From<StoreError> + Send + 'static>(
        &self,
        event: RunEvent,
        mut other: impl FnMut() -> Result<Option<Put>, E> + Send + 'static,
    ) -> StoreCall<Result<(), E>> {
        self.call(move |journal| {
            for time in 1.. {
                let other = other()?.into_iter().collect();
                let waiting = std::mem::take(&mut journal.state().waiting);
                match journal.commit(waiting, std::slice::from_ref(&event), other, &[]) {
                    Err(StoreError::RecordConflict { .. }) if time < RECORD_CONFLICTS_MAX => {}
                    written => return Ok(written?),
                }
            }
            Ok(())
        })
    }

    /// Commits what waited, and these. If another record has changed meanwhile, nothing is written,
    /// and the caller can try again.
    fn commit(
        &self,
        waiting: Vec<RunEvent>,
        events: &[RunEvent],
        others: Vec<Put>,
        deletes: &[Delete],
    ) -> Result<(), StoreError> {
        let mut end = self.end();
        let all = waiting.iter().chain(events);
        let events: Vec<&RunEvent> = all.filter(|event| event.kind.is_journalled()).collect();
        if events.is_empty() {
            return Ok(());
        }
        let mut record = {
            let state = self.state();
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            state.record.clone()
        };
        let store = &**self.calls.store();
        let entries: Vec<String> = events.iter().map(|event| self.entry(event)).collect();
        let mut changed = end.version.is_none();
        for event in &events {
            end.see_issue(event, &record, store)?;
            changed |= record.see(event);
        }
        let pages = match &end.issues {
            Some(issues) if changed => issues.puts(&mut record),
            _ => Vec::new(),
        };
        let is_relied_on = events.iter().any(|event| is_relied_on(&event.kind));
        let append = Append { journal: &self.key, expected: end.last, entries: &entries };
        faults::point("journal entry");
        let mut conflicts = 0;
        let committed = loop {
            let beside = match conflicts {
                0..RECORD_CONFLICTS_MAX => self.beside(&events),
                // The caller checks afterwards whether it is there.
                _ => Vec::new(),
            };
            let is_synced = is_relied_on || !beside.is_empty();
            let mut commit = if is_synced { Commit::synced() } else { Commit::unsynced() };
            commit.fence = Some(&self.fence);
            commit.append = Some(append);
            commit.deletes.extend_from_slice(deletes);
            commit.puts.extend(changed.then(|| submission::put(&record, version(end.version))));
            commit.puts.extend(pages.iter().cloned());
            commit.puts.extend(others.iter().cloned());
            let mine = commit.puts.len();
            commit.puts.extend(beside);
            match store.commit(&commit) {
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
                end.last = committed.last;
                if changed {
                    end.version = committed.versions.first().copied();
                    end.issues.iter_mut().for_each(IssueLog::written);
                }
                self.state().record = record;
                Ok(())
            }
            Err(error @ StoreError::RecordConflict { .. }) if !others.is_empty() => {
                drop(events);
                self.state().waiting.splice(0..0, waiting);
                Err(error)
            }
            Err(error) => {
                self.state().failure = Some(error.clone());
                self.broken.cancel();
                Err(error)
            }
        }
    }

    /// The records to store with these events.
    fn beside(&self, events: &[&RunEvent]) -> Vec<Put> {
        let asked = self.state().beside.clone();
        let puts = asked.into_iter().flat_map(|(_, beside)| {
            let mut beside = beside.lock().unwrap_or_else(PoisonError::into_inner);
            events.iter().filter_map(|event| beside(event)).collect::<Vec<_>>()
        });
        puts.collect()
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

    /// Makes a call that needs the journal.
    fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> StoreCall<T> {
        if !self.calls.is_remote() {
            return StoreCall::done(call(self));
        }
        let this = self.this.upgrade().expect("it is borrowed, so it is there");
        self.calls.call(move |_| call(&this))
    }

    /// A call as the engine's journal returns it.
    fn promised(&self, written: StoreCall<Result<(), StoreError>>) -> Promise<'_, io::Result<()>> {
        match written.into_result() {
            Ok(written) => Box::pin(std::future::ready(written.map_err(io::Error::other))),
            Err(written) => {
                let underway = Underway::new(&self.underway);
                Box::pin(async move {
                    let written = written.await.map_err(io::Error::other);
                    drop(underway);
                    written
                })
            }
        }
    }

    fn end(&self) -> MutexGuard<'_, JournalEnd> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The state in which the session's record is expected.
fn version(version: Option<u64>) -> Expected {
    version.map_or(Expected::Absent, Expected::Version)
}

/// Whether people rely on it: then it must survive a crash of the machine too.
fn is_relied_on(kind: &RunEventKind) -> bool {
    matches!(
        kind,
        RunEventKind::Session(SessionEvent::SessionSubmitted { .. })
            | RunEventKind::Session(SessionEvent::SessionStarted { .. })
            | RunEventKind::Session(SessionEvent::SessionEnded { .. })
            | RunEventKind::Turn(TurnEvent::TurnEnded { .. })
            | RunEventKind::Session(SessionEvent::StageEnded { .. })
            | RunEventKind::Session(SessionEvent::ItemEnded { .. })
    )
}

impl JournalEnd {
    /// The session's issues.
    fn issues(
        &mut self,
        store: &dyn Store,
        record: &SessionRecord,
    ) -> Result<&mut IssueLog, StoreError> {
        let issues = match self.issues.take() {
            Some(issues) => issues,
            None => IssueLog::read(store, record)?,
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
            self.issues(store, record)?.see(event, record);
        }
        Ok(())
    }
}

/// Counts one of the engine's entries while it is under way.
pub(crate) struct Underway<'a>(&'a watch::Sender<usize>);

impl<'a> Underway<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Journal for SessionJournal {
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        self.record_all(std::slice::from_ref(event))
    }

    fn record_all<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        self.promised(self.write(events))
    }

    fn record_with_next<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        self.promised(self.write_with_next(events))
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
        let calls = StoreCalls::new(Arc::clone(store)).expect("local");
        SessionJournal::new(calls, fence, secrets, 0, None, record)
    }

    /// A local store makes a call at once.
    fn done(call: StoreCall<Result<(), StoreError>>) {
        call.into_result().expect("it is done").expect("written");
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
        done(journal.write_with_next(&[noted("1"), noted("2")]));
        assert_eq!(kept(), Vec::<String>::new());
        done(journal.write(&[noted("3")]));
        assert_eq!(kept(), ["1", "2", "3"]);
        done(journal.write_with_next(&[noted("4")]));
        done(journal.write_waiting());
        done(journal.write_waiting());
        assert_eq!(kept().len(), 4);
        for _ in 0..WAITING_ENTRIES_MAX {
            done(journal.write_with_next(&[noted("more")]));
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
        done(journal.write(&[noted("before")]));
        assert_eq!(state(), TaskState::Open);
        done(journal.write(&[noted("now")]));
        assert_eq!(state(), TaskState::Blocked);
        journal.forget_beside(beside);
        tasks.set_state(hookwright_events::TaskId(1), TaskState::Open, 3).expect("kept");
        done(journal.write(&[noted("now")]));
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
            done(journal.write(&[noted("now")]));
            assert_eq!(journal.failure(), None);
            assert_eq!(tasks.get("1").expect("there").task.state, state, "{others}");
        }
    }
}
