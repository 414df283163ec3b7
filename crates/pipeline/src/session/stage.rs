//! One stage: iterations until it is enough.

use std::time::{Duration, Instant};

use hookwright_events::firing_key::IterationEvent;
use hookwright_events::{Point, RunEventKind, TurnName, TurnResult};
use serde_json::{Map, Value, json};

use super::{Leave, Session};
use crate::folder::StageAt;
use crate::limits::{EARLIER_OUTPUTS_MAX, ERRORS_IN_A_ROW_MAX, LONG_WAIT};
use crate::plan::{Reason, Until};

/// What a stage's iterations have led to so far.
#[derive(Clone, Default)]
pub(super) struct Course {
    pub(super) iteration: u32,
    stops_in_a_row: u32,
    errors_in_a_row: u32,
    /// Output files of its iterations, from the root.
    pub(super) outputs: Vec<String>,
    /// What the last iteration failed with, if it did.
    pub(super) error: Option<String>,
    /// What agents took in earlier processes, and the stage in this one until it ended.
    spent: Duration,
    /// Its time is over.
    pub(super) out_of_time: bool,
    /// Pieces of work that were taken from its queue.
    pub(super) executions: u32,
}

/// What came of an iteration and the hooks behind it.
pub(super) struct IterationEnd {
    pub(super) result: TurnResult,
    /// Hooks want the session to go on after its error, or did so before.
    pub(super) is_answered: bool,
    /// It had failed when the session ended, and was taken up again since.
    pub(super) is_forgiven: bool,
}

impl Session {
    /// Runs a stage to its end; returns why it ended.
    pub(super) async fn stage(&mut self, index: usize) -> Result<Reason, Leave> {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let stage = &self.plan.stages[index];
        let name = stage.name.clone();
        let with = if self.history.stages_started.contains(&number) {
            Vec::new()
        } else {
            let iterations_max = stage.iterations_max;
            vec![RunEventKind::StageStarted { stage: name.clone(), index: number, iterations_max }]
        };
        let mut course = Course::default();
        let data = self.data_of_stage(index, &course, json!({}));
        self.stand(Some(index), data.clone());
        if !with.is_empty() {
            self.task_desk.open();
        }
        self.fire(Point::StageStart { stage: index }, data, with).await?;
        let started = Instant::now();
        let reason = match self.plan.stages[index].until {
            Until::Queue { .. } => self.work_off(index, &mut course, started).await?,
            Until::Fixed | Until::Judgment { .. } => loop {
                if let Some(reason) = self.is_enough(index, &course, started) {
                    break reason;
                }
                let end = self.iteration(index, &mut course, started).await?;
                fail_unless_answered(&course, &end)?;
                self.wait_between(index, &course, started).await?;
            },
        };
        let with = if self.history.ended(number).is_some() {
            Vec::new()
        } else {
            vec![RunEventKind::StageEnded {
                stage: name,
                index: number,
                reason: reason.as_str().to_owned(),
                iterations: course.iteration,
            }]
        };
        let outputs = self.folder.stage_outputs(self.stage_at(index))?;
        let outputs: Vec<String> = outputs.iter().map(|path| self.shown(path)).collect();
        let data = self.data_of_iteration(index, &course, json!({ "stage_outputs": outputs }));
        course.out_of_time |= reason == Reason::MaxRuntime;
        self.spend(&mut course, started);
        self.last_stage = course;
        self.fire(Point::StageComplete { stage: index }, data, with).await?;
        Ok(reason)
    }

    pub(super) fn is_enough(
        &self,
        index: usize,
        course: &Course,
        started: Instant,
    ) -> Option<Reason> {
        // A stage that has ended stays as it ended, also if its loop says something else by now.
        if let Some((reason, iterations)) = self.history.ended(turn_name(index, 0).stage) {
            return (course.iteration >= iterations).then(|| Reason::named(reason));
        }
        let stage = &self.plan.stages[index];
        if course.out_of_time {
            return Some(Reason::MaxRuntime);
        }
        let has_judged = match stage.until {
            Until::Fixed | Until::Queue { .. } => false,
            Until::Judgment { consensus, min_iterations } => {
                course.stops_in_a_row >= consensus && course.iteration >= min_iterations
            }
        };
        if has_judged {
            return Some(Reason::Completed);
        }
        if course.iteration >= stage.iterations_max {
            return Some(stage.at_the_latest);
        }
        let is_late = self.time_left(index, course, started).is_some_and(|left| left.is_zero());
        is_late.then_some(Reason::MaxRuntime)
    }

    /// What is left of `max_runtime`; `None` without one.
    pub(super) fn time_left(
        &self,
        index: usize,
        course: &Course,
        started: Instant,
    ) -> Option<Duration> {
        let most = self.plan.stages[index].max_runtime?;
        Some(most.saturating_sub(course.spent + self.elapsed(started)))
    }

    /// How long it has worked since then.
    fn elapsed(&self, started: Instant) -> Duration {
        // While it waits for an agent nothing runs.
        started.elapsed().saturating_sub(self.in_use.paused_since(started))
    }

    /// What was done since then counts for the stage also when it goes on later.
    pub(super) fn spend(&self, course: &mut Course, started: Instant) {
        course.spent += self.elapsed(started);
    }

    /// One iteration: its hooks, the agent, its hooks.
    pub(super) async fn iteration(
        &mut self,
        index: usize,
        course: &mut Course,
        started: Instant,
    ) -> Result<IterationEnd, Leave> {
        course.iteration += 1;
        self.iterations += 1;
        let turn = turn_name(index, course.iteration);
        let known = self.history.turns.get(&turn).and_then(|past| past.result.clone());
        if let (Some(_), Some(past)) = (&known, self.history.turns.get(&turn)) {
            course.spent += Duration::from_secs_f64(past.duration_ms.max(0.0) / 1000.0);
        } else {
            self.pass_gate().await?;
        }
        let data = self.data_of_iteration(index, course, json!({}));
        self.stand(Some(index), data.clone());
        let was_known = known.is_some();
        if !was_known {
            // One that is done again starts again: its hooks prepare it and speak to the agent.
            let key = self.point_of_iteration(IterationEvent::Start, index, course.iteration);
            self.fire(key, data, Vec::new()).await?;
        }
        let (result, with) = match known {
            Some(result) => (result, Vec::new()),
            None => {
                // An iteration that failed when the session ended is done again, and told why.
                if let Some(error) = self.history.failed_before(&turn) {
                    course.error = Some(error.to_owned());
                }
                self.turn(index, course, started).await?
            }
        };
        // Nobody asks for it again, and a session may have very many.
        self.history.turns.remove(&turn);
        course.out_of_time = result.out_of_time;
        self.note_result(index, course, &result);
        let is_answered = self.after_turn(index, course, &result, with).await?;
        let is_forgiven = was_known && result.error.is_some() && self.history.is_forgiven(&turn);
        if is_forgiven {
            course.errors_in_a_row = 0;
        }
        Ok(IterationEnd { result, is_answered, is_forgiven })
    }

    fn point_of_iteration(&self, event: IterationEvent, stage: usize, iteration: u32) -> Point {
        let redone = self.history.redone(&turn_name(stage, iteration));
        Point::Iteration { event, stage, iteration, redone }
    }

    fn note_result(&mut self, index: usize, course: &mut Course, result: &TurnResult) {
        self.last_decision = Some(result.decision.clone());
        self.last_summary.clone_from(&result.summary);
        course.stops_in_a_row = match result.decision.as_str() {
            "stop" => course.stops_in_a_row + 1,
            _ => 0,
        };
        let at = self.iteration_at(index, course.iteration);
        let output = self.shown(&self.folder.output(at));
        course.outputs.push(output);
        // Those before are named at the end of the stage.
        if course.outputs.len() > EARLIER_OUTPUTS_MAX as usize {
            course.outputs.remove(0);
        }
    }

    /// Fires what follows a turn, in the commit of its end. Whether hooks want to go on after an error.
    async fn after_turn(
        &mut self,
        index: usize,
        course: &mut Course,
        result: &TurnResult,
        with: Vec<RunEventKind>,
    ) -> Result<bool, Leave> {
        let mut more = Map::new();
        more.insert("changed_files".to_owned(), result.changed_files.clone().into());
        let number = course.iteration;
        let Some(error) = &result.error else {
            course.errors_in_a_row = 0;
            course.error = None;
            let key = self.point_of_iteration(IterationEvent::Complete, index, number);
            let data = self.data_of_iteration(index, course, Value::Object(more));
            self.fire(key, data, with).await?;
            return Ok(false);
        };
        course.errors_in_a_row += 1;
        more.insert("error".to_owned(), error.clone().into());
        let key = self.point_of_iteration(IterationEvent::Error, index, number);
        let data = self.data_of_iteration(index, course, Value::Object(more));
        let decision = self.fire(key.clone(), data, with).await?;
        course.error = Some(error.clone());
        let is_answered = !decision.piped_output.is_empty() || decision.survives_error;
        Ok(is_answered || self.history.survives(&key.into()))
    }

    pub(super) async fn wait_between(
        &self,
        index: usize,
        course: &Course,
        started: Instant,
    ) -> Result<(), Leave> {
        let delay = self.plan.stages[index].delay;
        let next = turn_name(index, course.iteration + 1);
        // What hooks say about an error reaches the agent at once.
        let recovers = course.error.is_some() && !self.pending.is_empty();
        if recovers
            || delay.is_zero()
            || self.is_enough(index, course, started).is_some()
            || self.history.turns.contains_key(&next)
        {
            return Ok(());
        }
        self.task_desk.open();
        let delay = self.time_left(index, course, started).unwrap_or(delay).min(delay);
        if delay >= LONG_WAIT {
            let note = format!("waiting {delay:.1?} before the next iteration");
            self.show(&self.event(RunEventKind::Noted { note }));
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => Ok(()),
            () = self.interrupt.cancelled() => Err(Leave::Interrupted),
        }
    }

    pub(super) fn stage_at(&self, index: usize) -> StageAt<'_> {
        StageAt { index, name: &self.plan.stages[index].name }
    }

    pub(super) fn data_of_stage(
        &self,
        index: usize,
        course: &Course,
        more: Value,
    ) -> Map<String, Value> {
        let stage = &self.plan.stages[index];
        let next = self.plan.stages.get(index + 1).map_or("", |next| &next.name);
        let mut data = self.data_of_session(json!({
            "stage": stage.name,
            "next_stage": next,
            "iteration": course.iteration,
            "stage_outputs": course.outputs,
        }));
        let bound = stage.bound();
        data.extend(bound.map(|most| ("max_iterations".to_owned(), most.into())));
        if let Some(item) = &self.item {
            data.extend(super::queue::data_of_item(item));
        }
        if let Value::Object(more) = more {
            data.extend(more);
        }
        data
    }

    pub(super) fn data_of_iteration(
        &self,
        index: usize,
        course: &Course,
        more: Value,
    ) -> Map<String, Value> {
        let at = self.iteration_at(index, course.iteration);
        let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        let mut data = self.data_of_stage(
            index,
            course,
            json!({ "status": path(self.folder.status(at)), "ctx": path(self.folder.context(at)) }),
        );
        if let Value::Object(more) = more {
            data.extend(more);
        }
        data
    }

    pub(super) fn shown(&self, path: &std::path::Path) -> String {
        self.folder.from_root(path).to_string_lossy().into_owned()
    }
}

/// Ends the session after an iteration that failed, unless hooks want it to go on.
pub(super) fn fail_unless_answered(course: &Course, end: &IterationEnd) -> Result<(), Leave> {
    let Some(error) = &end.result.error else { return Ok(()) };
    // The end of the time is a bound like the others, not a failure of the session.
    if end.is_forgiven || end.result.out_of_time {
        return Ok(());
    }
    fail_after_too_many(course, error)?;
    if !end.is_answered {
        return Err(Leave::Failed(format!("iteration {} failed: {error}", course.iteration)));
    }
    Ok(())
}

/// So many errors in a row end a session whatever else would go on.
pub(super) fn fail_after_too_many(course: &Course, error: &str) -> Result<(), Leave> {
    let times = course.errors_in_a_row;
    if times >= ERRORS_IN_A_ROW_MAX {
        return Err(Leave::Failed(format!("{times} iterations failed in a row: {error}")));
    }
    Ok(())
}

pub(super) fn turn_name(index: usize, iteration: u32) -> TurnName {
    TurnName { stage: u32::try_from(index + 1).unwrap_or(u32::MAX), iteration }
}
