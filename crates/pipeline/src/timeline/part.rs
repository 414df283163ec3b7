//! [`Part`]: the parts of a timeline, in order.

use hookwright_events::{ItemState, SessionStatus, TurnName, TurnResult, Usage, WorkItem};
use serde::Serialize;

use super::timeline_event::TimelineEvent;

/// A part of a timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Part {
    /// A milestone of the session.
    Milestone(Milestone),
    /// What happened outside of iterations.
    TimelineEvent(TimelineEvent),
}

/// A milestone of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Milestone {
    /// The session started.
    SessionBegan {
        /// The time, ISO 8601 in UTC.
        at: String,
        /// The loop's or pipeline's name.
        plan: String,
        /// The names of its stages.
        stages: Vec<String>,
    },
    /// The session was resumed.
    SessionResumed {
        /// The time, ISO 8601 in UTC.
        at: String,
        /// The number of the resume, from 1.
        time: u32,
    },
    /// A stage started, or continues.
    StageBegan {
        /// The time, ISO 8601 in UTC.
        at: String,
        /// The stage's name.
        stage: String,
        /// The stage's number, from 1.
        index: u32,
        /// The maximum number of iterations; `None` if it continues.
        iterations_max: Option<u32>,
    },
    /// A work item of the stage's queue was taken, or continues.
    ItemBegan {
        /// The time, ISO 8601 in UTC.
        at: String,
        /// The stage's number, from 1.
        stage: u32,
        /// The stage's execution, from 1.
        execution: u32,
        /// The work item.
        item: WorkItem,
        /// It had begun before the session was resumed.
        goes_on: bool,
    },
    /// An iteration, or the delivery of hook output at the end.
    Iteration(Box<Iteration>),
    /// A work item is finished.
    ItemEnded {
        /// The stage's number, from 1.
        stage: u32,
        /// The stage's execution, from 1.
        execution: u32,
        /// [`WorkItem::key`].
        key: String,
        /// Its state; `None` if it was left before its end.
        state: Option<ItemState>,
        /// The reason, if it is not done.
        reason: Option<String>,
        /// The number of iterations; `None` if it was left before its end.
        iterations: Option<u32>,
        /// The duration in milliseconds, including its hooks; `None` if it was left before its end.
        duration_ms: Option<f64>,
        /// The usage of agents for it, as far as they report it.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// A stage is over.
    StageEnded {
        /// The stage's name.
        stage: String,
        /// The stage's number, from 1.
        index: u32,
        /// The reason; `None` if it was left before its end.
        reason: Option<String>,
        /// The number of iterations; `None` if it was left before its end.
        iterations: Option<u32>,
        /// The time since its start, or since it continued, in milliseconds.
        duration_ms: Option<f64>,
        /// The usage of agents since its start, or since it continued.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The session ended, or was left to be resumed.
    SessionEnded {
        /// The time, ISO 8601 in UTC.
        at: String,
        /// `completed`, `failed`, `aborted`, `interrupted`, `paused`.
        status: SessionStatus,
        /// The reason in words.
        reason: String,
        /// The usage of all agents, as far as they report it.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

/// An iteration with its deeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Iteration {
    /// The time of its start.
    pub at: String,
    /// The stage's number, from 1.
    pub stage: u32,
    /// The number, from 1; 0 delivers raw output of hooks after the last one, and is not an
    /// iteration.
    pub iteration: u32,
    /// It delivers what hooks reported after the last iteration.
    #[serde(rename = "final_delivery", skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
    /// 1, or more if an earlier attempt was interrupted; 0 if the agent was not started.
    pub attempt: u32,
    /// The agent that works, or worked last, if there is more than one or it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its state.
    pub state: IterationState,
    /// The result, if it ended.
    pub result: Option<TurnResult>,
    /// The duration of the agent's work in milliseconds.
    pub duration_ms: Option<f64>,
    /// What happened around it.
    pub deeds: Vec<TimelineEvent>,
    /// How many more happened in the middle, between the first
    /// [`DEEDS_KEPT_AT_EACH_END`](crate::limits::DEEDS_KEPT_AT_EACH_END) and the last ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub deeds_left_out: u64,
    /// Whether one of those is a problem.
    #[serde(skip)]
    pub trouble_left_out: bool,
    /// How many of those are failed hooks.
    #[serde(skip)]
    pub failed_hooks_left_out: usize,
}

/// The state of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationState {
    /// The agent was not started.
    NotStarted,
    /// The agent works.
    Running,
    /// The agent's turn ended.
    Ended,
    /// The session was killed or interrupted in the middle of it.
    CutOff,
}

impl Iteration {
    /// An iteration of which nothing else is known yet.
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

    /// Whether a person who looks for problems should see it.
    pub fn is_trouble(&self) -> bool {
        let failed = self.result.as_ref().is_some_and(|result| result.error.is_some());
        failed
            || self.state != IterationState::Ended
            || self.trouble_left_out
            || self.deeds.iter().any(TimelineEvent::is_trouble)
    }

    /// The number of its hooks that failed or timed out.
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
