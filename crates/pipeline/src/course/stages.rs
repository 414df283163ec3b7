//! One stage: its iterations until it ends.

use std::time::Duration;

use hookwright_events::firing_key::IterationEvent;
use hookwright_events::{Point, RunEventKind, SessionEvent, TurnName, TurnResult};
use serde_json::json;

use super::step::{EarlyEnd, Step, TurnTask};
use super::way::Way;
use crate::history::PastTurn;
use crate::limits::ERRORS_IN_A_ROW_MAX;
use crate::plan::{Reason, Until};

/// The result of an iteration and of the hooks after it.
pub(super) struct IterationEnd {
    pub(super) result: TurnResult,
    /// Hooks want the session to continue after its error, or did so before.
    pub(super) is_answered: bool,
    /// It had failed when the session ended, and the session was resumed since.
    pub(super) is_forgiven: bool,
}

impl Way {
    /// Runs a stage to its end; returns why it ended.
    pub(super) async fn stage(&mut self, index: usize) -> Result<Reason, EarlyEnd> {
        self.position.enter_stage(index);
        let number = self.position.stage_number();
        let bounds = self.stage_bounds();
        let (stage, iterations_max) = (bounds.name.clone(), bounds.iterations_max);
        let with = self.unless_recorded(SessionEvent::StageStarted {
            stage,
            index: number,
            iterations_max,
        });
        self.fire(Point::StageStart { stage: index }, json!({}), with).await?;
        self.position.since = self.measured.worked;
        let reason = match self.stage_bounds().until {
            Until::Queue { .. } => self.work_off().await?,
            Until::Fixed | Until::Judgment { .. } => loop {
                if let Some(reason) = self.is_enough() {
                    break reason;
                }
                let end = self.iteration().await?;
                self.fail_unless_answered(&end)?;
                self.wait_between().await?;
            },
        };
        let with = self.unless_recorded(SessionEvent::StageEnded {
            stage: self.stage_bounds().name.clone(),
            index: number,
            reason: reason.as_str().to_owned(),
            iterations: self.position.iteration,
        });
        self.position.out_of_time |= reason == Reason::MaxRuntime;
        self.spend();
        self.fire(Point::StageComplete { stage: index }, json!({}), with).await?;
        Ok(reason)
    }

    /// Why the stage ends, if it does.
    pub(super) fn is_enough(&self) -> Option<Reason> {
        let position = &self.position;
        // A stage that has ended stays ended, even if its loop has changed.
        if let Some(past) = self.history.stages_ended.get(&position.stage_number()) {
            return (position.iteration >= past.iterations).then_some(past.reason);
        }
        let bounds = self.stage_bounds();
        if position.out_of_time {
            return Some(Reason::MaxRuntime);
        }
        let has_judged = match bounds.until {
            Until::Fixed | Until::Queue { .. } => false,
            Until::Judgment { consensus, min_iterations } => {
                position.stops_in_a_row >= consensus && position.iteration >= min_iterations
            }
        };
        if has_judged {
            return Some(Reason::Completed);
        }
        if position.iteration >= bounds.iterations_max {
            return Some(bounds.at_the_latest);
        }
        self.is_late().then_some(Reason::MaxRuntime)
    }

    /// Whether the stage's time is over.
    pub(super) fn is_late(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }

    /// What is left of `max_runtime`; `None` without one.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let most = self.stage_bounds().max_runtime?;
        Some(most.saturating_sub(self.position.spent + self.elapsed()))
    }

    fn elapsed(&self) -> Duration {
        self.measured.worked.saturating_sub(self.position.since)
    }

    /// Stops the stage's clock until it continues.
    pub(super) fn spend(&mut self) {
        self.position.spent += self.elapsed();
        self.position.since = self.measured.worked;
    }

    /// One iteration: its hooks, the agent, its hooks.
    pub(super) async fn iteration(&mut self) -> Result<IterationEnd, EarlyEnd> {
        self.position.iteration += 1;
        self.position.iterations += 1;
        let turn = self.position.turn(self.position.iteration);
        // It is not looked up again, and a session may have very many.
        let mut past = self.history.turns.remove(&turn).unwrap_or_default();
        let known = past.result.take();
        let was_known = known.is_some();
        let (result, with) = match known {
            Some(result) => {
                self.position.spent += Duration::from_secs_f64(past.duration_ms.max(0.0) / 1000.0);
                (result, Vec::new())
            }
            None => self.new_turn(turn, &mut past).await?,
        };
        self.position.note_result(&result);
        let is_answered = self.after_turn(past.redone, &result, with).await?;
        let is_forgiven = was_known && result.error.is_some() && past.is_forgiven;
        if is_forgiven {
            self.position.errors_in_a_row = 0;
        }
        Ok(IterationEnd { result, is_answered, is_forgiven })
    }

    /// The hooks before a turn, and the turn. Returns the result and its record, which is yet to be
    /// written together with what follows.
    async fn new_turn(
        &mut self,
        name: TurnName,
        past: &mut PastTurn,
    ) -> Result<(TurnResult, Vec<RunEventKind>), EarlyEnd> {
        self.carry_out(Step::PassGate).await?;
        // A repeated iteration starts again: its hooks prepare it and speak to the agent.
        let start = self.iteration_point(IterationEvent::Start, past.redone);
        self.fire(start, json!({}), Vec::new()).await?;
        // An iteration that failed when the session ended is repeated, and the agent is told why.
        let is_again = past.failed_before.is_some();
        if is_again {
            self.position.error = past.failed_before.take();
        }
        self.carry_out(Step::PassGate).await?;
        let is_final_delivery = self.history.final_delivery.as_ref() == Some(&name);
        let time_left = self.time_left();
        let task = TurnTask { name, is_final_delivery, is_again, error: None, time_left };
        let (result, record) = self.let_agents_work(task, past.attempts).await?;
        Ok((result, vec![record]))
    }

    fn iteration_point(&self, event: IterationEvent, redone: u32) -> Point {
        let (stage, iteration) = (self.position.index(), self.position.iteration);
        Point::Iteration { event, stage, iteration, redone }
    }

    /// Fires the events after a turn, in the commit of its end. Returns whether hooks want to
    /// continue after an error.
    async fn after_turn(
        &mut self,
        redone: u32,
        result: &TurnResult,
        with: Vec<RunEventKind>,
    ) -> Result<bool, EarlyEnd> {
        let changed = &result.changed_files;
        let Some(error) = &result.error else {
            self.position.errors_in_a_row = 0;
            self.position.error = None;
            let complete = self.iteration_point(IterationEvent::Complete, redone);
            self.fire(complete, json!({ "changed_files": changed }), with).await?;
            return Ok(false);
        };
        self.position.errors_in_a_row += 1;
        let failed = self.iteration_point(IterationEvent::Error, redone);
        let data = json!({ "changed_files": changed, "error": error });
        let decided = self.fire(failed, data, with).await?;
        self.position.error = Some(error.clone());
        Ok(decided.is_answered)
    }

    /// Ends the session after a failed iteration, unless hooks want it to continue.
    pub(super) fn fail_unless_answered(&self, end: &IterationEnd) -> Result<(), EarlyEnd> {
        let Some(error) = &end.result.error else { return Ok(()) };
        // The end of the time is a limit like the others, not a failure of the session.
        if end.is_forgiven || end.result.out_of_time {
            return Ok(());
        }
        self.fail_after_too_many(error)?;
        if !end.is_answered {
            let iteration = self.position.iteration;
            return Err(EarlyEnd::Failed(format!("iteration {iteration} failed: {error}")));
        }
        Ok(())
    }

    /// This many errors in a row end a session in any case.
    pub(super) fn fail_after_too_many(&self, error: &str) -> Result<(), EarlyEnd> {
        let times = self.position.errors_in_a_row;
        if times >= ERRORS_IN_A_ROW_MAX {
            return Err(EarlyEnd::Failed(format!("{times} iterations failed in a row: {error}")));
        }
        Ok(())
    }

    /// Waits between two iterations.
    pub(super) async fn wait_between(&mut self) -> Result<(), EarlyEnd> {
        let delay = self.stage_bounds().delay;
        let next = self.position.turn(self.position.iteration + 1);
        // What hooks say about an error reaches the agent at once.
        let recovers = self.position.error.is_some() && self.measured.has_output;
        if recovers
            || delay.is_zero()
            || self.is_enough().is_some()
            || self.history.turns.contains_key(&next)
        {
            return Ok(());
        }
        let delay = self.time_left().unwrap_or(delay).min(delay);
        self.carry_out(Step::Wait(delay)).await
    }
}
