//! [`Cut`]: why an action without a process was ended early.

use hookwright_events::{Outcome, Output, ProcessOutcome};

use super::HookAttempt;
use crate::process_outcome::timed_out;

#[derive(Clone, Copy)]
pub(super) enum Cut {
    OutOfTime,
    Short,
}

impl Cut {
    pub(super) fn outcome(self, attempt: &HookAttempt) -> Outcome {
        let output = Output::default();
        match self {
            Cut::OutOfTime => timed_out(attempt.terms.timeout, output).into(),
            Cut::Short => ProcessOutcome::Interrupted { output }.into(),
        }
    }
}
