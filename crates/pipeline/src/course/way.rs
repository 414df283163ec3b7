//! [`Way`]: a session's course from beginning to end, as one async function.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{FiringKey, Point, RunEventKind, Verdict};
use serde_json::{Value, json};

use super::exchange::Exchange;
use super::position::Position;
use super::step::{Decided, EarlyEnd, EventToFire, Happening, Measured, Step};
use crate::history::History;
use crate::plan::{Plan, Reason, Stage, Until};

/// The limits of a session.
pub(super) struct SessionBounds {
    pub(super) stages: Vec<StageBounds>,
    /// The session pauses for a person when it has cost this many US dollars.
    pub(super) max_cost: Option<f64>,
}

/// The limits of a stage, see [`Stage`].
#[derive(Debug, Clone)]
pub(super) struct StageBounds {
    pub(super) name: String,
    pub(super) until: Until,
    pub(super) iterations_max: u32,
    pub(super) at_the_latest: Reason,
    pub(super) hard_max: Option<u32>,
    pub(super) max_runtime: Option<Duration>,
    pub(super) max_cost: Option<f64>,
    pub(super) delay: Duration,
    pub(super) agents: Vec<String>,
}

impl SessionBounds {
    pub(super) fn of_plan(plan: &Plan) -> Self {
        let stages = plan.stages.iter().map(StageBounds::of_stage).collect();
        Self { stages, max_cost: plan.max_cost }
    }
}

impl StageBounds {
    fn of_stage(stage: &Stage) -> Self {
        Self {
            name: stage.name.clone(),
            until: stage.until.clone(),
            iterations_max: stage.iterations_max,
            at_the_latest: stage.at_the_latest,
            hard_max: stage.hard_max,
            max_runtime: stage.max_runtime,
            max_cost: stage.max_cost,
            delay: stage.delay,
            agents: stage.agents.iter().map(|agent| agent.name.clone()).collect(),
        }
    }
}

pub(super) struct Way {
    pub(super) bounds: SessionBounds,
    exchange: Arc<Exchange>,
    pub(super) position: Position,
    pub(super) history: History,
    pub(super) measured: Measured,
    /// Why a hook of a task wants the session to end, until an event was fired.
    aborted_by_task: Option<String>,
    /// What hooks reported after the last iteration was delivered, or will not be delivered.
    pub(super) is_delivered: bool,
    /// Agents whose unknown cost was noted.
    pub(super) without_cost: Vec<String>,
}

impl Way {
    pub(super) fn new(bounds: SessionBounds, exchange: Arc<Exchange>) -> Self {
        Self {
            bounds,
            exchange,
            position: Position::default(),
            history: History::default(),
            measured: Measured::default(),
            aborted_by_task: None,
            is_delivered: false,
            without_cost: Vec::new(),
        }
    }

    /// Runs the whole course.
    pub(super) async fn go(mut self) -> Infallible {
        let told = self.exchange.answer(&mut self.position, &mut self.history).await;
        let left = match self.take_in(told) {
            Ok(_) => self.work().await,
            Err(leave) => Err(leave),
        };
        let (status, reason) = self.close(left).await;
        loop {
            let _ = self.ask(Step::Finished { status, reason: reason.clone() }).await;
        }
    }

    /// Does all the work; returns why it ended.
    async fn work(&mut self) -> Result<Reason, EarlyEnd> {
        let begins = self.first_step();
        let (tasks, with) = match self.ask(begins).await? {
            Happening::Ready { tasks, with, aborted_by_task } => {
                self.aborted_by_task = aborted_by_task;
                (tasks, with)
            }
            other => unexpected(&other),
        };
        for (firing, verdict) in tasks {
            self.history.note_decided(&firing, verdict);
        }
        // A session that has ended starts once more: its hooks at `session:end` have run. One that
        // was killed just continues.
        let endings = self.history.endings;
        let source = if endings == 0 { "startup" } else { "resume" };
        self.fire(Point::SessionStart { endings }, json!({ "source": source }), with).await?;
        let mut reason = Reason::Completed;
        for index in 0..self.bounds.stages.len() {
            // Of several stages that reached a limit, the last one counts.
            match self.stage(index).await? {
                Reason::Completed => {}
                bound => reason = bound,
            }
        }
        self.ask_to_stop(reason).await?;
        self.deliver_the_rest().await?;
        Ok(reason)
    }

    /// Fires an event, with these records in the same commit. An abort ends the session.
    pub(super) async fn fire(
        &mut self,
        point: Point,
        data: Value,
        with: Vec<RunEventKind>,
    ) -> Result<Decided, EarlyEnd> {
        let decided = self.decide(point, data, with).await?;
        let aborted_by_task = self.aborted_by_task.take();
        self.leave_if(aborted_by_task.or_else(|| decided.aborted_by_task.clone()))?;
        match decided.verdict {
            Verdict::Abort { reason } | Verdict::Stop { reason } => Err(EarlyEnd::Aborted(reason)),
            Verdict::Proceed { .. }
            | Verdict::Allow { .. }
            | Verdict::Ask { .. }
            | Verdict::Block { .. } => Ok(decided),
        }
    }

    /// The same, but the caller decides what an abort means.
    pub(super) async fn decide(
        &mut self,
        point: Point,
        data: Value,
        with: Vec<RunEventKind>,
    ) -> Result<Decided, EarlyEnd> {
        let key = FiringKey::from(point);
        let was_answered = self.history.survives(&key);
        let (key, again) = match self.history.again_at(&key) {
            Some((key, again)) => (key, Some(again.clone())),
            None => (key, None),
        };
        let fire = EventToFire { key, past: None, again, data, with };
        let mut decided = match self.ask(Step::Fire(fire)).await? {
            Happening::Decided(decided) => decided,
            other => unexpected(&other),
        };
        decided.is_answered |= was_answered;
        Ok(decided)
    }

    /// Ends the session if a hook of a task wanted that.
    pub(super) fn leave_if(&self, aborted_by_task: Option<String>) -> Result<(), EarlyEnd> {
        aborted_by_task.map_or(Ok(()), |reason| Err(EarlyEnd::Aborted(reason)))
    }

    /// Asks the driver to carry out a step whose only answer is `Done`.
    pub(super) async fn carry_out(&mut self, step: Step) -> Result<(), EarlyEnd> {
        match self.ask(step).await? {
            Happening::Done => Ok(()),
            other => unexpected(&other),
        }
    }

    /// Asks the driver to carry out a step, unless the journal has its outcome; returns the result.
    pub(super) async fn ask(&mut self, mut step: Step) -> Result<Happening, EarlyEnd> {
        if let Some(recorded) = self.recorded(&step) {
            return Ok(recorded);
        }
        if let Step::Fire(fire) = &mut step {
            fire.past = self.history.take_past(&fire.key).map(Box::new);
        }
        let told = self.exchange.ask(step, &mut self.position, &mut self.history).await;
        self.take_in(told)
    }

    fn take_in(
        &mut self,
        (measured, happening): (Measured, Happening),
    ) -> Result<Happening, EarlyEnd> {
        self.measured = measured;
        match happening {
            Happening::Left(leave) => Err(leave),
            other => Ok(other),
        }
    }

    /// The limits of the current stage.
    pub(super) fn stage_bounds(&self) -> &StageBounds {
        &self.bounds.stages[self.position.index()]
    }
}

/// The driver answered a step with a happening that does not fit.
pub(super) fn unexpected(happening: &Happening) -> ! {
    panic!("this is no answer to the step: {happening:?}")
}
