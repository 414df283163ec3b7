//! [`Position`]: where a session is in its course.

use std::collections::BTreeSet;
use std::time::Duration;

use hookwright_events::{ItemState, TurnName, TurnResult, WorkItem};

use crate::history::History;
use crate::limits::{CHANGED_FILES_MAX, EARLIER_OUTPUTS_MAX};
use crate::plan::Reason;

#[derive(Debug, Clone, Default)]
pub(crate) struct Position {
    /// The stage, from 0; `None` before the first one.
    pub(crate) stage: Option<usize>,
    /// The last iteration of the stage that was begun.
    pub(crate) iteration: u32,
    /// The latest iterations of the stage that ended; each has an output.
    pub(crate) outputs: Vec<u32>,
    /// The error of the last iteration, if it failed.
    pub(crate) error: Option<String>,
    /// Work items that were taken from the stage's queue.
    pub(crate) executions: u32,
    /// The current work item.
    pub(crate) item: Option<WorkItem>,
    /// The result of its iterations so far.
    pub(crate) work: ItemWork,
    /// Its state at the end, and why.
    pub(crate) item_end: Option<(ItemState, Option<String>)>,
    /// Iterations of all stages.
    pub(crate) iterations: u32,
    /// The decision of the last iteration.
    pub(crate) last_decision: Option<String>,
    /// The agent's last summary.
    pub(crate) last_summary: String,
    pub(super) stops_in_a_row: u32,
    pub(super) errors_in_a_row: u32,
    /// The stage's time is over.
    pub(super) out_of_time: bool,
    /// The stage's time before `since`: for earlier processes, the time of its agents.
    pub(super) spent: Duration,
    /// The working time at which the stage began or was continued.
    pub(super) since: Duration,
}

/// The result of the iterations for a work item.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemWork {
    pub(crate) iterations: u32,
    /// The changed files, at most [`CHANGED_FILES_MAX`].
    pub(crate) files: BTreeSet<String>,
    /// The agent of the last iteration.
    pub(crate) provider: Option<String>,
    /// The failure, if there was one.
    pub(super) failure: Option<String>,
    /// The limit that was reached in the middle of it.
    pub(super) cut_by: Option<Reason>,
    /// No further iteration may follow.
    pub(super) is_last: bool,
}

impl Position {
    pub(super) fn new(history: &History) -> Self {
        let last_decision = history.last_decision().map(str::to_owned);
        Self { last_decision, ..Self::default() }
    }

    /// The stage's index in the list, once there is one.
    pub(crate) fn index(&self) -> usize {
        self.stage.unwrap_or(0)
    }

    pub(crate) fn turn(&self, iteration: u32) -> TurnName {
        TurnName { stage: self.stage_number(), iteration }
    }

    /// The stage, from 1.
    pub(crate) fn stage_number(&self) -> u32 {
        u32::try_from(self.index() + 1).unwrap_or(u32::MAX)
    }

    /// The stage, from 1, and the execution.
    pub(crate) fn place(&self) -> (u32, u32) {
        (self.stage_number(), self.executions)
    }

    pub(super) fn enter_stage(&mut self, stage: usize) {
        let Self { iterations, last_decision, last_summary, .. } = std::mem::take(self);
        let stage = Some(stage);
        *self = Self { stage, iterations, last_decision, last_summary, ..Self::default() };
    }

    pub(super) fn note_result(&mut self, result: &TurnResult) {
        self.out_of_time = result.out_of_time;
        self.last_decision = Some(result.decision.clone());
        self.last_summary.clone_from(&result.summary);
        self.stops_in_a_row = match result.decision.as_str() {
            "stop" => self.stops_in_a_row + 1,
            _ => 0,
        };
        self.outputs.push(self.iteration);
        // Earlier ones are named at the end of the stage.
        if self.outputs.len() > EARLIER_OUTPUTS_MAX as usize {
            self.outputs.remove(0);
        }
    }
}

impl ItemWork {
    pub(super) fn note_result(&mut self, result: &TurnResult) {
        self.iterations += 1;
        let room = CHANGED_FILES_MAX.saturating_sub(self.files.len());
        let new = result.changed_files.iter().filter(|file| !self.files.contains(*file));
        let new: Vec<String> = new.take(room).cloned().collect();
        self.files.extend(new);
        self.provider = result.agent.clone().or(self.provider.take());
        self.failure.clone_from(&result.error);
    }

    /// The state of the work item if nothing objects, and why.
    pub(super) fn end(&self) -> (ItemState, Option<String>) {
        match (&self.failure, self.cut_by) {
            (_, Some(reason)) => (
                ItemState::Open,
                Some(format!("{} was reached before it was done", reason.as_str())),
            ),
            (Some(failure), None) => (ItemState::Failed, Some(failure.clone())),
            (None, None) => (ItemState::Done, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_several_iterations_changed_is_named_once_and_the_list_is_bounded() {
        let changed = |files: &mut dyn Iterator<Item = u32>| TurnResult {
            changed_files: files.map(|number| format!("{number:06}")).collect(),
            ..TurnResult::default()
        };
        let most = u32::try_from(CHANGED_FILES_MAX).expect("it is small");
        let mut work = ItemWork::default();
        work.note_result(&changed(&mut (0..most - 1)));
        work.note_result(&changed(&mut (most - 3..most * 2)));
        let last = work.files.last().map(String::as_str);
        assert_eq!((work.files.len(), last), (CHANGED_FILES_MAX, Some("049999")));
    }
}
