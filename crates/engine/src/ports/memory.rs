//! The ports' in-memory versions: for tests, for embedders who need no more, and for commands that
//! keep no session.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::{Decision, Event, RunEvent};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{
    Child, Clock, Fire, Journal, Keepsake, Memory, NewWait, OpenWait, Pipelines, Ports, Promise,
    Remembered, WaitEnd, WaitKey, Waits, Word,
};
use crate::chain::Chain;
use crate::limits::{JOURNAL_EVENTS_MAX, SESSIONS_MAX};
use crate::variables::Carried;

impl Default for Ports {
    /// Nothing is journalled, a session is remembered as long as the program runs.
    fn default() -> Self {
        Self {
            journal: Arc::new(NoJournal),
            memory: Arc::new(InMemoryMemory::default()),
            waits: Arc::new(InMemoryWaits::default()),
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

/// Waits that last as long as the program. Nobody listens but the program itself: it answers them
/// with [`decide`](InMemoryWaits::decide), or beforehand with
/// [`answer_next`](InMemoryWaits::answer_next).
#[derive(Debug, Default)]
pub struct InMemoryWaits {
    waits: Mutex<Vec<KeptWait>>,
    answers: Mutex<VecDeque<Value>>,
    changed: Notify,
}

#[derive(Debug)]
struct KeptWait {
    wait: NewWait,
    open: OpenWait,
    until: Instant,
    end: Option<WaitEnd>,
}

impl InMemoryWaits {
    /// The next wait that is opened gets this answer.
    pub fn answer_next(&self, answer: Value) {
        locked(&self.answers).push_back(answer);
    }

    /// Decides an open wait; `false` if there is none with this id, if it has ended, or if the
    /// answer's `action` is no word that it takes.
    pub fn decide(&self, id: &str, answer: Value) -> bool {
        let mut waits = locked(&self.waits);
        let Some(kept) = of_id(&mut waits, id).filter(|kept| kept.end.is_none()) else {
            return false;
        };
        kept.end = decision(answer, &kept.wait.offered);
        self.changed.notify_waiters();
        kept.end.is_some()
    }

    /// What was asked, oldest first, and how it ended.
    pub fn asked(&self) -> Vec<(NewWait, OpenWait, Option<WaitEnd>)> {
        let all = locked(&self.waits);
        all.iter().map(|kept| (kept.wait.clone(), kept.open.clone(), kept.end.clone())).collect()
    }

    /// How the wait has ended, or until when it goes on.
    fn end_of(&self, id: &str) -> io::Result<Result<WaitEnd, Instant>> {
        let mut waits = locked(&self.waits);
        let kept = of_id(&mut waits, id).ok_or_else(|| no_wait(id))?;
        if kept.end.is_none() && kept.until <= Instant::now() {
            kept.end = Some(WaitEnd::TimedOut);
        }
        Ok(kept.end.clone().ok_or(kept.until))
    }
}

impl Waits for InMemoryWaits {
    fn find<'a>(&'a self, key: &'a WaitKey) -> Promise<'a, io::Result<Option<OpenWait>>> {
        let waits = locked(&self.waits);
        let kept = waits.iter().find(|kept| kept.wait.key.as_ref() == Some(key));
        Box::pin(std::future::ready(Ok(kept.map(|kept| kept.open.clone()))))
    }

    fn open(&self, wait: NewWait) -> Promise<'_, io::Result<OpenWait>> {
        let mut waits = locked(&self.waits);
        let same = |kept: &&KeptWait| wait.key.is_some() && kept.wait.key == wait.key;
        let open = match waits.iter().find(same) {
            Some(kept) => kept.open.clone(),
            None => {
                let id = format!("wait-{}", waits.len() + 1);
                let now = jiff::Timestamp::now();
                let until = now.checked_add(wait.timeout).unwrap_or(jiff::Timestamp::MAX);
                let open = OpenWait {
                    callback_url: format!("http://localhost/callback/{id}"),
                    id,
                    since: written(now),
                    until: written(until),
                    request: wait.request.clone(),
                    was_sent: false,
                    notes: Vec::new(),
                };
                let answer = locked(&self.answers).pop_front();
                let end = answer.and_then(|answer| decision(answer, &wait.offered));
                let until = Instant::now() + wait.timeout;
                waits.push(KeptWait { wait, open: open.clone(), until, end });
                open
            }
        };
        Box::pin(std::future::ready(Ok(open)))
    }

    fn sent<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>> {
        let mut waits = locked(&self.waits);
        let done = match of_id(&mut waits, id) {
            Some(kept) => {
                kept.open.was_sent = true;
                Ok(())
            }
            None => Err(no_wait(id)),
        };
        Box::pin(std::future::ready(done))
    }

    fn decided<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<WaitEnd>> {
        Box::pin(async move {
            loop {
                let mut changed = std::pin::pin!(self.changed.notified());
                // From here on no change is missed.
                changed.as_mut().enable();
                match self.end_of(id)? {
                    Ok(end) => return Ok(end),
                    Err(until) => {
                        let _ = tokio::time::timeout_at(until, changed).await;
                    }
                }
            }
        })
    }

    fn abandon<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>> {
        let mut waits = locked(&self.waits);
        let done = match of_id(&mut waits, id) {
            Some(kept) => {
                kept.end.get_or_insert(WaitEnd::Abandoned);
                Ok(())
            }
            None => Err(no_wait(id)),
        };
        self.changed.notify_waiters();
        Box::pin(std::future::ready(done))
    }
}

fn of_id<'a>(waits: &'a mut [KeptWait], id: &str) -> Option<&'a mut KeptWait> {
    waits.iter_mut().find(|kept| kept.open.id == id)
}

fn no_wait(id: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no wait `{id}`"))
}

fn decision(response: Value, offered: &[String]) -> Option<WaitEnd> {
    let action = response.get("action").and_then(Value::as_str).unwrap_or_default();
    let word = Word::of(action, offered)?;
    let at = written(jiff::Timestamp::now());
    Some(WaitEnd::Decided { response, word, by: "this program".to_owned(), at })
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
    use std::time::Duration;

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

    fn keyed(hook: &str) -> NewWait {
        let key = WaitKey {
            session: "s".into(),
            firing: "1".into(),
            hook: hook.into(),
            digest: "d".into(),
        };
        let timeout = Duration::from_secs(1);
        NewWait { key: Some(key), timeout, ..NewWait::default() }
    }

    #[tokio::test]
    async fn a_wait_is_found_by_its_key_decided_once_and_never_made_twice() {
        let waits = InMemoryWaits::default();
        let key = keyed("a").key.expect("it has one");
        assert_eq!(waits.find(&key).await.expect("asked"), None);
        let opened = waits.open(keyed("a")).await.expect("opened");
        assert_eq!(waits.open(keyed("a")).await.expect("found"), opened);
        waits.sent(&opened.id).await.expect("noted");
        let found = waits.find(&key).await.expect("asked").expect("it is there");
        assert_eq!(found, OpenWait { was_sent: true, ..opened.clone() });
        assert!(!waits.decide(&opened.id, json!({ "action": "perhaps" })));
        assert!(waits.decide(&opened.id, json!({ "action": "no" })));
        assert!(!waits.decide(&opened.id, json!({ "action": "yes" })));
        waits.abandon(&opened.id).await.expect("noted");
        let end = waits.decided(&opened.id).await.expect("decided");
        assert!(matches!(end, WaitEnd::Decided { word: Word::No, .. }), "{end:?}");
        let without_key = NewWait::default();
        let first = waits.open(without_key.clone()).await.expect("opened");
        assert_ne!(waits.open(without_key).await.expect("opened").id, first.id);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_with_an_answer_with_its_time_or_with_nobody_waiting() {
        let waits = Arc::new(InMemoryWaits::default());
        let [late, left, answered] = ["late", "left", "answered"].map(keyed);
        let late = waits.open(late).await.expect("opened");
        assert_eq!(waits.decided(&late.id).await.expect("known"), WaitEnd::TimedOut);
        assert!(!waits.decide(&late.id, json!({ "action": "yes" })));
        let left = waits.open(left).await.expect("opened");
        let answered = waits.open(answered).await.expect("opened");
        let waiting = [&left.id, &answered.id].map(|id| {
            let (waits, id) = (Arc::clone(&waits), id.clone());
            tokio::spawn(async move { waits.decided(&id).await.expect("known") })
        });
        waits.abandon(&left.id).await.expect("noted");
        assert!(waits.decide(&answered.id, json!({ "action": "ok" })));
        let [left, answered] = waiting;
        assert_eq!(left.await.expect("no panic"), WaitEnd::Abandoned);
        let answered = answered.await.expect("no panic");
        assert!(matches!(answered, WaitEnd::Decided { word: Word::Yes, .. }), "{answered:?}");
        assert!(waits.decided("nobody").await.is_err());
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
