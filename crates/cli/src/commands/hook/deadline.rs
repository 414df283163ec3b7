//! [`Deadline`]: when hooks must end, so that the answer arrives before the agent stops waiting.

use std::time::{Duration, Instant};

use super::limits::{TO_ANSWER_MAX, TO_END_MAX};

/// Time limits of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    /// When running hooks are asked to end.
    pub(super) of_hooks: Instant,
    /// When the rest of them is killed and the answer is sent.
    pub(super) of_answer: Instant,
    /// The hooks' time, for messages.
    pub(super) span: Duration,
}

impl Deadline {
    /// For a call that began at `called` and that the agent ends after `patience`.
    pub(super) fn new(called: Instant, patience: Duration) -> Self {
        let to_answer = (patience / 10).min(TO_ANSWER_MAX);
        let to_end = (patience / 5).min(TO_END_MAX);
        let span = patience.saturating_sub(to_answer + to_end);
        Self { of_hooks: called + span, of_answer: called + span + to_end, span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_end_before_the_answer_and_the_answer_before_the_agents_patience() {
        let called = Instant::now();
        for (patience, of_hooks, of_answer) in
            [(600_000, 596_500, 599_000), (30_000, 26_500, 29_000), (1_500, 1_050, 1_350)]
        {
            let deadline = Deadline::new(called, Duration::from_millis(patience));
            let after = |at: Instant| at.duration_since(called).as_millis();
            assert_eq!(
                (after(deadline.of_hooks), after(deadline.of_answer)),
                (of_hooks, of_answer)
            );
        }
    }
}
