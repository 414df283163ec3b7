//! [`KnownFiring`]: what a journal says of one firing.

use hookwright_events::{FiringEvent, Outcome, ProcessOutcome, Verdict};

use super::aborts::Aborted;

/// A firing.
#[derive(Debug, Default)]
pub(super) struct KnownFiring {
    pub(super) number: u64,
    /// All that is still needed of its decision; what it had to say waits with the rest.
    pub(super) verdict: Option<Verdict>,
    /// What was recorded, until nothing is left to be done about it.
    pub(super) records: Vec<FiringEvent>,
    /// Hooks that started and were not reported.
    pub(super) open: Vec<String>,
    /// Hooks that an interrupt ended or kept from starting. They are still to be done, and whatever
    /// was decided without them is not decided: nothing came of it.
    pub(super) cut: Vec<String>,
    /// Its hooks had something to say to the agent.
    pub(super) survives: bool,
    /// What it left to be done when it has ended the session.
    pub(super) aborted: Option<Aborted>,
    /// The stage in which a task was completed.
    pub(super) stage_of_task: Option<String>,
}

/// Why dispatch passes hooks after an interrupt.
const INTERRUPTED: &str = "interrupted";

impl KnownFiring {
    /// Takes note of what an interrupt did. Whether there is nothing more to this record: for the
    /// firing it is as if the session had been cut off there.
    pub(super) fn is_of_interrupt(&mut self, happened: &FiringEvent) -> bool {
        match happened {
            FiringEvent::HookEnded {
                hook,
                outcome: Outcome::Process(ProcessOutcome::Interrupted { .. }),
                ..
            } => {
                self.cut.push(hook.clone());
                true
            }
            FiringEvent::HookSkipped { hook, reason } if reason == INTERRUPTED => {
                self.cut.push(hook.clone());
                true
            }
            FiringEvent::HookReported { report } => self.cut.contains(&report.id),
            FiringEvent::Decided { .. } => !self.cut.is_empty(),
            FiringEvent::HookStarting { hook, .. } | FiringEvent::HookSkipped { hook, .. } => {
                self.cut.retain(|cut| cut != hook);
                false
            }
            _ => false,
        }
    }
}
