//! [`KnownFiring`]: what a journal says about one firing.

use hookwright_events::{FiringEvent, Outcome, ProcessOutcome, Verdict};

use super::aborts::Aborted;

#[derive(Debug, Default)]
pub(super) struct KnownFiring {
    pub(super) number: u64,
    /// The part of its decision that is still needed; its output waits with the rest.
    pub(super) verdict: Option<Verdict>,
    /// Its records, until nothing is left to do about it.
    pub(super) records: Vec<FiringEvent>,
    /// Hooks that started and were not reported.
    pub(super) open: Vec<String>,
    /// Hooks that an interrupt ended or kept from starting. They must still run, and a decision
    /// made without them does not count: it had no effect.
    pub(super) cut: Vec<String>,
    /// Its hooks had something to say to the agent.
    pub(super) survives: bool,
    /// What it left to do when it ended the session.
    pub(super) aborted: Option<Aborted>,
    /// The stage in which a task was completed.
    pub(super) stage_of_task: Option<String>,
}

/// The reason with which dispatch passes over hooks after an interrupt.
const INTERRUPTED: &str = "interrupted";

impl KnownFiring {
    /// Notes the effect of an interrupt. Returns whether the record is then done with: for the
    /// firing it is as if the session had been killed there.
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
            FiringEvent::HookSkipped { hook, reason, .. } if reason == INTERRUPTED => {
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
