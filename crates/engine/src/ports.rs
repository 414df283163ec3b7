//! What a host lends the engine. The engine keeps nothing between events and knows no storage, no
//! pipeline and no clock; each of these is a small trait, with an in-memory version beside it in
//! [`memory`].
//!
//! | port | is asked | without one of your own |
//! |---|---|---|
//! | [`Journal`] | before every effect, and after it | nothing is written down |
//! | [`Memory`] | at every firing, and when a hook leaves something | as long as the engine lives |
//! | [`Waits`] | when a hook wants a person's answer | such a hook fails |
//! | [`Pipelines`] | when a hook starts a pipeline | such a hook fails |
//! | [`Clock`] | for the time in events and run events | the system's |
//! | [`Fire`] | by actions that fire events; the engine is one itself | |
//!
//! [`Ports`] holds them; [`EngineBuilder::ports`](crate::EngineBuilder::ports) hands them over:
//!
//! ```
//! use std::sync::Arc;
//! use hookwright_engine::Engine;
//! use hookwright_engine::ports::Ports;
//! use hookwright_engine::ports::memory::ManualClock;
//!
//! let clock = Arc::new(ManualClock::at("2026-01-02T03:04:05Z"));
//! let engine = Engine::builder("/").ports(Ports { clock, ..Ports::default() }).build()?;
//! # Ok::<(), hookwright_engine::BuildError>(())
//! ```
//!
//! Ports are called within the task that fires, and the firing waits for them: a port that is slow
//! makes every hook slow, and one that never answers holds the host up for ever. They are asked from
//! many firings at once. What a port cannot do it says by its error, where it has one; a panic reaches
//! whoever fires.

pub mod memory;
mod pipelines;
mod stop_blocks;
mod waits;

use std::borrow::Cow;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use hookwright_events::{Answer, Decision, Event, RunEvent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chain::Chain;
use crate::limits::LATE_ANSWERS_MAX;
use crate::variables::Carried;
pub use pipelines::{Child, ChildEnd, EndRequest, NotRun, Pipelines, StartedBy};
pub use stop_blocks::StopBlocks;
pub use waits::{NewWait, OpenWait, WaitEnd, WaitKey, Waits, Word};

/// What a port promises to give.
pub type Promise<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Writes down what happens, so that it can be known after a crash.
///
/// The engine calls [`record`](Journal::record) for every [`RunEvent`] except output on its way, in
/// the order in which things happen within a firing; firings at once mix, and their events carry the
/// firing's number. A hook's `hook_starting` comes before anything of the hook runs, and nothing runs
/// if it is refused: the hook has failed then, and a guard that failed blocks. Of what has already
/// happened an error is ignored. Observers are shown an event after the journal has it.
///
/// It must promise that what it has answered `Ok` to is still there when it is read again.
///
/// ```
/// use std::io;
/// use std::sync::{Arc, Mutex};
/// use hookwright_engine::ports::{Journal, Ports, Promise};
/// use hookwright_engine::serde_json::{self, json};
/// use hookwright_engine::{Answer, Engine, Event, Firing, Hook, RunEvent};
///
/// /// One line of JSON for every event.
/// #[derive(Default)]
/// struct Lines(Mutex<Vec<String>>);
///
/// impl Journal for Lines {
///     fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
///         Box::pin(async {
///             let line = serde_json::to_string(event)?;
///             self.0.lock().expect("no panic holds it").push(line);
///             Ok(())
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let lines = Arc::new(Lines::default());
/// let engine = Engine::builder("/")
///     .ports(Ports { journal: lines.clone(), ..Ports::default() })
///     .hook(Hook::on("Stop", |_| async { Ok(Answer::default()) }))
///     .build()?;
/// engine.fire(Event::named("Stop", json!({}))?, Firing::default()).await;
/// // fired, hook_starting, hook_ended, hook_reported, decided
/// assert_eq!(lines.0.lock().expect("no panic holds it").len(), 5);
/// # Ok(())
/// # }
/// ```
pub trait Journal: Send + Sync {
    /// Returns when the event is safe; only then does the effect that it announces start.
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>>;

    /// Several at once, oldest first: all of them are safe, or none.
    fn record_all<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        Box::pin(async move {
            for event in events {
                self.record(event).await?;
            }
            Ok(())
        })
    }

    /// Whether it also keeps what the [`Memory`] is told, so that a memory that is gone can be made
    /// anew from it.
    fn keeps_memory(&self) -> bool {
        false
    }

    /// `false` if nothing is ever kept; then nothing has to be put together for it.
    fn keeps(&self) -> bool {
        true
    }
}

/// What a session remembers between events: which hooks with `once` have run, what the last hook
/// left, how often a stop was blocked, what background hooks have to say.
///
/// The engine calls [`recall`](Memory::recall) once at the beginning of every firing, also where no
/// hook listens, and [`keep`](Memory::keep) whenever there is something to remember. The session is
/// the firing's, else the event's `session` or `session_id`, else empty: one session for all who
/// have no name.
///
/// It must promise that `recall` gives everything that `keep` was given for this session before, and
/// each late answer once. It has no error: what it cannot keep is forgotten, and then `once` may
/// mean twice.
///
/// ```
/// use std::sync::Arc;
/// use hookwright_engine::ports::memory::InMemoryMemory;
/// use hookwright_engine::ports::{Keepsake, Memory, Ports, Promise, Remembered};
/// use hookwright_engine::serde_json::json;
/// use hookwright_engine::{Answer, Engine, Event, Firing, Hook, Status};
///
/// /// All sessions of one user share what they remember.
/// #[derive(Default)]
/// struct PerUser(InMemoryMemory);
///
/// fn user(session: &str) -> &str {
///     session.split_once('/').map_or(session, |(user, _)| user)
/// }
///
/// impl Memory for PerUser {
///     fn recall<'a>(&'a self, session: &'a str) -> Promise<'a, Remembered> {
///         self.0.recall(user(session))
///     }
///
///     fn keep<'a>(&'a self, session: &'a str, keepsake: Keepsake) -> Promise<'a, ()> {
///         self.0.keep(user(session), keepsake)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::builder("/")
///     .ports(Ports { memory: Arc::new(PerUser::default()), ..Ports::default() })
///     .hook(Hook::on("session:start", |_| async { Ok(Answer::default()) }).once().awaits(true))
///     .build()?;
/// for (session, status) in [("ann/1", Status::Success), ("ann/2", Status::Skipped)] {
///     let event = Event::named("session:start", json!({ "session": session }))?;
///     assert_eq!(engine.fire(event, Firing::default()).await.reports[0].status, status);
/// }
/// # Ok(())
/// # }
/// ```
pub trait Memory: Send + Sync {
    /// Everything that is remembered, late answers included: those are handed out once.
    fn recall<'a>(&'a self, session: &'a str) -> Promise<'a, Remembered>;

    /// Remembers one thing more.
    fn keep<'a>(&'a self, session: &'a str, keepsake: Keepsake) -> Promise<'a, ()>;
}

/// Lets an action fire an event.
///
/// Called by actions that announce what they do, as a commit does with `git:pre_commit`. An
/// [`Engine`](crate::Engine) is such a port itself; the trait is for code that wants to fire without
/// knowing who listens, and for its tests. Callbacks have [`Call::fire`](crate::Call::fire).
///
/// It must promise to pass the chain on: by it a hook that would wake itself again is found.
///
/// ```
/// use hookwright_engine::Chain;
/// use hookwright_engine::ports::Fire;
/// use hookwright_engine::ports::memory::InMemoryFire;
/// use hookwright_engine::serde_json::json;
/// use hookwright_engine::{Answer, Engine, Event, Hook, Verdict};
///
/// /// Code that announces what it is about to do.
/// async fn commit(fire: &dyn Fire) -> Result<&'static str, String> {
///     let event = Event::named("git:pre_commit", json!({})).expect("a known event");
///     match fire.fire(event, Chain::default()).await.verdict {
///         Verdict::Proceed { .. } | Verdict::Allow { .. } => Ok("committed"),
///         refusal => Err(format!("{refusal:?}")),
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let nobody_listens = InMemoryFire::default();
/// assert_eq!(commit(&nobody_listens).await, Ok("committed"));
/// assert_eq!(nobody_listens.fired().len(), 1);
///
/// let hook = Hook::on("git:pre_commit", |_| async { Ok(Answer::deny("tests fail")) });
/// let engine = Engine::builder("/").hook(hook).build()?;
/// assert!(commit(&engine).await.is_err());
/// # Ok(())
/// # }
/// ```
pub trait Fire: Send + Sync {
    /// Fires the event below the firings of `chain`.
    fn fire(&self, event: Event, chain: Chain) -> Promise<'_, Decision>;
}

/// Tells the time.
///
/// The engine calls [`now`](Clock::now) for the `timestamp` of events that come without one, and for
/// every run event. Timeouts and delays do not ask it: they are the runtime's.
///
/// It must promise ISO 8601 in UTC, which scripts and journals read. It may stand still or go back.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use hookwright_engine::ports::{Clock, Ports};
/// use hookwright_engine::serde_json::json;
/// use hookwright_engine::{Answer, Engine, Event, Firing, Hook};
///
/// /// Every look at it is a second later.
/// #[derive(Default)]
/// struct Ticks(AtomicU32);
///
/// impl Clock for Ticks {
///     fn now(&self) -> String {
///         let seconds = self.0.fetch_add(1, Ordering::Relaxed);
///         format!("2026-01-02T03:{:02}:{:02}Z", seconds / 60 % 60, seconds % 60)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::builder("/")
///     .ports(Ports { clock: Arc::new(Ticks::default()), ..Ports::default() })
///     .hook(Hook::on("Stop", |_| async { Ok(Answer::default()) }))
///     .build()?;
/// for time in ["2026-01-02T03:00:00Z", "2026-01-02T03:00:01Z"] {
///     let fired = engine.fire(Event::named("Stop", json!({}))?, Firing::default()).await;
///     assert_eq!(fired.event.text("timestamp"), Some(time));
/// }
/// # Ok(())
/// # }
/// ```
pub trait Clock: Send + Sync {
    /// Now, ISO 8601 in UTC.
    fn now(&self) -> String;
}

/// What a session remembers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Remembered {
    /// Ids of hooks with `once` that have run.
    pub once: Vec<String>,
    /// What hooks left for later ones.
    pub carried: Carried,
    /// Stops that were blocked in a row with no work between them.
    pub stop_blocks: StopBlocks,
    /// What background hooks had to say.
    pub late_answers: Vec<Answer>,
}

impl Remembered {
    /// Remembers one thing more.
    pub fn keep(&mut self, keepsake: Keepsake) {
        match keepsake {
            Keepsake::Once { hook } => {
                if !self.once.contains(&hook) {
                    self.once.push(hook);
                }
            }
            Keepsake::LastHookStatus { status } => self.carried.last_hook_status = Some(status),
            Keepsake::HookResponse { response } => self.carried.hook_response = Some(response),
            Keepsake::SpawnOutput { output } => self.carried.spawn_output = output,
            Keepsake::StopBlocks { agent, count } => self.stop_blocks.set(&agent, count),
            Keepsake::LateAnswer { answer } => {
                if self.late_answers.len() == LATE_ANSWERS_MAX {
                    self.late_answers.remove(0);
                }
                self.late_answers.push(*answer);
            }
        }
    }
}

/// One thing to remember.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keepsake {
    /// A hook with `once` has started.
    Once {
        /// Its id.
        hook: String,
    },
    /// How the last awaited hook ended.
    LastHookStatus {
        /// `success` or `failed`.
        status: Cow<'static, str>,
    },
    /// What a person answered.
    HookResponse {
        /// The whole answer.
        response: Value,
    },
    /// What a child pipeline left.
    SpawnOutput {
        /// Its output; nothing if it came to none.
        output: Option<Value>,
    },
    /// Stops that were blocked in a row.
    StopBlocks {
        /// The agent's id; empty for the session's own agent.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        /// How many.
        count: u32,
    },
    /// What a background hook had to say.
    LateAnswer {
        /// Contexts and messages only.
        answer: Box<Answer>,
    },
}

/// All ports of one engine.
#[derive(Clone)]
pub struct Ports {
    /// Writes down what happens.
    pub journal: Arc<dyn Journal>,
    /// Remembers between events.
    pub memory: Arc<dyn Memory>,
    /// Asks people.
    pub waits: Arc<dyn Waits>,
    /// Starts pipelines.
    pub pipelines: Arc<dyn Pipelines>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}
