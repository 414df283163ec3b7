//! The input and output of dispatch.

use std::time::Duration;

use hookwright_events::{Answer, Decision, FiringEvent, Outcome};

use crate::ports::Keepsake;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HookHappening {
    Fired,
    /// One attempt of a hook has ended.
    Ended {
        /// The number of the hook in this firing, as in all variants.
        hook: usize,
        outcome: Outcome,
        took: Duration,
    },
    /// A running hook moved itself to the background.
    WentAsync {
        hook: usize,
        /// Its answer so far, which counts.
        answer: Option<Box<Answer>>,
    },
    /// The delay before a hook's next attempt is over.
    TimeToRetry {
        hook: usize,
        slept: Duration,
    },
    /// The host was interrupted, and running hooks are being ended.
    Interrupted,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HookStep {
    Start {
        /// The number of the hook in this firing, as in all variants.
        hook: usize,
        /// Counted from 1.
        attempt: u32,
    },
    /// Hand a hook over to the process that runs background hooks. It sends no news.
    HandOver { hook: usize },
    /// Wait, then report [`HookHappening::TimeToRetry`].
    Sleep { hook: usize, delay: Duration },
    /// Journal it and show it.
    Record(Box<FiringEvent>),
    /// Remember it for later events of the session.
    Remember(Keepsake),
    /// The decision is made. Background hooks continue.
    Finished(Box<Decision>),
}

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
