//! In-memory versions of the ports: for tests, for embedders who need no more, and for commands
//! without a session.

mod waits;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::{Decision, Event, EventName, RunEvent};
use serde_json::{Map, Value};

use super::{
    Child, ChildEnd, Clock, EndRequest, Fire, Journal, Keepsake, Memory, NotRun, Pipelines, Ports,
    Promise, Remembered, StartedBy,
};
use crate::chain::Chain;
use crate::hook::SpawnDir;
use crate::limits::{JOURNAL_EVENTS_MAX, SESSIONS_MAX};
use crate::variables::Carried;
pub use waits::{InMemoryWaits, NoApprover};

impl Default for Ports {
    /// Nothing is journalled, sessions are remembered as long as the program runs, no person can be
    /// asked, and there are no pipelines.
    fn default() -> Self {
        Self {
            journal: Arc::new(NoJournal),
            memory: Arc::new(InMemoryMemory::default()),
            waits: Arc::new(NoApprover),
            pipelines: Arc::new(NoPipelines),
            clock: Arc::new(SystemClock),
        }
    }
}

/// Ignores poisoning: a lock is only held for a few lines that cannot leave half a change behind.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Discards all run events.
#[derive(Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn record<'a>(&'a self, _event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn keeps(&self) -> bool {
        false
    }
}

/// Keeps the latest run events.
#[derive(Debug, Default)]
pub struct InMemoryJournal {
    events: Mutex<VecDeque<RunEvent>>,
}

impl InMemoryJournal {
    /// What was recorded, oldest first.
    pub fn events(&self) -> Vec<RunEvent> {
        locked(&self.events).iter().cloned().collect()
    }
}

impl Journal for InMemoryJournal {
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        let mut events = locked(&self.events);
        if events.len() == JOURNAL_EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Remembers as long as the program runs.
#[derive(Debug, Default)]
pub struct InMemoryMemory {
    sessions: Mutex<RememberedSessions>,
}

#[derive(Debug, Default)]
struct RememberedSessions {
    /// The time of its last use, and what it remembers.
    all: HashMap<String, (u64, Remembered)>,
    uses: u64,
}

impl RememberedSessions {
    fn remembered(&mut self, session: &str) -> &mut Remembered {
        self.uses += 1;
        if !self.all.contains_key(session) && self.all.len() >= SESSIONS_MAX {
            let oldest = self.all.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.all.remove(&oldest);
            }
        }
        let (used, remembered) = self.all.entry(session.to_owned()).or_default();
        *used = self.uses;
        remembered
    }
}

impl InMemoryMemory {
    /// A memory in which one session already remembers this.
    pub fn with(session: &str, remembered: Remembered) -> Self {
        let memory = Self::default();
        *locked(&memory.sessions).remembered(session) = remembered;
        memory
    }

    /// Whether the next firing of this session has something to pass on or to count, even if no hook
    /// matches it.
    pub fn concerns_every_firing(&self, session: &str) -> bool {
        let sessions = locked(&self.sessions);
        sessions.all.get(session).is_some_and(|(_, known)| known.concerns_every_firing())
    }

    /// What hooks of this session left for later ones. Late answers stay where they are.
    pub fn carried(&self, session: &str) -> Carried {
        let sessions = locked(&self.sessions);
        sessions.all.get(session).map(|(_, known)| known.carried.clone()).unwrap_or_default()
    }
}

impl Memory for InMemoryMemory {
    fn recall<'a>(&'a self, session: &'a str) -> Promise<'a, Remembered> {
        let mut sessions = locked(&self.sessions);
        let remembered = sessions.all.get_mut(session).map(|(_, remembered)| {
            let handed_out = remembered.clone();
            remembered.late_answers.clear();
            handed_out
        });
        Box::pin(std::future::ready(remembered.unwrap_or_default()))
    }

    fn keep<'a>(&'a self, session: &'a str, keepsake: Keepsake) -> Promise<'a, ()> {
        let mut sessions = locked(&self.sessions);
        sessions.remembered(session).keep(keepsake);
        Box::pin(std::future::ready(()))
    }
}

/// Every start fails.
#[derive(Debug, Default)]
pub struct NoPipelines;

impl Pipelines for NoPipelines {
    fn start(&self, _child: Child) -> Promise<'_, Result<ChildEnd, NotRun>> {
        let cause =
            "pipelines need a session, but this event was fired outside a session".to_owned();
        Box::pin(std::future::ready(Err(NotRun { cause, may_retry: false })))
    }
}

/// Pipelines with prepared results.
#[derive(Debug, Default)]
pub struct InMemoryPipelines {
    ends: Mutex<HashMap<String, VecDeque<ChildEnd>>>,
    started: Mutex<Vec<Child>>,
}

impl InMemoryPipelines {
    /// Makes a pipeline of this name complete with this output.
    pub fn add(&self, pipeline: &str, output: Value) {
        let (what, output) = (format!("{pipeline} completed"), Some(output));
        self.add_end(pipeline, ChildEnd { completed: true, what, output });
    }

    /// Makes a pipeline of this name end like this: the first end that was added counts for the
    /// first run, and the last one for all further runs.
    pub fn add_end(&self, pipeline: &str, end: ChildEnd) {
        locked(&self.ends).entry(pipeline.to_owned()).or_default().push_back(end);
    }

    /// The started children, oldest first.
    pub fn started(&self) -> Vec<Child> {
        locked(&self.started).clone()
    }
}

impl Pipelines for InMemoryPipelines {
    fn start(&self, child: Child) -> Promise<'_, Result<ChildEnd, NotRun>> {
        let end = locked(&self.ends).get_mut(&child.pipeline).and_then(|ends| {
            let is_last = ends.len() == 1;
            if is_last { ends.front().cloned() } else { ends.pop_front() }
        });
        let cause = format!("there is no pipeline `{}`", child.pipeline);
        let end = end.ok_or(NotRun { cause, may_retry: false });
        locked(&self.started).push(child);
        Box::pin(std::future::ready(end))
    }
}

/// A child without inputs, for examples and tests.
pub fn sample_child(pipeline: &str) -> Child {
    Child {
        pipeline: pipeline.to_owned(),
        inputs: Map::new(),
        working_dir: SpawnDir::Project,
        started_by: StartedBy {
            hook: String::new(),
            key: String::new(),
            file: std::path::Path::new("").into(),
            event: EventName::SESSION_START,
            iteration: 0,
            firing: 0,
            awaited: true,
            run_id: String::new(),
        },
        end: EndRequest::default(),
    }
}

/// Fires nothing, records the calls, and lets everything pass.
#[derive(Debug, Default)]
pub struct InMemoryFire {
    fired: Mutex<Vec<(Event, Chain)>>,
}

impl InMemoryFire {
    /// The fired events, oldest first.
    pub fn fired(&self) -> Vec<(Event, Chain)> {
        locked(&self.fired).clone()
    }
}

impl Fire for InMemoryFire {
    fn fire(&self, event: Event, chain: Chain) -> Promise<'_, Decision> {
        locked(&self.fired).push((event, chain));
        Box::pin(std::future::ready(Decision::default()))
    }
}

/// The system's clock.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> String {
        written(jiff::Timestamp::now())
    }
}

fn written(time: jiff::Timestamp) -> String {
    format!("{time:.3}")
}

/// A clock that is set by hand.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: Mutex<String>,
}

impl ManualClock {
    /// A clock that shows this time.
    pub fn at(now: &str) -> Self {
        Self { now: Mutex::new(now.to_owned()) }
    }

    /// Sets the time.
    pub fn set(&self, now: &str) {
        *locked(&self.now) = now.to_owned();
    }
}

impl Clock for ManualClock {
    fn now(&self) -> String {
        locked(&self.now).clone()
    }
}

#[cfg(test)]
mod tests {
    use hookwright_events::{Answer, FiringEvent, RunEventKind};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_journal_keeps_its_events_in_order() {
        let journal = InMemoryJournal::default();
        for firing in 0..3 {
            let event = RunEvent {
                version: 1,
                firing,
                at: String::new(),
                session: None,
                kind: RunEventKind::Firing(FiringEvent::HookWentAsync {
                    hook: "a".into(),
                    answer: None,
                }),
            };
            journal.record(&event).await.expect("memory does not fail");
            NoJournal.record(&event).await.expect("nothing does not fail");
        }
        let firings: Vec<u64> = journal.events().iter().map(|event| event.firing).collect();
        assert_eq!(firings, [0, 1, 2]);
    }

    #[tokio::test]
    async fn a_session_remembers_and_hands_late_answers_out_once() {
        let memory = InMemoryMemory::default();
        let answer = Answer { system_message: Some("late".into()), ..Answer::default() };
        for keepsake in [
            Keepsake::Once { hook: "a".into() },
            Keepsake::Once { hook: "a".into() },
            Keepsake::LastHookStatus { status: "failed".into() },
            Keepsake::StopBlocks { agent: String::new(), count: 3 },
            Keepsake::LateAnswer { answer: Box::new(answer.clone()) },
        ] {
            memory.keep("s", keepsake).await;
        }
        let first = memory.recall("s").await;
        assert_eq!(first.once, ["a"]);
        assert_eq!(
            (first.stop_blocks.count_for(""), first.carried.last_hook_status.as_deref()),
            (3, Some("failed"))
        );
        assert_eq!(first.late_answers, [answer]);
        assert!(memory.recall("s").await.late_answers.is_empty());
        assert_eq!(memory.recall("another").await, Remembered::default());
    }

    #[test]
    fn a_time_always_has_three_digits_after_the_second() {
        for (nanoseconds, text) in [
            (0, "2026-01-02T03:04:05.000Z"),
            (7_000_000, "2026-01-02T03:04:05.007Z"),
            (120_000_000, "2026-01-02T03:04:05.120Z"),
            (999_999_999, "2026-01-02T03:04:05.999Z"),
        ] {
            let time = jiff::Timestamp::new(1_767_323_045, nanoseconds).expect("in range");
            assert_eq!(written(time), text);
        }
    }

    #[tokio::test]
    async fn scripted_pipelines_firings_and_clocks_follow_their_script() {
        let pipelines = InMemoryPipelines::default();
        pipelines.add("review", json!({ "status": "ok" }));
        let ended = pipelines.start(sample_child("review")).await.expect("it is known");
        assert_eq!((ended.completed, ended.output), (true, Some(json!({ "status": "ok" }))));
        assert!(pipelines.start(sample_child("nope")).await.is_err());
        assert!(NoPipelines.start(sample_child("review")).await.is_err());
        assert_eq!(pipelines.started().len(), 2);

        let fire = InMemoryFire::default();
        let event = Event::new(EventName::resolve("Stop").expect("known"), Map::new());
        assert_eq!(fire.fire(event, Chain::default()).await, Decision::default());
        assert_eq!(fire.fired().len(), 1);

        let clock = ManualClock::at("1");
        assert_eq!(clock.now(), "1");
        clock.set("2");
        assert_eq!(clock.now(), "2");
    }
}
