//! [`Callback`]: a function of the host's program as a hook's action; [`Call`]: its argument.
//! `actions/callback.rs` runs, ends and contains it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{Answer, Event, Outcome};
use tokio_util::sync::CancellationToken;

use super::Shell;
use crate::fired::Fired;

/// A function of the host's program, as a hook's action. [`Hook::on`](super::Hook::on) makes a hook
/// from one.
#[derive(Clone)]
pub struct Callback {
    function: Arc<Function>,
    name: &'static str,
}

type Function = dyn Fn(Call) -> CallbackFuture + Send + Sync;

/// A running callback.
pub(crate) type CallbackFuture =
    Pin<Box<dyn Future<Output = Result<Answer, CallbackFailure>> + Send>>;

impl Callback {
    /// A function that is called with each event that its hook matches.
    pub fn new<F, R>(function: F) -> Self
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Answer, CallbackFailure>> + Send + 'static,
    {
        let function = move |call| -> CallbackFuture { Box::pin(function(call)) };
        Self { function: Arc::new(function), name: std::any::type_name::<F>() }
    }

    /// The function's name as the compiler writes it: `agent::rules::no_sudo`, or
    /// `agent::main::{{closure}}`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn call(&self, call: Call) -> CallbackFuture {
        (self.function)(call)
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Callback").field(&self.name).finish()
    }
}

/// What a callback can do within its firing.
pub(crate) trait WithinFiring: Send + Sync {
    /// Fires an event below this one.
    fn fire(&self, event: Event) -> BoxFuture<'_, Fired>;

    /// Moves to the background, with an answer or without.
    fn go_async(&self, answer: Option<Box<Answer>>, time: Option<Duration>);

    /// Runs a command as part of the callback.
    fn run<'a>(
        &'a self,
        command: &'a Shell,
        timeout: Duration,
        cancel: &'a CancellationToken,
        went_async: Box<dyn FnMut() + Send + 'a>,
    ) -> BoxFuture<'a, Outcome>;
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The argument of a callback.
#[derive(Clone)]
#[non_exhaustive]
pub struct Call {
    /// The event, as every hook of the firing sees it.
    pub event: Arc<Event>,
    /// The id of the tool call that the event is about, if there is one.
    pub tool_use_id: Option<String>,
    /// The hook's id.
    pub hook: String,
    /// 1 for the first attempt, more for retries.
    pub attempt: u32,
    /// Cancelled when the hook's time is over, when the engine is interrupted and when the host
    /// drops the firing. After the first two, the callback has
    /// [`CALLBACK_GRACE`](crate::limits::CALLBACK_GRACE) to clean up; its answer is then ignored.
    pub cancelled: CancellationToken,
    pub(crate) within: Arc<dyn WithinFiring>,
}

impl Call {
    /// Fires an event from within the callback, in the same session, with the same engine. A
    /// callback that would run itself again this way is refused, and so is nesting deeper than
    /// [`FIRING_DEPTH_MAX`](crate::limits::FIRING_DEPTH_MAX).
    pub async fn fire(&self, event: Event) -> Fired {
        self.within.fire(event).await
    }

    /// Moves to the background: the firing continues without the callback, which decides nothing
    /// any more. It may run for this time, or for [`ASYNC_TIMEOUT`](crate::limits::ASYNC_TIMEOUT).
    /// Contexts and messages of its later answer wait for the session's next event. A command does
    /// the same with the line `{"async": true}`.
    pub fn go_async(&self, time: Option<Duration>) {
        self.within.go_async(None, time);
    }

    /// Answers now and moves to the background. This answer counts; the rest is as with
    /// [`go_async`](Call::go_async). Only the first call of either counts.
    pub fn answer_now(&self, answer: Answer, time: Option<Duration>) {
        self.within.go_async(Some(Box::new(answer)), time);
    }

    /// Runs a command as part of the callback, with the event on standard input and the environment
    /// of a command hook. The command is ended when its time is over, when the callback's token is
    /// cancelled, and when the returned future is dropped. `went_async` is called when the command
    /// prints the line `{"async": true}`; the command may then run for the time that it requested.
    pub async fn run(
        &self,
        command: &Shell,
        timeout: Duration,
        went_async: impl FnMut() + Send,
    ) -> Outcome {
        self.within.run(command, timeout, &self.cancelled, Box::new(went_async)).await
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("event", &self.event)
            .field("tool_use_id", &self.tool_use_id)
            .field("hook", &self.hook)
            .field("attempt", &self.attempt)
            .field("cancelled", &self.cancelled.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Why a callback has no answer. Anything that implements `Display` converts to it, so `?` works on
/// every error and `Err("no network".into())` on a text. It goes through the hook's `on_failure`
/// like any other failure: at events that can be blocked, it blocks by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackFailure {
    cause: String,
}

impl CallbackFailure {
    /// The reason, as reports show it.
    pub fn cause(&self) -> &str {
        &self.cause
    }
}

// `CallbackFailure` itself must never implement `Display`: this would then overlap with `From<T>
// for T`.
impl<E: fmt::Display> From<E> for CallbackFailure {
    fn from(error: E) -> Self {
        // The alternate form: error types that keep their causes show all of them.
        Self { cause: format!("{error:#}") }
    }
}
