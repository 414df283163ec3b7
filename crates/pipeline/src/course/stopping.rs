//! After all stages: delivers what hooks reported after the last iteration, and asks hooks whether
//! the session may stop.
//!
//! | what waits | what is done |
//! |---|---|
//! | nothing, or only news of a success | nothing: a finished agent is not started again |
//! | the failure of a hook, or anything about a failed iteration | one more iteration, with its hooks; its result decides |
//! | only raw output, of dialects that have it | one prompt with it, which is not an iteration |
//!
//! There is at most one delivery, even if `max_iterations` is reached. What hooks report after it
//! is kept and noted, not delivered. A delivery that was begun is in the journal, so that a resumed
//! session repeats it or continues after it, and never begins another one.

use hookwright_engine::limits::STOP_BLOCKS_MAX;
use hookwright_events::{Point, RunEventKind, SessionEvent, TurnEvent, TurnName, Verdict};
use serde_json::json;

use super::step::{EarlyEnd, Happening, Step, TurnTask};
use super::way::{Way, unexpected};
use crate::pending_output::Last;
use crate::plan::Reason;

impl Way {
    /// Asks the hooks whether the session may stop. Each block is one more iteration, with the
    /// reason in its prompt. The count continues through resumes, so that no hook is asked twice
    /// about the same stop.
    pub(super) async fn ask_to_stop(&mut self, reason: Reason) -> Result<(), EarlyEnd> {
        let mut blocks = 0;
        loop {
            // If a resumed session has already asked them, the output here came later.
            let came_further = self.history.has_asked_to_stop(blocks + 1);
            self.deliver(!came_further).await?;
            let data = json!({ "reason": reason.as_str(), "stop_hook_active": blocks > 0 });
            let stop = Point::SessionStop { time: blocks + 1 };
            let decided = self.fire(stop, data, Vec::new()).await?;
            let Verdict::Block { reason: why } = decided.verdict else { return Ok(()) };
            blocks += 1;
            if let Some(bound) = self.cannot_go_on(blocks) {
                let note = format!("a hook blocked the stop, but {bound}: {why}");
                return self
                    .carry_out(Step::Write(RunEventKind::Session(SessionEvent::Noted { note })))
                    .await;
            }
            self.position.since = self.measured.worked;
            if !self.work_on().await? {
                // What was said to a finished iteration is not said again.
                let next = self.position.turn(self.position.iteration + 1);
                if !self.history.has_ended(&next) {
                    let said = format!("The session must not stop yet: {why}");
                    self.carry_out(Step::Tell(said)).await?;
                }
                let end = self.iteration().await?;
                self.fail_unless_answered(&end)?;
            }
            self.spend();
        }
    }

    /// What overrides a hook that blocks the stop.
    fn cannot_go_on(&self, blocks: u32) -> Option<String> {
        let done = self.position.iteration;
        if self.stage_bounds().hard_max.is_some_and(|most| done >= most) {
            return Some("max_iterations is reached".to_owned());
        }
        // An iteration that was begun is continued, however long it took until then.
        let is_begun = self.history.last_begun(self.position.stage_number()) > done;
        if !is_begun && self.is_out_of_time() {
            return Some("max_runtime is reached".to_owned());
        }
        (blocks > STOP_BLOCKS_MAX).then(|| {
            format!("it was blocked {STOP_BLOCKS_MAX} times before, and the session ends anyway")
        })
    }

    /// Whether `max_runtime` leaves no time for the last stage.
    fn is_out_of_time(&self) -> bool {
        let most = self.stage_bounds().max_runtime;
        self.position.out_of_time || most.is_some_and(|most| self.position.spent >= most)
    }

    /// Delivers what hooks have reported since the session was asked to stop, including hooks of
    /// tasks that are completed until the desk is closed. Notes what is not delivered.
    pub(super) async fn deliver_the_rest(&mut self) -> Result<(), EarlyEnd> {
        self.deliver(true).await?;
        self.carry_out(Step::CloseDesk).await?;
        self.deliver(true).await?;
        match self.ask(Step::LookForAbort).await? {
            Happening::TaskAborted(reason) => self.leave_if(reason)?,
            other => unexpected(&other),
        }
        // A session that is already ending has noted it before.
        if self.history.is_at_its_end() {
            return Ok(());
        }
        let why = match self.is_delivered {
            false if self.is_out_of_time() => "max_runtime is reached",
            _ => "the final delivery was made before",
        };
        self.carry_out(Step::NoteUndelivered(why)).await
    }

    /// Delivers what hooks have reported since the last iteration, unless that was done before. A
    /// delivery that was begun is always continued.
    async fn deliver(&mut self, may_begin: bool) -> Result<(), EarlyEnd> {
        self.carry_out(Step::AwaitTasks).await?;
        if self.is_delivered {
            return Ok(());
        }
        if let Some(begun) = self.history.raw_delivery() {
            let begun = begun.clone();
            return self.deliver_raw(begun).await;
        }
        let next = self.position.turn(self.position.iteration + 1);
        if self.history.final_delivery.as_ref() == Some(&next) {
            return self.deliver_in_iteration().await;
        }
        // If another iteration followed, the output came later.
        if !may_begin || self.history.last_begun(next.stage) >= next.iteration {
            return Ok(());
        }
        match self.measured.last_output {
            Last::Nothing => Ok(()),
            Last::Raw => self.deliver_raw(TurnName { stage: next.stage + 1, iteration: 0 }).await,
            Last::Failure if self.is_out_of_time() => Ok(()),
            Last::Failure => {
                let begins = RunEventKind::Turn(TurnEvent::FinalDelivery { turn: next.clone() });
                self.carry_out(Step::Write(begins)).await?;
                self.history.final_delivery = Some(next);
                self.deliver_in_iteration().await
            }
        }
    }

    /// One more iteration. Its failure fails the session, whatever hooks say: no further prompt
    /// could deliver it.
    async fn deliver_in_iteration(&mut self) -> Result<(), EarlyEnd> {
        self.is_delivered = true;
        self.position.since = self.measured.worked;
        let end = self.iteration().await?;
        self.spend();
        match end.result.error {
            Some(error) if !end.is_forgiven && !end.result.out_of_time => {
                let number = self.position.iteration;
                Err(EarlyEnd::Failed(format!(
                    "iteration {number} (final delivery) failed: {error}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// One prompt without an added text, except for the error of the last iteration. Its result is
    /// recorded, and decides nothing.
    async fn deliver_raw(&mut self, name: TurnName) -> Result<(), EarlyEnd> {
        self.is_delivered = true;
        // It is told once, even if the session continues because a hook blocks the stop.
        let error = self.position.error.take();
        let past = self.history.turns.remove(&name).unwrap_or_default();
        if past.result.is_some() {
            return Ok(());
        }
        self.carry_out(Step::PassGate).await?;
        let (is_final_delivery, is_again, time_left) = (true, false, None);
        let task = TurnTask { name, is_final_delivery, is_again, error, time_left };
        let (_, record) = self.let_agents_work(task, past.attempts).await?;
        self.carry_out(Step::Write(record)).await
    }
}
