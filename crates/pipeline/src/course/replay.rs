//! Replay: what the journal answers in place of the driver.
//!
//! The course of a resumed session asks for the same steps as that of a new one. A step whose
//! outcome is recorded is answered here, so the first step that reaches the driver is where the
//! session was interrupted.

use hookwright_events::{RunEventKind, SessionEvent, Verdict};

use super::step::{Decided, Happening, LeftFiring, Resumed, Step};
use super::way::Way;

impl Way {
    /// The result of a step, if the journal has it.
    pub(super) fn recorded(&self, step: &Step) -> Option<Happening> {
        let (stage, execution) = self.position.place();
        let item = |execution| self.history.items.get(&(stage, execution));
        Some(match step {
            Step::Fire(fire) => {
                let verdict = self.history.decided(&fire.key)?.clone();
                // The history also has what those hooks said to the agent.
                let (is_answered, aborted_by_task) = (false, None);
                Happening::Decided(Decided { verdict, is_answered, aborted_by_task })
            }
            Step::TakeItem { .. } => Happening::Item(Some(item(execution + 1)?.item.clone())),
            Step::EndItem { .. } => {
                let (state, reason) = item(execution)?.ended.clone()?;
                Happening::ItemEnded { state, reason }
            }
            Step::CompleteTask { task, occasion } => {
                let refused = match self.history.decided_task(*task, *occasion)? {
                    Verdict::Block { reason } => Some(reason.clone()),
                    _ => None,
                };
                Happening::TaskAsked { refused, aborted_by_task: None }
            }
            _ => return None,
        })
    }

    /// The record of a start or an end, unless the journal has it.
    pub(super) fn unless_recorded(&self, happened: SessionEvent) -> Vec<RunEventKind> {
        let is_recorded = match &happened {
            SessionEvent::StageStarted { index, .. } => self.history.stages_started.contains(index),
            SessionEvent::StageEnded { index, .. } => self.history.stages_ended.contains_key(index),
            _ => false,
        };
        Vec::from_iter((!is_recorded).then(|| happened.into()))
    }

    /// How the session starts: as a new one, or with what an earlier process left to do.
    pub(super) fn first_step(&mut self) -> Step {
        if !self.history.has_begun {
            return Step::Begin;
        }
        let background = self.history.left_in_background().into_iter().map(|(key, past)| {
            let above = self.history.key_above(&key).clone();
            LeftFiring { key, above, past }
        });
        Step::Resume(Resumed {
            time: self.history.resumes + 1,
            background: background.collect(),
            failed_at_ends: self.history.failed_at_ends().map(str::to_owned).collect(),
            tasks: self.history.left_tasks(),
        })
    }
}
