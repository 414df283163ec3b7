//! Hookwright's engine: an event and a set of hooks go in, a decision and reports come out.
//!
//! This program embeds it: a closure as a hook, an event, the decision, and an observer.
//!
//! ```
//! use hookwright_engine::{Answer, Engine, Event, Firing, Hook, Interest, serde_json::json};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let engine = Engine::builder(std::env::current_dir()?)
//!         .hook(Hook::on("tool:pre_execute:bash", |call| async move {
//!             let command = call.event.text_at("/tool_input/command").ok_or("no command")?;
//!             Ok(if command.contains("sudo") { Answer::deny("no sudo") } else { Answer::default() })
//!         }))
//!         .observe(Interest::NoOutput, |seen| println!("{}", json!(seen)["kind"]))
//!         .build()?;
//!     let call = json!({ "tool_name": "bash", "tool_input": { "command": "sudo reboot" } });
//!     let fired = engine.fire(Event::named("tool:pre_execute", call)?, Firing::default()).await;
//!     println!("{:?}", fired.decision.verdict);
//!     Ok(())
//! }
//! ```
//!
//! [`Engine::builder`] builds an engine, [`Hook::on`] makes a hook from a function,
//! [`Engine::fire`] fires an [`Event`], and [`Fired`] holds the [`Decision`] and a [`Report`] of
//! every matching hook. The crate `hookwright-config` reads hooks from files into a [`HookSet`],
//! for [`EngineBuilder::hooks`]. Everything else that the engine needs, the host provides through
//! [`ports`]. The types of `hookwright-events` are exported here too, so that one dependency is
//! enough.
//!
//! # The path of one event
//!
//! 1. Functions, and hooks from files, are in a [`HookSet`]. Its index finds the hooks that match
//!    the event ([`pattern`], [`matcher`]).
//! 2. `dispatch` decides, without IO, what starts, what waits, what is retried ([`condition`]
//!    evaluates `when:`), and what the decision is.
//! 3. `engine` runs those steps: actions start, with [`variables`] in their environment; the host's
//!    [`ports`] journal and remember; observers receive the [`RunEvent`]s.
//! 4. `native` reads a hook's output ([`answer`]) and says what its end means.
//!
//! Functions run before the hooks of all files, at every event, in the order in which they were
//! added: they start no process, so their denial saves the processes of the others. What a host
//! wants to do after all hooks, it does with the decision.
//!
//! # Ending, cancelling, dropping
//!
//! - Every hook has a timeout. A command is ended with all processes that it started. A callback's
//!   token ([`Call::cancelled`]) is cancelled, the callback gets [`limits::CALLBACK_GRACE`] to
//!   clean up, and then its future is dropped; its answer after the token is ignored. A callback
//!   that blocks its thread cannot be ended: use `tokio::task::spawn_blocking` for long
//!   computations.
//! - [`Engine::interrupt`] does the same to everything that runs, for good: nothing starts any
//!   more, and a guard that had not answered blocks.
//! - Dropping the future of [`Engine::fire`] ends the hooks that it waits for: commands are killed,
//!   tokens are cancelled, futures are dropped at once. Background hooks continue.
//! - Background hooks continue after the decision. [`Engine::settle`] waits for them; a runtime
//!   that shuts down first drops them. Each has a timeout, so settling ends.
//! - An [`Engine`] is a handle: clones share everything, and background hooks outlive the last one.
//!
//! # Threads and runtimes
//!
//! The engine needs a tokio runtime with time and IO enabled, of either kind, and normally starts
//! no thread. Awaited hooks run within the task that fires: callbacks are polled there, on its
//! thread. Background hooks are tasks of their own on the same runtime. Observers are called
//! between the steps of a firing and delay it as long as they take. Events may be fired from many
//! tasks at once; firings have no order among each other.
//!
//! # Panics
//!
//! A callback that panics has failed, with the panic's message as its reason: while its future is
//! created, polled or dropped. The program's panic hook still sees it, and `panic = "abort"` still
//! ends the program. Panics of observers and ports belong to the host and reach the caller of
//! `fire`.
//!
//! # Limits
//!
//! Everything that waits or grows has a limit. All of them are in [`limits`], each with its reason.
//! The number of child processes at once is one of them; callbacks are not child processes and need
//! no slot.
#![warn(missing_docs)]

mod actions;
pub mod answer;
mod chain;
pub mod condition;
mod dispatch;
mod engine;
pub mod explain;
mod fired;
mod glob;
mod handed_over;
pub mod hook;
mod hook_set;
#[cfg(feature = "http")]
pub mod http;
mod lazy_regex;
pub mod limits;
pub mod matcher;
mod native;
mod nearest;
mod panics;
mod past;
pub mod pattern;
pub mod policy;
pub mod ports;
pub mod process_outcome;
mod secrets;
pub mod shell_commands;
mod slots;
pub mod template;
pub mod variables;

pub use actions::GIT_LOCATION_VARIABLES;
pub use chain::{CHAIN_VARIABLE, Chain};
pub use dispatch::can_block;
pub use engine::{BuildError, Engine, EngineBuilder, Firing, Interest, Observer, Setup};
pub use fired::Fired;
pub use glob::{Glob, is_glob};
pub use handed_over::{Background, HandedOver};
pub use hook::{Call, CallbackFailure, Exhausted, Hook, HookBuilder, Layer, OnFailure};
pub use hook_set::{Broken, Full, HookSet, ReadError};
pub use hookwright_events as events;
pub use hookwright_events::{
    Answer, AnswerDecision, Decision, Event, EventError, EventName, FiringEvent, FunctionOutcome,
    Outcome, PersonOutcome, ProcessOutcome, Report, RequestOutcome, RunEvent, RunEventKind,
    SessionEvent, Status, TurnEvent, Verdict, WorkOutcome,
};
pub use lazy_regex::{Case, LazyRegex, one_line};
pub use native::{NATIVE, NativeWire, why_not};
pub use nearest::nearest;
pub use panics::catch_panic;
pub use past::PastFiring;
pub use secrets::{SecretSearch, Secrets};
pub use serde_json;
pub use tokio_util::sync::CancellationToken;

/// The programs on the page for embedders are compiled and run as they are.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingPage;
