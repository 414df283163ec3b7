//! [`FromWithin`]: what a callback can do with its own attempt while it runs.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hookwright_events::{Answer, Event, Outcome, RunEventKind};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::{ActionNews, HookAttempt, shell};
use crate::engine::Firing;
use crate::fired::Fired;
use crate::hook::{Shell, WithinFiring};
use crate::limits::{ASYNC_TIMEOUT, ASYNC_TIMEOUT_MAX};

/// Gives a callback access to its own attempt.
pub(crate) struct FromWithin {
    attempt: Arc<HookAttempt>,
    // Bounded by the running commands: each sends a few messages.
    requests: UnboundedSender<CallbackRequest>,
    /// The number of commands it has started.
    commands: AtomicU32,
}

/// A message to the driver of the firing.
pub(super) enum CallbackRequest {
    /// The callback moves to the background and has this time from now on.
    GoesAsync { answer: Option<Box<Answer>>, time: Duration },
    /// News of a command that it runs.
    Told(Box<RunEventKind>),
}

impl FromWithin {
    pub(super) fn new(attempt: &HookAttempt) -> (Self, UnboundedReceiver<CallbackRequest>) {
        let (requests, receiver) = unbounded_channel();
        let attempt = Arc::new(attempt.clone());
        (Self { attempt, requests, commands: AtomicU32::new(0) }, receiver)
    }

    fn fire_below(&self, event: Event) -> impl Future<Output = Fired> + Send + '_ {
        let attempt = &self.attempt;
        let firing = Firing {
            session: attempt.event.text("session").map(str::to_owned),
            chain: attempt.chain_below(),
            no_approver: attempt.no_approver,
            ..Firing::default()
        };
        attempt.engine.fire(event, firing)
    }
}

impl WithinFiring for FromWithin {
    fn fire(&self, event: Event) -> Pin<Box<dyn Future<Output = Fired> + Send + '_>> {
        Box::pin(self.fire_below(event))
    }

    fn go_async(&self, answer: Option<Box<Answer>>, time: Option<Duration>) {
        let time = time.unwrap_or(ASYNC_TIMEOUT).min(ASYNC_TIMEOUT_MAX);
        // Without a receiver the attempt is over.
        let _ = self.requests.send(CallbackRequest::GoesAsync { answer, time });
    }

    fn run<'a>(
        &'a self,
        command: &'a Shell,
        timeout: Duration,
        cancel: &'a CancellationToken,
        went_async: Box<dyn FnMut() + Send + 'a>,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        let mut attempt = HookAttempt::clone(&self.attempt);
        attempt.terms.timeout = timeout;
        attempt.cancel = cancel.clone();
        // Each command has its own id: the end of one must not end another, which may run in the
        // background.
        let number = self.commands.fetch_add(1, Ordering::Relaxed) + 1;
        attempt.run_id = format!("{}-{number}", attempt.run_id);
        let mut news = CommandNews { requests: self.requests.clone(), went_async };
        Box::pin(async move { shell::run(&attempt, command, &mut news).await.0 })
    }
}

/// Passes on news of a callback's command. Its output belongs to the callback and is not shown.
struct CommandNews<'a> {
    requests: UnboundedSender<CallbackRequest>,
    went_async: Box<dyn FnMut() + Send + 'a>,
}

impl ActionNews for CommandNews<'_> {
    fn went_async(&mut self, _answer: Option<Box<Answer>>) {
        (self.went_async)();
    }

    #[cfg(feature = "http")]
    fn is_watched(&self) -> bool {
        true
    }

    fn wants_processes(&self) -> bool {
        true
    }

    fn report(&mut self, kind: RunEventKind) {
        let _ = self.requests.send(CallbackRequest::Told(Box::new(kind)));
    }

    fn wants_output(&self) -> bool {
        false
    }

    fn prints(&mut self, _hook: &str, _stream: &'static str, _text: String) {}
}
