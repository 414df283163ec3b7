//! [`Part`]: what a timeline is made of, in the order of the story.

use hookwright_events::{ItemState, SessionStatus, TurnName, TurnResult, Usage, WorkItem};
use serde::Serialize;

use super::deed::Deed;

/// A part of a session's story.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Part {
    /// Where the session came to.
    Milestone(Milestone),
    /// What happened outside of iterations.
    Deed(Deed),
}

/// Where a session came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Milestone {
    /// It began.
    SessionBegan {
        /// When.
        at: String,
        /// The loop's or pipeline's name.
        plan: String,
        /// Its stages.
        stages: Vec<String>,
    },
    /// It was taken up again.
    SessionResumed {
        /// When.
        at: String,
        /// For which time.
        time: u32,
    },
    /// A stage began, or goes on.
    StageBegan {
        /// When.
        at: String,
        /// Its name.
        stage: String,
        /// From 1.
        index: u32,
        /// The most iterations it may have; `None` if it goes on.
        iterations_max: Option<u32>,
    },
    /// A piece of work of the stage's queue was taken, or goes on.
    ItemBegan {
        /// When.
        at: String,
        /// The stage's number, from 1.
        stage: u32,
        /// Which of the stage's executions, from 1.
        execution: u32,
        /// What is to be done.
        item: WorkItem,
        /// It had begun before the session was taken up again.
        goes_on: bool,
    },
    /// An iteration, or the delivery of what hooks had to say at the end.
    Iteration(Box<Iteration>),
    /// A piece of work is over.
    ItemEnded {
        /// The stage's number, from 1.
        stage: u32,
        /// Which of the stage's executions, from 1.
        execution: u32,
        /// [`WorkItem::key`].
        key: String,
        /// What became of it; `None` if it was left before its end.
        state: Option<ItemState>,
        /// Why, where it is not done.
        reason: Option<String>,
        /// How many iterations it took; `None` if it was left before its end.
        iterations: Option<u32>,
        /// How long it took, its hooks included; `None` if it was left before its end.
        duration_ms: Option<f64>,
        /// What agents used for it, as far as they tell.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// A stage is over.
    StageEnded {
        /// Its name.
        stage: String,
        /// From 1.
        index: u32,
        /// Why; `None` if it was left before its end.
        reason: Option<String>,
        /// How many iterations it had; `None` if it was left before its end.
        iterations: Option<u32>,
        /// From its beginning, or from where it went on.
        duration_ms: Option<f64>,
        /// What agents used from its beginning, or from where it went on.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// It ended, or was left to be resumed.
    SessionEnded {
        /// When.
        at: String,
        /// `completed`, `failed`, `aborted`, `interrupted`, `paused`.
        status: SessionStatus,
        /// Why, in words.
        reason: String,
        /// What agents used in all, as far as they tell.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

/// One iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Iteration {
    /// When it began.
    pub at: String,
    /// The stage's number, from 1.
    pub stage: u32,
    /// From 1; 0 delivers raw output of hooks after the last one, and is no iteration.
    pub iteration: u32,
    /// It delivers what hooks reported after the last iteration.
    #[serde(rename = "final_delivery", skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
    /// 1, or more if an earlier attempt was cut off; 0 if the agent was not started.
    pub attempt: u32,
    /// Who works, or worked last, where that is a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How far it came.
    pub state: IterationState,
    /// What came of it, if it ended.
    pub result: Option<TurnResult>,
    /// How long the agent took.
    pub duration_ms: Option<f64>,
    /// What happened around it.
    pub deeds: Vec<Deed>,
    /// How many more happened in the middle, between the first
    /// [`DEEDS_KEPT_AT_EACH_END`](crate::limits::DEEDS_KEPT_AT_EACH_END) and the others.
    #[serde(skip_serializing_if = "is_zero")]
    pub deeds_left_out: u64,
    /// Whether one of those is trouble.
    #[serde(skip)]
    pub trouble_left_out: bool,
    /// How many of those are hooks that failed.
    #[serde(skip)]
    pub failed_hooks_left_out: usize,
}

/// How far an iteration came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationState {
    /// The agent was not started.
    NotStarted,
    /// The agent works.
    Running,
    /// The agent's turn ended.
    Ended,
    /// The session was cut off or interrupted in the middle of it.
    CutOff,
}

impl Iteration {
    /// One that nothing is known of yet.
    pub(super) fn new(at: String, turn: &TurnName) -> Self {
        Self {
            at,
            stage: turn.stage,
            iteration: turn.iteration,
            is_final: false,
            attempt: 0,
            agent: None,
            state: IterationState::NotStarted,
            result: None,
            duration_ms: None,
            deeds: Vec::new(),
            deeds_left_out: 0,
            trouble_left_out: false,
            failed_hooks_left_out: 0,
        }
    }

    /// Whether a person who looks for trouble should see it.
    pub fn is_trouble(&self) -> bool {
        let failed = self.result.as_ref().is_some_and(|result| result.error.is_some());
        failed
            || self.state != IterationState::Ended
            || self.trouble_left_out
            || self.deeds.iter().any(Deed::is_trouble)
    }

    /// How many of its hooks failed or timed out.
    pub fn failed_hooks(&self) -> usize {
        let shown = self.deeds.iter().filter(|deed| deed.is_failed_hook()).count();
        shown + self.failed_hooks_left_out
    }

    pub(super) fn is(&self, turn: &TurnName) -> bool {
        (self.stage, self.iteration) == (turn.stage, turn.iteration)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
