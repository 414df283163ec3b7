//! What a host lends the engine. The engine keeps nothing between events and knows no storage, no
//! pipeline and no clock; each of these is a small trait, with an in-memory version beside it in
//! [`memory`].

pub mod memory;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{Answer, Decision, Event, RunEvent};
use serde_json::{Map, Value};

use crate::chain::Chain;
use crate::variables::Carried;

/// What a port promises to give.
pub type Promise<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Writes down what happens.
pub trait Journal: Send + Sync {
    /// Returns when the event is safe; only then does the effect that it announces start.
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>>;

    /// `false` if nothing is ever kept; then nothing has to be put together for it.
    fn keeps(&self) -> bool {
        true
    }
}

/// What a session remembers between events.
pub trait Memory: Send + Sync {
    /// Everything that is remembered, late answers included: those are handed out once.
    fn recall<'a>(&'a self, session: &'a str) -> Promise<'a, Remembered>;

    /// Remembers one thing more.
    fn keep<'a>(&'a self, session: &'a str, keepsake: Keepsake) -> Promise<'a, ()>;
}

/// A person's answer.
pub trait Waits: Send + Sync {
    /// Asks and waits; `None` when nobody answered in time.
    fn ask(&self, question: Question) -> Promise<'_, io::Result<Option<Value>>>;
}

/// Starts pipelines.
pub trait Pipelines: Send + Sync {
    /// Runs a child to its end and gives its output; the error says why there is none.
    fn start(&self, child: Child) -> Promise<'_, Result<Value, String>>;
}

/// Lets an action fire an event.
pub trait Fire: Send + Sync {
    /// Fires the event below the firings of `chain`.
    fn fire(&self, event: Event, chain: Chain) -> Promise<'_, Decision>;
}

/// Tells the time.
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
    pub stop_blocks: u32,
    /// What background hooks had to say.
    pub late_answers: Vec<Answer>,
}

/// One thing to remember.
#[derive(Debug, Clone, PartialEq)]
pub enum Keepsake {
    /// A hook with `once` has started.
    Once {
        /// Its id.
        hook: String,
    },
    /// How the last awaited hook ended.
    LastHookStatus {
        /// `success` or `failed`.
        status: &'static str,
    },
    /// Stops that were blocked in a row.
    StopBlocks {
        /// How many.
        count: u32,
    },
    /// What a background hook had to say.
    LateAnswer {
        /// Contexts and messages only.
        answer: Box<Answer>,
    },
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The hook that asks.
    pub hook: String,
    /// What is asked.
    pub text: String,
    /// How long to wait.
    pub timeout: Duration,
}

/// A pipeline to start.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    /// Its name.
    pub pipeline: String,
    /// What it is given.
    pub inputs: Map<String, Value>,
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
