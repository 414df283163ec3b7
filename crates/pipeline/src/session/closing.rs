//! The end of a session: the last questions, the last events, and what still runs.

use std::time::Instant;

use hookwright_engine::limits::STOP_BLOCKS_MAX;
use hookwright_events::SessionStatus::{Aborted, Completed, Failed, Interrupted, Paused};
use hookwright_events::firing_key::ClosingEvent;
use hookwright_events::{Decision, Point, RunEventKind, SessionStatus, Verdict};
use hookwright_process::faults;
use serde_json::{Value, json};

use super::stage::{fail_unless_answered, turn_name};
use super::{Ended, Leave, Session};
use crate::history::History;
use crate::plan::Reason;

/// What came of one of the last events.
enum Closed {
    /// Its hooks have answered.
    Decided,
    /// One of them has aborted the session, for this reason.
    Aborted(String),
    /// An interrupt came before all of them had.
    Interrupted,
}

impl Session {
    /// Asks the hooks whether the session may stop. Each block is one more iteration, which gets the
    /// reason in its prompt. How often it was asked goes on through resumes, so that nobody is asked
    /// twice about the same stop.
    pub(super) async fn ask_to_stop(&mut self, reason: Reason) -> Result<(), Leave> {
        let index = self.plan.stages.len() - 1;
        loop {
            let blocks = self.stop_blocks;
            let key = Point::SessionStop { time: blocks + 1 };
            let asked_again = blocks > 0;
            let data = json!({ "reason": reason.as_str(), "stop_hook_active": asked_again });
            let data = self.data_of_stop(data);
            let decision = self.fire(key, data, Vec::new()).await?;
            let Verdict::Block { reason } = decision.verdict else { return Ok(()) };
            self.stop_blocks += 1;
            if let Some(bound) = self.cannot_go_on(index) {
                let note = format!("a hook blocked the stop, but {bound}: {reason}");
                return Ok(self.write(vec![RunEventKind::Noted { note }])?);
            }
            let (mut course, started) = (self.last_stage.clone(), Instant::now());
            if self.work_on(index, &mut course, started).await? {
                self.spend(&mut course, started);
                self.last_stage = course;
                self.deliver_before_stop().await?;
                continue;
            }
            // What was said to an iteration that has ended is not said again.
            if !self.history.has_ended(&turn_name(index, course.iteration + 1)) {
                self.pending.push(&format!("The session shall not stop yet: {reason}"));
            }
            let end = self.iteration(index, &mut course, started).await?;
            fail_unless_answered(&course, &end)?;
            self.spend(&mut course, started);
            self.last_stage = course;
            self.deliver_before_stop().await?;
        }
    }

    /// What `session:stop` tells: how it went with the queues, too.
    fn data_of_stop(&self, more: Value) -> serde_json::Map<String, Value> {
        let mut data = self.data_of_session(more);
        // A queue that cannot be read any more does not keep a session from stopping.
        if let Ok(Some((done, all))) = self.progress() {
            data.insert("issues_completed".to_owned(), done.into());
            data.insert("issues_total".to_owned(), all.into());
        }
        data.insert("duration".to_owned(), self.since_start().into());
        data
    }

    /// What stands above a hook that blocks the stop.
    fn cannot_go_on(&self, index: usize) -> Option<String> {
        let done = self.last_stage.iteration;
        if self.plan.stages[index].hard_max.is_some_and(|most| done >= most) {
            return Some("max_iterations is reached".to_owned());
        }
        // What was begun is gone on with, however long it took until then.
        let is_begun = self.history.last_begun(turn_name(index, 0).stage) > done;
        if !is_begun && self.is_out_of_time(index) {
            return Some("max_runtime is over".to_owned());
        }
        (self.stop_blocks > STOP_BLOCKS_MAX).then(|| {
            format!("it was blocked {STOP_BLOCKS_MAX} times before, and the session ends anyway")
        })
    }

    /// Fires the last events, waits for what still runs, and records the end.
    pub(super) async fn close(
        &mut self,
        left: Result<&'static str, Leave>,
    ) -> Result<Ended, Leave> {
        if matches!(left, Err(Leave::Interrupted)) && self.history.is_at_its_end() {
            return self.put_end_off().await;
        }
        let (mut status, mut reason, mut words) = match left {
            Ok(reason) => (Completed, reason, reason.to_owned()),
            Err(Leave::Aborted(words)) => (Aborted, Aborted.as_str(), words),
            Err(Leave::Failed(words)) => (Failed, Failed.as_str(), words),
            Err(Leave::Interrupted) => (Interrupted, Interrupted.as_str(), self.why_interrupted()),
            Err(Leave::Paused { cause, reason }) => {
                let paused = RunEventKind::Paused { cause, reason: reason.clone(), until: None };
                self.write(vec![paused])?;
                (Paused, Paused.as_str(), reason)
            }
            Err(Leave::Broken(error)) => {
                self.interrupt_all();
                return Err(Leave::Broken(error));
            }
        };
        if status != Interrupted {
            self.close_desk().await;
        } else {
            self.begin_to_end().await;
            self.fire_closing(ClosingEvent::UserInterrupt, status, json!({})).await?;
        }
        if matches!(status, Interrupted | Failed) {
            let why = if status == Failed { "error" } else { "interrupted" };
            let data = json!({ "reason": why, "error": words });
            let data = Value::Object(self.data_of_stop(data));
            let closed = self.fire_closing(ClosingEvent::SessionStop, status, data).await?;
            if let (Closed::Aborted(why), Failed) = (closed, status) {
                words = also(why, status, &words);
                (status, reason) = (Aborted, Aborted.as_str());
            }
        }
        let error = if status == Completed { Value::Null } else { words.clone().into() };
        let data = json!({ "reason": reason, "error": error });
        let closed = self.fire_closing(ClosingEvent::SessionEnd, status, data).await?;
        let cut_off = self.settle().await;
        faults::point("settled");
        match (status, closed) {
            // An abort counts wherever it happens; but who interrupts a session has the last word.
            (Completed, Closed::Aborted(why)) => self.record_end(Aborted, why),
            (Failed | Paused, Closed::Aborted(why)) => {
                self.record_end(Aborted, also(why, status, &words))
            }
            // All else can be resumed anyway.
            (Completed, Closed::Interrupted) => self.end_as_put_off(&[]),
            (Completed, Closed::Decided) if !cut_off.is_empty() => self.end_as_put_off(&cut_off),
            _ => self.record_end(status, words),
        }
    }

    /// The session had reached its end before, and is interrupted on its way there once more: nothing is
    /// fired again.
    async fn put_end_off(&mut self) -> Result<Ended, Leave> {
        self.interrupt_all();
        self.close_desk().await;
        let cut_off = self.settle().await;
        self.end_as_put_off(&cut_off)
    }

    /// Leaves the hooks of the end to `resume`: these in the background, or else those of `session:end`.
    fn end_as_put_off(&mut self, in_background: &[String]) -> Result<Ended, Leave> {
        let words = match in_background {
            [] => "hooks of session:end had not ended".to_owned(),
            hooks => format!("hooks in the background had not ended: {}", hooks.join(", ")),
        };
        self.record_end(Interrupted, words)
    }

    fn record_end(&mut self, status: SessionStatus, words: String) -> Result<Ended, Leave> {
        self.leave_output(status, &words)?;
        let ended = RunEventKind::SessionEnded { status, reason: words.clone() };
        self.write(vec![ended])?;
        Ok(self.ended(status, words))
    }

    /// What ran is being ended; from now on only the last hooks run, with engines of their own.
    async fn begin_to_end(&mut self) {
        self.interrupt_all();
        self.close_desk().await;
        self.settle().await;
        self.engines.clear();
        // A second interrupt ends the program, so nothing has to listen for it here.
        self.interrupt = tokio_util::sync::CancellationToken::new();
    }

    pub(super) fn interrupt_all(&self) {
        self.engines.values().for_each(hookwright_engine::Engine::interrupt);
    }

    /// One of the last events. Of what its hooks decide only an abort counts.
    async fn fire_closing(
        &mut self,
        event: ClosingEvent,
        status: SessionStatus,
        more: Value,
    ) -> Result<Closed, Leave> {
        // A session that was cut off while it ended comes to the same end again, and its hooks have
        // run; only after an interrupt it may come to another one.
        let History { endings, resumes, .. } = self.history;
        let resumes = (status == Interrupted).then_some(resumes);
        let key = Point::Closing { event, endings, status, resumes };
        let data = self.data_of_session(more);
        match self.decide(key, data, Vec::new()).await {
            Err(Leave::Interrupted) => Ok(Closed::Interrupted),
            Ok(Decision { verdict: Verdict::Abort { reason }, .. }) => Ok(Closed::Aborted(reason)),
            Ok(_) | Err(Leave::Aborted(_) | Leave::Failed(_) | Leave::Paused { .. }) => {
                Ok(Closed::Decided)
            }
            Err(broken) => Err(broken),
        }
    }

    /// Waits for what nothing waited for. Returns the hooks that an interrupt has cut off.
    async fn settle(&self) -> Vec<String> {
        let mut cut_off = Vec::new();
        for engine in self.engines.values() {
            let waiting_for = engine.in_background();
            if !waiting_for.is_empty() {
                let note =
                    format!("waiting for hooks in the background: {}", waiting_for.join(", "));
                self.show(&self.event(RunEventKind::Noted { note }));
            }
            let mut settled = std::pin::pin!(engine.settle());
            tokio::select! {
                () = &mut settled => {}
                () = self.interrupt.cancelled() => {
                    cut_off.extend(engine.in_background());
                    engine.interrupt();
                    settled.await;
                }
            }
        }
        cut_off
    }
}

/// Why a session was aborted that had come to another end before.
fn also(why: String, status: SessionStatus, words: &str) -> String {
    format!("{why}; before that it was {status}: {words}")
}
