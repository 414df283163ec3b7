//! [`OpenParts`]: the current stage, work item and iteration, and the parts that are complete.
//!
//! The end of a stage or of a work item is shown late, when the next thing begins: its last hooks
//! still belong to it.

use std::collections::{BTreeMap, VecDeque};

use hookwright_events::{ItemState, TurnName, TurnResult, Usage, WorkItem};

use super::part::{Iteration, IterationState, Milestone, Part};
use super::timeline_event::TimelineEvent;
use crate::limits::DEEDS_KEPT_AT_EACH_END;
use crate::record::milliseconds;
use crate::session_state::SessionState;

#[derive(Debug, Clone, Default)]
pub(super) struct OpenParts {
    stage: Option<OpenStage>,
    /// Why stages ended: a hook that blocks the stop lets the last one continue.
    complete: BTreeMap<u32, String>,
    item: Option<OpenItem>,
    /// The work item that was left before its end.
    left_item: Option<(u32, u32, WorkItem)>,
    iteration: Option<Iteration>,
    /// Its latest deeds, once there are more than are kept at the beginning.
    latest_deeds: VecDeque<TimelineEvent>,
    pub(super) whole: Vec<Part>,
}

#[derive(Debug, Clone)]
struct OpenStage {
    name: String,
    index: u32,
    began_ms: Option<i64>,
    ended: Option<StageEnd>,
    used: Option<Usage>,
}

#[derive(Debug, Clone)]
struct StageEnd {
    reason: String,
    iterations: u32,
    at_ms: Option<i64>,
}

#[derive(Debug, Clone)]
struct OpenItem {
    stage: u32,
    execution: u32,
    item: WorkItem,
    ended: Option<ItemEnd>,
    used: Option<Usage>,
}

/// How a work item ended.
#[derive(Debug, Clone)]
pub(super) struct ItemEnd {
    pub(super) state: ItemState,
    pub(super) reason: Option<String>,
    pub(super) iterations: u32,
    pub(super) duration_ms: f64,
}

impl OpenParts {
    pub(super) fn begin_stage(
        &mut self,
        at: String,
        stage: String,
        index: u32,
        iterations_max: Option<u32>,
    ) {
        self.end_stage();
        let (name, began_ms) = (stage.clone(), milliseconds(&at));
        self.stage = Some(OpenStage { name, index, began_ms, ended: None, used: None });
        self.reach(Milestone::StageBegan { at, stage, index, iterations_max });
    }

    pub(super) fn begin_item(
        &mut self,
        at: String,
        stage: u32,
        execution: u32,
        item: WorkItem,
        state: &SessionState,
    ) {
        self.end_item();
        self.resume_stage(&at, stage, state);
        let left = self.left_item.take();
        let goes_on = left.is_some_and(|(s, e, _)| (s, e) == (stage, execution));
        self.item =
            Some(OpenItem { stage, execution, item: item.clone(), ended: None, used: None });
        self.reach(Milestone::ItemBegan { at, stage, execution, item, goes_on });
    }

    pub(super) fn begin_turn(
        &mut self,
        at: String,
        turn: TurnName,
        attempt: u32,
        agent: Option<String>,
        state: &SessionState,
    ) {
        let waits = |open: &Iteration| open.is(&turn) && open.state == IterationState::NotStarted;
        if !self.iteration.as_ref().is_some_and(waits) {
            self.begin_iteration(at, turn, state);
        }
        if let Some(iteration) = &mut self.iteration {
            iteration.state = IterationState::Running;
            iteration.attempt = attempt;
            iteration.agent = agent;
        }
    }

    pub(super) fn begin_iteration(&mut self, at: String, turn: TurnName, state: &SessionState) {
        self.end_iteration();
        if self.item.as_ref().is_some_and(|open| open.ended.is_some()) {
            self.end_item();
        }
        if turn.iteration == 0 {
            self.end_stage();
        } else {
            self.resume_stage(&at, turn.stage, state);
            self.resume_item(&at, turn.stage, state);
        }
        let is_final = turn.iteration == 0 || state.final_delivery.as_ref() == Some(&turn);
        self.iteration = Some(Iteration { is_final, ..Iteration::new(at, &turn) });
    }

    /// Opens a resumed stage, which the journal does not announce.
    fn resume_stage(&mut self, at: &str, stage: u32, state: &SessionState) {
        if self.stage.as_ref().is_none_or(|open| open.index != stage) {
            let name = state.record.stages.get((stage as usize).wrapping_sub(1));
            let name = name.cloned().unwrap_or_default();
            self.begin_stage(at.to_owned(), name, stage, None);
        }
    }

    /// Opens a resumed work item, which the journal does not announce either.
    fn resume_item(&mut self, at: &str, stage: u32, state: &SessionState) {
        if self.item.is_none()
            && let Some((of, execution, item)) = self.left_item.take_if(|left| left.0 == stage)
        {
            self.left_item = Some((of, execution, item.clone()));
            self.begin_item(at.to_owned(), of, execution, item, state);
        }
    }

    pub(super) fn end_turn(
        &mut self,
        at: String,
        turn: TurnName,
        attempt: u32,
        result: TurnResult,
        duration_ms: f64,
        state: &SessionState,
    ) {
        if self.iteration.as_ref().is_none_or(|open| !open.is(&turn)) {
            self.begin_turn(at, turn, attempt, result.agent.clone(), state);
        }
        self.count_usage(result.usage);
        if let Some(iteration) = &mut self.iteration {
            iteration.state = IterationState::Ended;
            iteration.result = Some(result);
            iteration.duration_ms = Some(duration_ms);
        }
    }

    /// The agent could not work; the iteration begins once more, with another one or later.
    pub(super) fn give_up_turn(&mut self, deed: TimelineEvent, usage: Option<Usage>) {
        self.count_usage(usage);
        if let Some(iteration) = &mut self.iteration {
            iteration.state = IterationState::NotStarted;
        }
        self.add(deed);
    }

    fn count_usage(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        self.stage.iter_mut().for_each(|stage| add(&mut stage.used, usage));
        self.item.iter_mut().for_each(|item| add(&mut item.used, usage));
    }

    /// Counts a child's usage for the stage and the work item in which it was started, if those are
    /// not over.
    pub(super) fn count_child(&mut self, stage: u32, execution: Option<u32>, usage: Usage) {
        let is_its =
            |item: &&mut OpenItem| (item.stage, Some(item.execution)) == (stage, execution);
        self.item.iter_mut().filter(is_its).for_each(|item| add(&mut item.used, usage));
        let stages = self.stage.iter_mut().filter(|open| open.index == stage);
        stages.for_each(|stage| add(&mut stage.used, usage));
    }

    pub(super) fn end_iteration(&mut self) {
        if let Some(mut iteration) = self.iteration.take() {
            iteration.deeds.extend(std::mem::take(&mut self.latest_deeds));
            if let Some(stage) = &mut self.stage
                && let Some(reason) = self.complete.get(&stage.index)
            {
                let (reason, iterations) = (reason.clone(), iteration.iteration);
                stage.ended = Some(StageEnd { reason, iterations, at_ms: None });
            }
            self.reach(Milestone::Iteration(Box::new(iteration)));
        }
    }

    /// The work item is over, except for its last hooks.
    pub(super) fn see_item_end(
        &mut self,
        at: &str,
        stage: u32,
        execution: u32,
        end: ItemEnd,
        state: &SessionState,
    ) {
        self.end_iteration();
        self.resume_item(at, stage, state);
        if let Some(item) = &mut self.item
            && (item.stage, item.execution) == (stage, execution)
        {
            item.ended = Some(end);
        }
    }

    pub(super) fn end_item(&mut self) {
        self.end_iteration();
        let Some(OpenItem { stage, execution, item, ended, used: usage }) = self.item.take() else {
            return;
        };
        let key = item.key.clone();
        let (state, reason, iterations, duration_ms) = match ended {
            Some(ItemEnd { state, reason, iterations, duration_ms }) => {
                (Some(state), reason, Some(iterations), Some(duration_ms))
            }
            None => {
                self.left_item = Some((stage, execution, item));
                (None, None, None, None)
            }
        };
        self.reach(Milestone::ItemEnded {
            stage,
            execution,
            key,
            state,
            reason,
            iterations,
            duration_ms,
            usage,
        });
    }

    /// The stage is over, except for its last hooks.
    pub(super) fn see_stage_end(
        &mut self,
        at: String,
        stage: String,
        index: u32,
        reason: String,
        iterations: u32,
    ) {
        self.end_item();
        self.complete.insert(index, reason.clone());
        let at_ms = milliseconds(&at);
        if self.stage.as_ref().is_none_or(|open| open.index != index) {
            // It was interrupted after its last iteration.
            self.begin_stage(at, stage, index, None);
        }
        if let Some(stage) = &mut self.stage {
            stage.ended = Some(StageEnd { reason, iterations, at_ms });
        }
    }

    pub(super) fn end_stage(&mut self) {
        self.end_item();
        let Some(OpenStage { name, index, began_ms, ended, used }) = self.stage.take() else {
            return;
        };
        let took = |end: &StageEnd| Some((end.at_ms? - began_ms?) as f64);
        self.reach(Milestone::StageEnded {
            stage: name,
            index,
            duration_ms: ended.as_ref().and_then(took),
            iterations: ended.as_ref().map(|end| end.iterations),
            reason: ended.map(|end| end.reason),
            usage: used,
        });
    }

    /// The process is gone, or there are no more entries: sets the state of an iteration whose
    /// agent works.
    pub(super) fn leave_iteration(&mut self, state: IterationState) {
        if let Some(iteration) = &mut self.iteration
            && iteration.state == IterationState::Running
        {
            iteration.state = state;
        }
        self.end_iteration();
    }

    pub(super) fn add(&mut self, deed: TimelineEvent) {
        let Some(iteration) = &mut self.iteration else {
            self.whole.push(Part::TimelineEvent(deed));
            return;
        };
        if iteration.deeds.len() < DEEDS_KEPT_AT_EACH_END {
            iteration.deeds.push(deed);
            return;
        }
        self.latest_deeds.push_back(deed);
        if self.latest_deeds.len() > DEEDS_KEPT_AT_EACH_END
            && let Some(left_out) = self.latest_deeds.pop_front()
        {
            iteration.deeds_left_out += 1;
            iteration.trouble_left_out |= left_out.is_trouble();
            iteration.failed_hooks_left_out += usize::from(left_out.is_failed_hook());
        }
    }

    pub(super) fn reach(&mut self, milestone: Milestone) {
        self.whole.push(Part::Milestone(milestone));
    }

    /// Whether the agent's turn of the open iteration is over.
    pub(super) fn has_worked(&self) -> bool {
        self.iteration.as_ref().is_some_and(|open| open.state == IterationState::Ended)
    }

    /// The execution of the open work item.
    pub(super) fn execution(&self) -> Option<u32> {
        self.item.as_ref().map(|item| item.execution)
    }

    /// The open iteration.
    pub(super) fn turn(&self) -> Option<TurnName> {
        let open = self.iteration.as_ref()?;
        Some(TurnName { stage: open.stage, iteration: open.iteration })
    }
}

fn add(used: &mut Option<Usage>, more: Usage) {
    *used = Some(used.unwrap_or_default().and(more));
}
