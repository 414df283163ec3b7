//! What differs between dialects, as data and as three pure functions. The engine never asks which
//! dialect it is.

use std::fmt;

use hookwright_events::{Answer, Event, Outcome, Power, Status};

/// How the hooks of one file follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Awaited hooks one by one; the first block ends them.
    OneByOne,
    /// All at once, all awaited; they see the values from before, answers count in order.
    AtOnce,
}

/// The rules that hooks of one dialect follow.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// How they follow each other.
    pub order: Order,
    /// What they read, what their output means, what is shown of it.
    pub wire: &'static dyn Wire,
}

/// What an outcome means once it has been read.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// Success, blocked, failed or timed out.
    pub status: Status,
    /// Why, unless all is well.
    pub reason: Option<String>,
    /// What the hook asks for.
    pub answer: Answer,
    /// Whether trying again could help.
    pub may_retry: bool,
}

/// Where an outcome is read.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The event.
    pub event: &'a Event,
    /// What hooks can do there.
    pub power: Power,
    /// Whether the decision waits for this hook.
    pub awaited: bool,
}

/// A dialect's wire format: three pure functions.
pub trait Wire: fmt::Debug + Send + Sync {
    /// What a hook reads on standard input.
    fn input(&self, event: &Event, hook: &str, attempt: u32) -> String;

    /// What an outcome means at this event.
    fn meaning(&self, outcome: &Outcome, at: At<'_>) -> Meaning;

    /// What the agent is shown of a hook whose output is piped to it.
    fn shown(&self, hook: &str, outcome: &Outcome, meaning: &Meaning) -> String;
}
