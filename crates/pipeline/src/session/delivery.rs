//! The final delivery: what hooks reported after the last iteration reaches the agent once more, if it
//! has to.
//!
//! | what waits | what is done |
//! |---|---|
//! | nothing, or only news of what went well | nothing: an agent that has finished is not started again |
//! | the failure of a hook, or anything about an iteration that failed | one iteration more, with its hooks; its result decides |
//! | only raw output, of dialects that want it so | one prompt with it, which is no iteration |
//!
//! There is one at most, also where `max_iterations` is reached. What hooks report after it is kept and
//! told of, not delivered. What was begun is in the journal, so that a resumed session does it again or
//! goes on behind it, and never begins another one.

use std::time::Instant;

use hookwright_events::{RunEventKind, TurnName, TurnResult};

use super::drive::Task;
use super::stage::{Course, turn_name};
use super::{Leave, Session};
use crate::folder::IterationAt;
use crate::limits::{UNDELIVERED_CHARS_MAX, UNDELIVERED_TOLD_MAX};
use crate::pending_output::Last;
use crate::prompt;

impl Session {
    /// The same, before the hooks are asked whether the session may stop. What a resumed session that has
    /// asked them already finds here came later.
    pub(super) async fn deliver_before_stop(&mut self) -> Result<(), Leave> {
        let came_further = self.history.has_asked_to_stop(self.stop_blocks + 1);
        self.deliver(!came_further).await
    }

    /// Delivers what hooks have reported since the last iteration, unless that was done before. What was
    /// begun is always gone on with.
    pub(super) async fn deliver(&mut self, may_begin: bool) -> Result<(), Leave> {
        self.until_tasks_are_completed().await;
        if self.is_delivered {
            return Ok(());
        }
        let index = self.plan.stages.len() - 1;
        if let Some(begun) = self.history.raw_delivery() {
            let begun = begun.clone();
            return self.deliver_raw(index, begun).await;
        }
        let next = turn_name(index, self.last_stage.iteration + 1);
        if self.history.is_final_delivery(&next) {
            return self.deliver_in_iteration(index).await;
        }
        // If another iteration followed, what waits now came later.
        if !may_begin || self.history.last_begun(next.stage) >= next.iteration {
            return Ok(());
        }
        match self.pending.last() {
            Last::Nothing => Ok(()),
            Last::Raw => {
                let name = TurnName { stage: next.stage + 1, iteration: 0 };
                self.deliver_raw(index, name).await
            }
            Last::Failure if self.is_out_of_time(index) => Ok(()),
            Last::Failure => {
                self.write(vec![RunEventKind::FinalDelivery { turn: next.clone() }])?;
                self.history.note_final_delivery(next);
                self.deliver_in_iteration(index).await
            }
        }
    }

    /// Whether `max_runtime` leaves the last stage nothing.
    pub(super) fn is_out_of_time(&self, index: usize) -> bool {
        let left = self.time_left(index, &self.last_stage, Instant::now());
        self.last_stage.out_of_time || left.is_some_and(|left| left.is_zero())
    }

    /// One iteration more. Its failure is that of the session, whatever hooks say about it: no prompt
    /// follows that could deliver it.
    async fn deliver_in_iteration(&mut self, index: usize) -> Result<(), Leave> {
        self.is_delivered = true;
        let (mut course, started) = (self.last_stage.clone(), Instant::now());
        let end = self.iteration(index, &mut course, started).await?;
        self.spend(&mut course, started);
        self.last_stage = course;
        match end.result.error {
            Some(error) if !end.is_forgiven && !end.result.out_of_time => {
                let number = self.last_stage.iteration;
                Err(Leave::Failed(format!("iteration {number} (final delivery) failed: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// What the agent is told in that iteration.
    pub(super) fn prompt_of_delivery(&self, at: IterationAt<'_>, course: &Course) -> Vec<String> {
        let error = course.error.as_deref().map(prompt::last_turn_failed);
        let status = self.folder.status(at).to_string_lossy().into_owned();
        let task = format!("{}\n\n{}", prompt::FINAL_DELIVERY, prompt::about_status(&status));
        self.pending.block().into_iter().chain(error).chain([task]).collect()
    }

    /// One prompt without a word of ours, but for what the last iteration failed with. What comes of it
    /// is recorded, and decides nothing.
    async fn deliver_raw(&mut self, index: usize, name: TurnName) -> Result<(), Leave> {
        self.is_delivered = true;
        // It is told once, also if the session goes on because it shall not stop yet.
        let error = self.last_stage.error.take();
        if self.history.has_ended(&name) {
            return Ok(());
        }
        self.pass_gate().await?;
        let by = self.available(index).await?;
        let course = self.last_stage.clone();
        let event = self.event_of_turn(index, &course);
        let error = error.as_deref().map(prompt::last_turn_failed);
        let prompt = self.pending.raw_block().into_iter().chain(error).collect();
        let task = Task { name: &name, folder: None, by, prompt, event: &event, left: None };
        let done = self.drive(index, task).await?;
        let error = self.failure_in_words(&done.ended);
        let decision = if error.is_none() { "continue" } else { "error" }.to_owned();
        let mut result = TurnResult { decision, error, ..TurnResult::default() };
        done.note_in(&mut result);
        let attempt = self.attempt_of(&name);
        let duration_ms = done.ended.took.as_secs_f64() * 1000.0;
        Ok(self.write(vec![RunEventKind::TurnEnded {
            turn: name,
            attempt,
            result,
            duration_ms,
        }])?)
    }

    /// Says what the agent should have got and does not get any more.
    pub(super) fn note_undelivered(&self) -> Result<(), Leave> {
        let headlines = self.pending.headlines();
        // A session that is at its end already has said so before.
        if headlines.is_empty() || self.history.is_at_its_end() {
            return Ok(());
        }
        let index = self.plan.stages.len() - 1;
        let why = match self.is_delivered {
            false if self.is_out_of_time(index) => "max_runtime is over",
            _ => "the final delivery was made before",
        };
        let cut = |line: &String| line.chars().take(UNDELIVERED_CHARS_MAX).collect::<String>();
        let told: Vec<String> = headlines.iter().take(UNDELIVERED_TOLD_MAX).map(cut).collect();
        let more = match headlines.len().saturating_sub(UNDELIVERED_TOLD_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let note = format!("not delivered to the agent, since {why}: {}{more}", told.join("; "));
        Ok(self.write(vec![RunEventKind::Noted { note }])?)
    }
}
