//! [`Cut`]: why something that is no process of ours did not come to its own end.

use hookwright_events::{Outcome, Output, ProcessOutcome};

use super::HookAttempt;
use crate::process_outcome::timed_out;

/// Why it did not.
#[derive(Clone, Copy)]
pub(super) enum Cut {
    /// Its time was over.
    OutOfTime,
    /// The engine was interrupted.
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
