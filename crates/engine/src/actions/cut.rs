//! [`Cut`]: why something that is no process of ours did not come to its own end.

use hookwright_events::{Outcome, Output};

use super::Attempt;

/// Why it did not.
#[derive(Clone, Copy)]
pub(super) enum Cut {
    /// Its time was over.
    OutOfTime,
    /// The engine was interrupted.
    Short,
}

impl Cut {
    pub(super) fn outcome(self, attempt: &Attempt) -> Outcome {
        let output = Output::default();
        match self {
            Cut::OutOfTime => {
                let after = attempt.terms.timeout.as_millis();
                let after_ms = u64::try_from(after).unwrap_or(u64::MAX);
                Outcome::TimedOut { after_ms, output }
            }
            Cut::Short => Outcome::Interrupted { output },
        }
    }
}
