//! The ports' in-memory versions: for tests, for embedders who need no more, and for commands that
//! keep no session.

mod waits;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::{Decision, Event, RunEvent};
use serde_json::Value;

use super::{Child, Clock, Fire, Journal, Keepsake, Memory, Pipelines, Ports, Promise, Remembered};
use crate::chain::Chain;
use crate::limits::{JOURNAL_EVENTS_MAX, SESSIONS_MAX};
use crate::variables::Carried;
pub use waits::{InMemoryWaits, NobodyToAsk};

impl Default for Ports {
    /// Nothing is journalled, a session is remembered as long as the program runs, and nobody can be
    /// asked.
    fn default() -> Self {
        Self {
            journal: Arc::new(NoJournal),
            memory: Arc::new(InMemoryMemory::default()),
            waits: Arc::new(NobodyToAsk),
            pipelines: Arc::new(InMemoryPipelines::default()),
            clock: Arc::new(SystemClock),
        }
    }
}

/// A lock is only ever held for a few lines that cannot leave half a change behind.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes nothing down.
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
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    /// When it was used last, and what it remembers.
    all: HashMap<String, (u64, Remembered)>,
    uses: u64,
}

impl Sessions {
    fn of(&mut self, session: &str) -> &mut Remembered {
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
    /// A memory in which one session remembers this already.
    pub fn with(session: &str, remembered: Remembered) -> Self {
        let memory = Self::default();
        *locked(&memory.sessions).of(session) = remembered;
        memory
    }

    /// What hooks of this session left for whoever comes next. Nothing is handed out by asking.
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
        sessions.of(session).keep(keepsake);
        Box::pin(std::future::ready(()))
    }
}

/// Pipelines that give what they were told to give.
#[derive(Debug, Default)]
pub struct InMemoryPipelines {
    outputs: Mutex<HashMap<String, Value>>,
    started: Mutex<Vec<Child>>,
}

impl InMemoryPipelines {
    /// A pipeline of this name exists and gives this output.
    pub fn add(&self, pipeline: &str, output: Value) {
        locked(&self.outputs).insert(pipeline.to_owned(), output);
    }

    /// What was started, oldest first.
    pub fn started(&self) -> Vec<Child> {
        locked(&self.started).clone()
    }
}

impl Pipelines for InMemoryPipelines {
    fn start(&self, child: Child) -> Promise<'_, Result<Value, String>> {
        let output = locked(&self.outputs)
            .get(&child.pipeline)
            .cloned()
            .ok_or_else(|| format!("there is no pipeline `{}`", child.pipeline));
        locked(&self.started).push(child);
        Box::pin(std::future::ready(output))
    }
}

/// Fires nothing, remembers what was asked for, lets everything pass.
#[derive(Debug, Default)]
pub struct InMemoryFire {
    fired: Mutex<Vec<(Event, Chain)>>,
}

impl InMemoryFire {
    /// What was fired, oldest first.
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
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A clock that is moved by hand.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: Mutex<String>,
}

impl ManualClock {
    /// A clock that stands at this time.
    pub fn at(now: &str) -> Self {
        Self { now: Mutex::new(now.to_owned()) }
    }

    /// Moves it.
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
    use hookwright_events::{Answer, EventName, RunEventKind};
    use serde_json::{Map, json};

    use super::*;

    #[tokio::test]
    async fn a_journal_keeps_what_it_is_given_in_order() {
        let journal = InMemoryJournal::default();
        for firing in 0..3 {
            let event = RunEvent {
                version: 1,
                firing,
                at: String::new(),
                session: None,
                kind: RunEventKind::HookWentAsync { hook: "a".into() },
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
            Keepsake::StopBlocks { count: 3 },
            Keepsake::LateAnswer { answer: Box::new(answer.clone()) },
        ] {
            memory.keep("s", keepsake).await;
        }
        let first = memory.recall("s").await;
        assert_eq!(first.once, ["a"]);
        assert_eq!(
            (first.stop_blocks, first.carried.last_hook_status.as_deref()),
            (3, Some("failed"))
        );
        assert_eq!(first.late_answers, [answer]);
        assert!(memory.recall("s").await.late_answers.is_empty());
        assert_eq!(memory.recall("another").await, Remembered::default());
    }

    #[tokio::test]
    async fn pipelines_firings_and_clocks_do_what_they_are_told() {
        let pipelines = InMemoryPipelines::default();
        pipelines.add("review", json!({ "status": "ok" }));
        let child = |name: &str| Child { pipeline: name.into(), inputs: Map::new() };
        assert_eq!(pipelines.start(child("review")).await, Ok(json!({ "status": "ok" })));
        assert!(pipelines.start(child("nope")).await.is_err());
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
