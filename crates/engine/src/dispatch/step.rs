//! What goes into dispatch and what comes out of it.

use std::time::Duration;

use hookwright_events::{Answer, Decision, FiringEvent, Outcome};

use crate::ports::Keepsake;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HookHappening {
    /// The event was fired.
    Fired,
    /// One attempt of a hook has ended.
    Ended {
        /// The hook's number in this firing.
        hook: usize,
        /// How.
        outcome: Outcome,
        /// How long it ran.
        took: Duration,
    },
    /// A running hook has turned itself into a background one.
    WentAsync {
        /// The hook's number in this firing.
        hook: usize,
        /// What it answers before it does; that counts.
        answer: Option<Box<Answer>>,
    },
    /// The delay before a hook's next attempt is over.
    TimeToRetry {
        /// The hook's number in this firing.
        hook: usize,
        /// How long the delay took.
        slept: Duration,
    },
    /// The host was interrupted; what runs is being ended.
    Interrupted,
}

/// Something to do next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HookStep {
    /// Start a hook's action.
    Start {
        /// The hook's number in this firing.
        hook: usize,
        /// 1 for the first attempt.
        attempt: u32,
    },
    /// Give a hook that nothing waits for to whoever runs it; nothing more will be heard of it.
    HandOver {
        /// The hook's number in this firing.
        hook: usize,
    },
    /// Wait, then say [`HookHappening::TimeToRetry`].
    Sleep {
        /// The hook's number in this firing.
        hook: usize,
        /// How long.
        delay: Duration,
    },
    /// Write it down and show it.
    Record(Box<FiringEvent>),
    /// Remember it for later events of the session.
    Remember(Keepsake),
    /// The hooks have answered. What still runs in the background goes on.
    Finished(Box<Decision>),
}

/// Steps on their way out.
pub(super) struct Steps {
    pub(super) all: Vec<HookStep>,
    is_watched: bool,
}

impl Steps {
    pub(super) fn new(is_watched: bool) -> Self {
        Self { all: Vec::new(), is_watched }
    }

    pub(super) fn push(&mut self, step: HookStep) {
        self.all.push(step);
    }

    pub(super) fn record(&mut self, kind: impl FnOnce() -> FiringEvent) {
        if self.is_watched {
            self.all.push(HookStep::Record(Box::new(kind())));
        }
    }
}
