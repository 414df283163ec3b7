//! Hookwright's engine: an event and a set of hooks go in, a decision and reports come out.
//!
//! The path of one event:
//!
//! 1. [`config`] has read the files into a [`hook_set::HookSet`], whose index finds the hooks that
//!    the event wakes ([`pattern`], [`matcher`]).
//! 2. [`dispatch`] decides, without IO, what starts, what waits, what is tried again ([`condition`]
//!    answers `when:`), and what it all adds up to.
//! 3. [`engine`] runs those steps: actions start, with [`variables`] in their environment; the host's
//!    [`ports`] journal and remember.
//! 4. [`native`] reads what a hook printed ([`answer`]) and says what its end means.
#![warn(missing_docs)]

mod actions;
pub mod answer;
pub mod chain;
pub mod condition;
pub mod config;
pub mod dispatch;
pub mod engine;
pub mod explain;
pub mod glob;
pub mod hook;
pub mod hook_set;
pub mod limits;
pub mod matcher;
pub mod native;
pub mod nearest;
pub mod pattern;
pub mod policy;
pub mod ports;
pub mod secrets;
mod slots;
pub mod template;
pub mod variables;

pub use engine::{BuildError, Engine, EngineBuilder, Fired, Firing, Interest, Observer, Setup};
pub use hook::{Call, Failure, Hook, HookBuilder, OnFailure};
pub use hookwright_events as events;
pub use hookwright_events::{
    Answer, AnswerDecision, Decision, Event, EventError, EventName, Outcome, Report, RunEvent,
    RunEventKind, Status, Verdict,
};
pub use serde_json;
pub use tokio_util::sync::CancellationToken;
