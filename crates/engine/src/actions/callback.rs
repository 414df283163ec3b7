//! The callback action: a function of the host's own program, under the same rules as other hooks.
//!
//! A child process can be killed; a function can only be asked to end and then abandoned. When its
//! time is over, or the engine is interrupted, its token is cancelled, it gets [`CALLBACK_GRACE`]
//! to clean up, and then its future is dropped, even if it ignores the token. Only a function that
//! blocks its thread cannot be ended.
//!
//! A panic fails the hook, whether it comes from creating, polling or dropping the future.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hookwright_events::{Answer, FunctionOutcome, Outcome, Output, WorkOutcome};
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::cut::Cut;
use super::from_within::{CallbackRequest, FromWithin};
use super::{ActionNews, HookAttempt};
use crate::hook::{Call, Callback, CallbackFuture};
use crate::limits::CALLBACK_GRACE;
use crate::panics::catch_panic;

/// Calls the function and waits for its answer.
pub(super) async fn run(
    attempt: &HookAttempt,
    callback: &Callback,
    news: &mut dyn ActionNews,
) -> (Outcome, Duration) {
    let begun = Instant::now();
    let outcome = outcome(attempt, callback, news).await;
    (outcome, begun.elapsed())
}

async fn outcome(attempt: &HookAttempt, callback: &Callback, news: &mut dyn ActionNews) -> Outcome {
    if attempt.cancel.is_cancelled() {
        return Cut::Short.outcome(attempt);
    }
    let cancelled = attempt.cancel.child_token();
    let (within, mut requests) = FromWithin::new(attempt);
    let mut hearing = CallbackNews { news, went_async: false };
    let mut running = match ContainedFuture::start(callback, call(attempt, &cancelled, within)) {
        Ok(running) => running,
        Err(panic) => return panicked("", &panic),
    };
    // Declared after the future, so dropped before it: when the host drops the firing, tasks that
    // the callback started see the cancelled token too.
    let when_dropped = cancelled.clone().drop_guard();
    let mut time_over = Box::pin(sleep(attempt.terms.timeout));
    let cut = loop {
        tokio::select! {
            biased;
            // First: what an interrupted callback returns is not an answer. Both are outside the
            // task's budget, which a callback that is always ready uses up.
            () = unconstrained(attempt.cancel.cancelled()) => break Cut::Short,
            Some(request) = requests.recv() => {
                if let Some(time) = hearing.hear(request) {
                    time_over.as_mut().reset(Instant::now() + time);
                }
            }
            ended = &mut running => {
                // It ended in time, so what it started continues. Its last requests count too.
                while let Ok(request) = requests.try_recv() {
                    hearing.hear(request);
                }
                when_dropped.disarm();
                return ended.outcome();
            }
            () = unconstrained(&mut time_over) => break Cut::OutOfTime,
        }
    };
    cancelled.cancel();
    let panic = match timeout(CALLBACK_GRACE, &mut running).await {
        Ok(CallbackEnd::Panicked { message }) => Some(message),
        Ok(CallbackEnd::Answered { .. } | CallbackEnd::Failed { .. }) => None,
        Err(_) => running.end().err(),
    };
    match panic {
        Some(message) => {
            let before = match cut {
                Cut::OutOfTime => "timed out, then ",
                Cut::Short => "interrupted, then ",
            };
            panicked(before, &message)
        }
        None => cut.outcome(attempt),
    }
}

/// Passes on a callback's requests while it runs.
struct CallbackNews<'a> {
    news: &'a mut dyn ActionNews,
    went_async: bool,
}

impl CallbackNews<'_> {
    /// Handles a request. Returns the callback's new time limit, if it changes.
    fn hear(&mut self, request: CallbackRequest) -> Option<Duration> {
        match request {
            CallbackRequest::GoesAsync { answer, time } => {
                let is_first = !std::mem::replace(&mut self.went_async, true);
                is_first.then(|| {
                    self.news.went_async(answer);
                    time
                })
            }
            CallbackRequest::Told(kind) => {
                self.news.report(*kind);
                None
            }
        }
    }
}

fn call(attempt: &HookAttempt, cancelled: &CancellationToken, within: FromWithin) -> Call {
    let (event, hook) = (&attempt.event, &attempt.hook);
    Call {
        event: event.clone(),
        tool_use_id: event.text("tool_use_id").map(str::to_owned),
        hook: hook.id.clone(),
        attempt: attempt.number,
        cancelled: cancelled.clone(),
        within: Arc::new(within),
    }
}

enum CallbackEnd {
    Answered { answer: Box<Answer> },
    Failed { cause: String },
    Panicked { message: String },
}

impl CallbackEnd {
    fn outcome(self) -> Outcome {
        match self {
            CallbackEnd::Answered { answer } => {
                Outcome::Function(FunctionOutcome::Answered { answer })
            }
            CallbackEnd::Failed { cause } => failed(cause),
            CallbackEnd::Panicked { message } => panicked("", &message),
        }
    }
}

fn panicked(before: &str, message: &str) -> Outcome {
    failed(format!("{before}panicked: {message}"))
}

fn failed(cause: String) -> Outcome {
    Outcome::Work(WorkOutcome::Failed {
        cause,
        may_retry: true,
        exit_code: None,
        output: Output::default(),
        said: Box::default(),
    })
}

/// A callback's future that turns panics into errors. Empty once it has ended.
struct ContainedFuture {
    answering: Option<CallbackFuture>,
}

impl ContainedFuture {
    fn start(callback: &Callback, call: Call) -> Result<Self, String> {
        let answering = catch_panic(|| callback.call(call))?;
        Ok(Self { answering: Some(answering) })
    }

    /// Drops the future; the error is the message of a panic.
    fn end(&mut self) -> Result<(), String> {
        let answering = self.answering.take();
        catch_panic(|| drop(answering))
    }
}

impl Future for ContainedFuture {
    type Output = CallbackEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CallbackEnd> {
        let Some(answering) = self.answering.as_mut() else { return Poll::Pending };
        let polled = match catch_panic(|| answering.as_mut().poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(answer)) => Ok(answer),
            Err(message) => Err(message),
        };
        let dropped = self.end();
        Poll::Ready(match (polled, dropped) {
            // A denial counts whatever happens after it.
            (Ok(Ok(answer)), Err(_)) if answer.restricts() => {
                CallbackEnd::Answered { answer: Box::new(answer) }
            }
            (Err(message), _) | (Ok(_), Err(message)) => CallbackEnd::Panicked { message },
            (Ok(Ok(answer)), Ok(())) => CallbackEnd::Answered { answer: Box::new(answer) },
            (Ok(Err(failure)), Ok(())) => CallbackEnd::Failed { cause: failure.cause().to_owned() },
        })
    }
}

impl Drop for ContainedFuture {
    fn drop(&mut self) {
        // The host dropped the firing, so there is no reader for a panic's message.
        let _ = self.end();
    }
}
