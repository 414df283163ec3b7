//! The end of a session: the last questions, the last events, and what still runs.

use std::time::Instant;

use hookwright_engine::limits::STOP_BLOCKS_MAX;
use hookwright_events::{RunEventKind, Verdict};
use hookwright_process::faults;
use serde_json::{Value, json};

use super::stage::{Course, turn_name};
use super::{Ended, Leave, Session};

impl Session {
    /// Asks the hooks whether the session may stop. Each block is one more iteration, which gets the
    /// reason in its prompt.
    pub(super) async fn ask_to_stop(&mut self, reason: &str) -> Result<(), Leave> {
        let index = self.plan.stages.len() - 1;
        // Iterations that blocks led to before an earlier end of the session are over.
        let before = self.history.iterations_at_last_end(&turn_name(index, 0));
        self.iterations += before.saturating_sub(self.last_iteration);
        self.last_iteration = self.last_iteration.max(before);
        let mut course = Course::at(self.last_iteration);
        for asked in 1..=STOP_BLOCKS_MAX as usize + 1 {
            let key = format!("session:stop/{}/{asked}", self.history.endings);
            let data = self.data_of_session(json!({ "reason": reason }));
            let decision = self.fire(None, "session:stop", key, data, Vec::new()).await?;
            let Verdict::Block { reason } = decision.verdict else {
                // What these hooks had to say is said before the session ends, too.
                return self.deliver(asked + 1).await;
            };
            if self.plan.stages[index].hard_max.is_some_and(|most| course.iteration >= most) {
                let note =
                    format!("a hook blocked the stop, but max_iterations is reached: {reason}");
                self.write(vec![RunEventKind::Noted { note }])?;
                return Ok(());
            }
            // Unless the agent has read it in a turn that is recorded as complete.
            if !self.history.has_ended(&turn_name(index, course.iteration + 1)) {
                self.pending.push(&format!("The session shall not stop yet: {reason}"));
            }
            self.iteration(index, &mut course, Instant::now()).await?;
            self.deliver(asked + 1).await?;
        }
        Ok(())
    }

    /// Fires the last events, waits for what still runs, and records the end.
    pub(super) async fn close(
        &mut self,
        left: Result<&'static str, Leave>,
    ) -> Result<Ended, Leave> {
        let (status, reason, words) = match left {
            Ok(reason) => ("completed", reason, reason.to_owned()),
            Err(Leave::Aborted(words)) => ("aborted", "aborted", words),
            Err(Leave::Failed(words)) => ("failed", "failed", words),
            Err(Leave::Interrupted) => ("interrupted", "interrupted", "interrupted".to_owned()),
            Err(Leave::Broken(error)) => {
                self.interrupt_all();
                return Err(Leave::Broken(error));
            }
        };
        if status == "interrupted" {
            self.begin_to_end().await;
            self.fire_closing("user:interrupt", json!({})).await?;
        }
        if matches!(status, "interrupted" | "failed") {
            let why = if status == "failed" { "error" } else { "interrupted" };
            self.fire_closing("session:stop", json!({ "reason": why, "error": words })).await?;
        }
        let error = if status == "completed" { Value::Null } else { words.clone().into() };
        self.fire_closing("session:end", json!({ "reason": reason, "error": error })).await?;
        self.settle().await;
        faults::point("settled");
        let ended = RunEventKind::SessionEnded { status: status.to_owned(), reason: words.clone() };
        self.write(vec![ended])?;
        Ok(Ended { status, reason: words })
    }

    /// What ran is being ended; from now on only the last hooks run, with engines of their own.
    async fn begin_to_end(&mut self) {
        self.interrupt_all();
        self.settle().await;
        self.engines.clear();
        // A second interrupt ends the program, so nothing has to listen for it here.
        self.interrupt = tokio_util::sync::CancellationToken::new();
    }

    fn interrupt_all(&self) {
        self.engines.values().for_each(hookwright_engine::Engine::interrupt);
    }

    /// One of the last events. What its hooks decide changes nothing any more.
    async fn fire_closing(&mut self, name: &str, more: Value) -> Result<(), Leave> {
        let key = format!("closing/{name}/{}", self.history.endings);
        let data = self.data_of_session(more);
        match self.decide(None, name, key, data, Vec::new()).await {
            Ok(_) | Err(Leave::Aborted(_) | Leave::Failed(_) | Leave::Interrupted) => Ok(()),
            Err(broken) => Err(broken),
        }
    }

    /// Waits for what nothing waited for.
    async fn settle(&self) {
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
                    engine.interrupt();
                    settled.await;
                }
            }
        }
    }
}
