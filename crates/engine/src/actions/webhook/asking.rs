//! Asking a person. The wait is stored and can be answered before the request is sent, and the hook
//! waits for the decision from then on, however it comes.
//!
//! The process can be killed between any two steps. The wait is stored together with the request,
//! so a request is never rendered twice. It is marked as sent once the request has arrived, so the
//! person is not asked twice. A decision made in the meantime is found with it.

use std::io;
use std::sync::Arc;

use hookwright_events::{
    FiringEvent, Outcome, Output, PersonOutcome, ProcessOutcome, RequestOutcome, RunEventKind,
    SessionEvent,
};
use hookwright_process::faults;
use reqwest::Url;
use tokio::runtime::Handle;

use super::rendered::Rendered;
use super::{failed, question, send};
use crate::actions::{ActionNews, HookAttempt};
use crate::hook::Webhook;
use crate::http::is_this_machine;
use crate::limits::SEND_TIMEOUT;
use crate::policy::At;
use crate::ports::{AnswerMeaning, OpenWait, WaitEnd, Waits};

/// Asks, and waits for the answer.
pub(super) async fn run(
    attempt: &HookAttempt,
    webhook: &Webhook,
    news: &mut dyn ActionNews,
) -> Outcome {
    if attempt.cancel.is_cancelled() {
        return Outcome::Process(ProcessOutcome::Interrupted { output: Output::default() });
    }
    let wait = match open(attempt, webhook).await {
        Ok(wait) => wait,
        Err(outcome) => return outcome,
    };
    let rendered: Rendered = match serde_json::from_value(wait.request.clone()) {
        Ok(rendered) => rendered,
        Err(error) => return failed(format!("the stored request cannot be read: {error}"), false),
    };
    tell(attempt, &rendered, &wait, news);
    let mut abandon_on_drop = AbandonOnDrop::new(attempt, &wait.id);
    let asked = AskedQuestion { attempt, wait: &wait, rendered: &rendered };
    let end = tokio::select! {
        biased;
        () = attempt.cancel.cancelled() => QuestionEnd::Interrupted,
        end = asked.answer() => end,
    };
    let outcome = match end {
        QuestionEnd::Of(Ok(end)) => outcome(attempt, end),
        QuestionEnd::Of(Err(error)) => failed(format!("cannot ask a person: {error}"), false),
        QuestionEnd::NotSent(outcome) => outcome,
        QuestionEnd::Interrupted => {
            if attempt.place.is_kept {
                abandon_on_drop.keep();
            }
            abandon_on_drop.end().await;
            return Outcome::Process(ProcessOutcome::Interrupted { output: Output::default() });
        }
    };
    if may_be_tried_again(attempt, &outcome) {
        abandon_on_drop.keep();
    }
    abandon_on_drop.end().await;
    outcome
}

/// The wait of this hook in this firing, stored now or before a crash.
async fn open(attempt: &HookAttempt, webhook: &Webhook) -> Result<OpenWait, Outcome> {
    // If people cannot be asked now, a retry a few seconds later will not help.
    let cannot_ask = |error: io::Error| failed(format!("cannot ask a person: {error}"), false);
    if let Some(key) = question::key(attempt)
        && let Some(known) = attempt.waits.find(&key).await.map_err(cannot_ask)?
    {
        return Ok(known);
    }
    let rendered = Rendered::new(attempt, webhook, true).map_err(|cause| failed(cause, false))?;
    faults::point("wait is stored");
    let opened = attempt.waits.open(question::wait(attempt, webhook, &rendered)).await;
    faults::point("wait stored");
    opened.map_err(cannot_ask)
}

fn tell(attempt: &HookAttempt, rendered: &Rendered, wait: &OpenWait, news: &mut dyn ActionNews) {
    if !news.is_watched() {
        return;
    }
    let hook = &attempt.hook.id;
    let is_here = |url: &str| Url::parse(url).is_ok_and(|url| is_this_machine(&url));
    let secrets = &attempt.surroundings.secrets;
    let unreachable = (is_here(&wait.callback_url)
        && rendered.is_sent()
        && rendered.names_callback()
        && !rendered.request(secrets, "").is_ok_and(|request| is_here(&request.url)))
    .then(|| {
        format!(
            "hook {hook} sends an address of this machine to another machine; set `callback: \
             {{public_url: …}}` to an address that can be reached from there"
        )
    });
    for note in wait.notes.iter().cloned().chain(unreachable) {
        news.report(RunEventKind::Session(SessionEvent::Noted { note }));
    }
    news.report(RunEventKind::Firing(FiringEvent::HookWaiting {
        hook: hook.clone(),
        wait: wait.id.clone(),
        question: question::text(attempt, rendered),
        since: wait.since.clone(),
        until: wait.until.clone(),
        url: Some(wait.callback_url.clone()),
    }));
}

struct AskedQuestion<'a> {
    attempt: &'a HookAttempt,
    wait: &'a OpenWait,
    rendered: &'a Rendered,
}

enum QuestionEnd {
    Of(io::Result<WaitEnd>),
    NotSent(Outcome),
    Interrupted,
}

impl AskedQuestion<'_> {
    /// Sends the request if it has not arrived yet, while waiting for the decision.
    async fn answer(&self) -> QuestionEnd {
        let waits = &self.attempt.waits;
        let mut decided = waits.decided(&self.wait.id);
        if !self.wait.was_sent && self.rendered.is_sent() {
            let sending = send(self.attempt, self.rendered, &self.wait.callback_url, SEND_TIMEOUT);
            let sent = tokio::select! {
                biased;
                // Decided in the terminal, perhaps while the receiver was down: the request is no
                // longer needed.
                end = &mut decided => return QuestionEnd::Of(end),
                sent = sending => sent,
            };
            if !has_arrived(&sent) {
                return QuestionEnd::NotSent(sent);
            }
            faults::point("request arrived");
            if let Err(error) = waits.sent(&self.wait.id).await {
                return QuestionEnd::Of(Err(error));
            }
            faults::point("request known to have arrived");
        }
        let end = decided.await;
        faults::point("decision known");
        QuestionEnd::Of(end)
    }
}

fn has_arrived(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Request(RequestOutcome::Responded { status: 200..300, .. }))
}

/// Whether a further attempt will continue with the same wait.
fn may_be_tried_again(attempt: &HookAttempt, outcome: &Outcome) -> bool {
    let at = At { event: &attempt.event, power: attempt.power, awaited: true };
    attempt.try_number <= attempt.terms.retries
        && attempt.policy.wire.meaning(outcome, at).may_retry
}

fn outcome(attempt: &HookAttempt, end: WaitEnd) -> Outcome {
    match end {
        WaitEnd::Decided { mut response, word, by, at } => {
            attempt.surroundings.secrets.hide_in(&mut response);
            let response = Box::new(response);
            Outcome::Person(PersonOutcome::Decided {
                response,
                refused: word == AnswerMeaning::No,
                by,
                at,
            })
        }
        WaitEnd::TimedOut => {
            let after = attempt.terms.timeout.as_millis();
            Outcome::Person(PersonOutcome::Unanswered {
                after_ms: u64::try_from(after).unwrap_or(u64::MAX),
            })
        }
        WaitEnd::Abandoned => failed("the question was withdrawn".to_owned(), false),
    }
}

/// Ends a wait that will not be resumed, also when the firing is dropped.
struct AbandonOnDrop {
    waits: Arc<dyn Waits>,
    id: Option<String>,
    /// A later process may resume it.
    is_kept: bool,
}

impl AbandonOnDrop {
    fn new(attempt: &HookAttempt, id: &str) -> Self {
        let is_kept = attempt.place.is_kept;
        Self { waits: Arc::clone(&attempt.waits), id: Some(id.to_owned()), is_kept }
    }

    /// Keeps the wait for the next attempt.
    fn keep(&mut self) {
        self.id = None;
    }

    async fn end(&mut self) {
        if let Some(id) = self.id.take() {
            // A decided wait stays decided. If this cannot be stored, the wait ends by its
            // deadline.
            let _ = self.waits.abandon(&id).await;
        }
    }
}

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take().filter(|_| !self.is_kept) else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        let waits = Arc::clone(&self.waits);
        runtime.spawn(async move {
            let _ = waits.abandon(&id).await;
        });
    }
}
