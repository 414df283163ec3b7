//! The webhook action: sends a request, and waits for its response or for a person's answer.
//!
//! The request is rendered once (`rendered.rs`); secrets and the callback's address are filled in
//! when it is sent. Dispatch decides about retries, and every attempt carries the same id, so that
//! a receiver can recognise it.
//!
//! With `await: true` a person is asked (`asking.rs`). Without it, only the response counts; at
//! events that can be blocked, the hook's wire reads an answer in it.

mod asking;
mod question;
mod rendered;

use std::time::Duration;

use hookwright_events::{Answer, Outcome, Output, ProcessOutcome, RequestOutcome, WorkOutcome};
use tokio::time::Instant;

use super::{ActionNews, HookAttempt};
use crate::hook::Webhook;
use crate::http::{Response, SendError};
use crate::process_outcome::timed_out;
use rendered::Rendered;

/// Sends the request, and asks a person if so configured.
pub(super) async fn run(
    attempt: &HookAttempt,
    webhook: &Webhook,
    news: &mut dyn ActionNews,
) -> (Outcome, Duration) {
    let begun = Instant::now();
    let outcome = if attempt.hook.awaits == Some(true) {
        asking::run(attempt, webhook, news).await
    } else {
        match Rendered::new(attempt, webhook, false) {
            Ok(rendered) => send(attempt, &rendered, "", attempt.terms.timeout).await,
            Err(cause) => failed(cause, false),
        }
    };
    (outcome, begun.elapsed())
}

/// One send, from taking its slot to its end.
async fn send(
    attempt: &HookAttempt,
    rendered: &Rendered,
    callback_url: &str,
    deadline: Duration,
) -> Outcome {
    let surroundings = &attempt.surroundings;
    let hidden = rendered.hidden(&surroundings.secrets, callback_url);
    let request = match rendered.request(&surroundings.secrets, callback_url) {
        Ok(request) => request,
        Err(cause) => return failed(cause, false),
    };
    let interrupted =
        || Outcome::Process(ProcessOutcome::Interrupted { output: Output::default() });
    let sending = async {
        // The time starts with the request, as a command's does with its process.
        let _slot = surroundings.requests.take(attempt.terms.awaited).await;
        let until = Instant::now() + deadline;
        surroundings.sender.send(&request, &surroundings.environment, &hidden, until).await
    };
    let sent = tokio::select! {
        biased;
        () = attempt.cancel.cancelled() => return interrupted(),
        sent = sending => sent,
    };
    match sent {
        Ok(response) => responded(response),
        Err(SendError::TookTooLong) => timed_out(deadline, Output::default()).into(),
        Err(error) => failed(hidden.text(&error.to_string()).into_owned(), error.may_retry()),
    }
}

fn responded(response: Response) -> Outcome {
    let milliseconds = |after: Duration| u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    Outcome::Request(RequestOutcome::Responded {
        status: response.status,
        output: Output {
            stdout: response.body,
            stdout_left_out: response.left_out,
            ..Output::default()
        },
        retry_after_ms: response.retry_after.map(milliseconds),
    })
}

fn failed(cause: String, may_retry: bool) -> Outcome {
    Outcome::Work(WorkOutcome::Failed {
        cause,
        may_retry,
        exit_code: None,
        output: Output::default(),
        said: Box::<Answer>::default(),
    })
}
