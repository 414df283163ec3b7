//! The services that a host provides. The engine keeps nothing between events and knows no storage,
//! no pipeline and no clock. Each of these is a small trait, with an in-memory version in
//! [`memory`].
//!
//! | port | is called | default |
//! |---|---|---|
//! | [`Journal`] | before every effect, and after it | nothing is journalled |
//! | [`Memory`] | at every firing, and when a hook leaves something | lasts as long as the engine |
//! | [`Waits`] | when a hook needs a person's answer | such a hook fails |
//! | [`Pipelines`] | when a hook starts a pipeline | such a hook fails |
//! | [`Clock`] | for the time in events and run events | the system's clock |
//! | [`Fire`] | by actions that fire events; the engine implements it | |
//!
//! [`Ports`] holds them; pass it to [`EngineBuilder::ports`](crate::EngineBuilder::ports):
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
//! Ports are called within the task that fires, and the firing waits for them: a slow port makes
//! every hook slow, and one that never answers blocks the host forever. Several firings may call
//! them at once. A port reports failures by its error, if it has one; a panic reaches the caller of
//! `fire`.

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
pub use waits::{AnswerMeaning, NewWait, OpenWait, WaitEnd, WaitKey, Waits};

/// The future that a port returns.
pub type Promise<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Records what happens, so that it is known after a crash.
///
/// The engine calls [`record`](Journal::record) for every [`RunEvent`] except live output, in the
/// order in which things happen within a firing. Events of simultaneous firings mix; each carries
/// its firing's number. A hook's `hook_starting` is recorded before anything of the hook runs. If
/// that fails, the hook does not run and has failed, and a failed guard blocks. Errors about what
/// has already happened are ignored. Observers receive an event after the journal has it.
///
/// An implementation must keep everything that it answered with `Ok`.
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
    /// Returns when the event is stored. Only then does the announced effect start.
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>>;

    /// Several events, oldest first: all of them are stored, or none.
    fn record_all<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        Box::pin(async move {
            for event in events {
                self.record(event).await?;
            }
            Ok(())
        })
    }

    /// The end of a firing whose host asked for this ([`Firing::ends_with_next`]): stored at the latest
    /// together with what is recorded next, so that both take one write.
    ///
    /// [`Firing::ends_with_next`]: crate::Firing::ends_with_next
    fn record_with_next<'a>(&'a self, events: &'a [RunEvent]) -> Promise<'a, io::Result<()>> {
        self.record_all(events)
    }

    /// Whether it also keeps what the [`Memory`] is given, so that a lost memory can be rebuilt
    /// from it.
    fn keeps_memory(&self) -> bool {
        false
    }

    /// `false` if it stores nothing; then no events are built for it.
    fn keeps(&self) -> bool {
        true
    }
}

/// What a session remembers between events: which hooks with `once` have run, what the last hook
/// left, how often a stop was blocked, late answers of background hooks.
///
/// The engine calls [`recall`](Memory::recall) once at the beginning of every firing, even if no
/// hook matches, and [`keep`](Memory::keep) whenever there is something to remember. The session is
/// the firing's, else the event's `session` or `session_id`, else empty: all firings without a name
/// share one session.
///
/// `recall` must return everything that `keep` was given for this session, and each late answer
/// once. There is no error: what cannot be kept is forgotten, and a hook with `once` may then run
/// twice.
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
    /// Everything that is remembered, including late answers, which are returned once.
    fn recall<'a>(&'a self, session: &'a str) -> Promise<'a, Remembered>;

    /// Remembers one more thing.
    fn keep<'a>(&'a self, session: &'a str, keepsake: Keepsake) -> Promise<'a, ()>;
}

/// Lets an action fire an event.
///
/// Used by actions that announce what they do, as a commit does with `git:pre_commit`. An
/// [`Engine`](crate::Engine) implements it; the trait is for code that fires without knowing the
/// listeners, and for its tests. Callbacks have [`Call::fire`](crate::Call::fire).
///
/// An implementation must pass the chain on: it is how a hook that would run itself again is found.
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
/// let no_listeners = InMemoryFire::default();
/// assert_eq!(commit(&no_listeners).await, Ok("committed"));
/// assert_eq!(no_listeners.fired().len(), 1);
///
/// let hook = Hook::on("git:pre_commit", |_| async { Ok(Answer::deny("tests fail")) });
/// let engine = Engine::builder("/").hook(hook).build()?;
/// assert!(commit(&engine).await.is_err());
/// # Ok(())
/// # }
/// ```
pub trait Fire: Send + Sync {
    /// Fires the event below the hooks of `chain`.
    fn fire(&self, event: Event, chain: Chain) -> Promise<'_, Decision>;
}

/// Tells the time.
///
/// The engine calls [`now`](Clock::now) for the `timestamp` of events that come without one, and
/// for every run event. Timeouts and delays use the runtime's clock instead.
///
/// The time must be ISO 8601 in UTC, which scripts and journals read. It may stand still or go
/// back.
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
    /// The current time, ISO 8601 in UTC.
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
    /// Late answers of background hooks.
    pub late_answers: Vec<Answer>,
}

impl Remembered {
    /// Whether the next firing has something to pass on or to count, even if no hook matches it.
    pub fn concerns_every_firing(&self) -> bool {
        let Self { late_answers, stop_blocks, once: _, carried: _ } = self;
        !late_answers.is_empty() || *stop_blocks != StopBlocks::default()
    }

    /// Remembers one more thing.
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
        /// The hook's id.
        hook: String,
    },
    /// How the last awaited hook ended.
    LastHookStatus {
        /// `success` or `failed`.
        status: Cow<'static, str>,
    },
    /// A person's answer.
    HookResponse {
        /// The whole answer.
        response: Value,
    },
    /// What a child pipeline left.
    SpawnOutput {
        /// The output, if there was one.
        output: Option<Value>,
    },
    /// The number of stops that were blocked in a row.
    StopBlocks {
        /// The agent's id; empty for the session's own agent.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
        /// How many stops.
        count: u32,
    },
    /// A background hook's late answer.
    LateAnswer {
        /// Contexts and messages only.
        answer: Box<Answer>,
    },
}

/// All ports of one engine.
#[derive(Clone)]
pub struct Ports {
    /// Records what happens.
    pub journal: Arc<dyn Journal>,
    /// Remembers between events.
    pub memory: Arc<dyn Memory>,
    /// Asks people for answers.
    pub waits: Arc<dyn Waits>,
    /// Starts pipelines.
    pub pipelines: Arc<dyn Pipelines>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}
