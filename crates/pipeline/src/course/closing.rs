//! The end of a session: the last events, and the final status.

use hookwright_events::SessionStatus::{Aborted, Completed, Failed, Interrupted, Paused};
use hookwright_events::firing_key::ClosingEvent;
use hookwright_events::{Point, RunEventKind, SessionEvent, SessionStatus, Verdict};
use serde_json::{Value, json};

use super::step::{Decided, EarlyEnd, Happening, Step};
use super::way::{Way, unexpected};
use crate::plan::Reason;

/// The result of one of the last events.
enum ClosingEnd {
    /// Its hooks have answered.
    Decided,
    /// One of them aborted the session, for this reason.
    Aborted(String),
    /// An interrupt came before all of them had answered.
    Interrupted,
}

impl Way {
    /// Fires the last events, waits for background hooks, and records the end. Returns the
    /// session's status, and why.
    pub(super) async fn close(
        &mut self,
        left: Result<Reason, EarlyEnd>,
    ) -> (SessionStatus, String) {
        if matches!(left, Err(EarlyEnd::Interrupted(_))) && self.history.is_at_its_end() {
            // Interrupted once more while it ends: nothing is fired again.
            let cut_off = self.settle(Step::Cut).await;
            return self.end_later(&cut_off).await;
        }
        let (mut status, mut reason, mut words) = match left {
            Ok(reason) => (Completed, reason.as_str(), reason.as_str().to_owned()),
            Err(EarlyEnd::Aborted(words)) => (Aborted, Aborted.as_str(), words),
            Err(EarlyEnd::Failed(words)) => (Failed, Failed.as_str(), words),
            Err(EarlyEnd::Interrupted(words)) => (Interrupted, Interrupted.as_str(), words),
            Err(EarlyEnd::Paused { cause, reason }) => {
                let paused = RunEventKind::Session(SessionEvent::Paused {
                    cause,
                    reason: reason.clone(),
                    until: None,
                });
                self.finish(Step::Write(paused)).await;
                (Paused, Paused.as_str(), reason)
            }
        };
        if status == Interrupted {
            self.finish(Step::InterruptAll).await;
            self.fire_closing(ClosingEvent::UserInterrupt, status, json!({})).await;
        } else {
            self.finish(Step::CloseDesk).await;
        }
        if matches!(status, Interrupted | Failed) {
            let why = if status == Failed { "error" } else { "interrupted" };
            let data = json!({ "reason": why, "error": words });
            let closed = self.fire_closing(ClosingEvent::SessionStop, status, data).await;
            if let (ClosingEnd::Aborted(why), Failed) = (closed, status) {
                words = also(&why, status, &words);
                (status, reason) = (Aborted, Aborted.as_str());
            }
        }
        let error = if status == Completed { Value::Null } else { words.clone().into() };
        let data = json!({ "reason": reason, "error": error });
        let closed = self.fire_closing(ClosingEvent::SessionEnd, status, data).await;
        let cut_off = self.settle(Step::Settle).await;
        match (status, closed) {
            // An abort always counts; but a person's interrupt has the last word.
            (Completed, ClosingEnd::Aborted(why)) => self.end(Aborted, why).await,
            (Failed | Paused, ClosingEnd::Aborted(why)) => {
                self.end(Aborted, also(&why, status, &words)).await
            }
            // Sessions with another status can be resumed anyway.
            (Completed, ClosingEnd::Interrupted) => self.end_later(&[]).await,
            (Completed, ClosingEnd::Decided) if !cut_off.is_empty() => {
                self.end_later(&cut_off).await
            }
            _ => self.end(status, words).await,
        }
    }

    /// Leaves the hooks of the end to `resume`: these in the background, or else those of
    /// `session:end`.
    async fn end_later(&mut self, in_background: &[String]) -> (SessionStatus, String) {
        let words = match in_background {
            [] => "hooks at session:end had not finished".to_owned(),
            hooks => format!("background hooks had not finished: {}", hooks.join(", ")),
        };
        self.end(Interrupted, words).await
    }

    async fn end(&mut self, status: SessionStatus, words: String) -> (SessionStatus, String) {
        self.finish(Step::End { status, reason: words.clone() }).await;
        (status, words)
    }

    /// One of the last events. Only an abort of its hooks counts.
    async fn fire_closing(
        &mut self,
        event: ClosingEvent,
        status: SessionStatus,
        data: Value,
    ) -> ClosingEnd {
        // A session that was killed while it ended comes to the same end again, and its hooks have
        // run; only after an interrupt the end may differ.
        let endings = self.history.endings;
        let resumes = (status == Interrupted).then_some(self.history.resumes);
        let point = Point::Closing { event, endings, status, resumes };
        match self.decide(point, data, Vec::new()).await {
            Err(EarlyEnd::Interrupted(_)) => ClosingEnd::Interrupted,
            Ok(Decided { verdict: Verdict::Abort { reason }, .. }) => ClosingEnd::Aborted(reason),
            Ok(_) | Err(EarlyEnd::Aborted(_) | EarlyEnd::Failed(_) | EarlyEnd::Paused { .. }) => {
                ClosingEnd::Decided
            }
        }
    }

    async fn settle(&mut self, step: Step) -> Vec<String> {
        match self.ask(step).await {
            Ok(Happening::Settled(cut_off)) => cut_off,
            Ok(other) => unexpected(&other),
            Err(_) => Vec::new(),
        }
    }

    /// Carries out a step of the end, which no longer ends early.
    async fn finish(&mut self, step: Step) {
        let _ = self.ask(step).await;
    }
}

/// The reason of an abort after the session had already ended otherwise.
fn also(why: &str, status: SessionStatus, words: &str) -> String {
    format!("{why}; before that it was {status}: {words}")
}
