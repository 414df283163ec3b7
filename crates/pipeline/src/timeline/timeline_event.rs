//! [`TimelineEvent`]: one thing that happened in a session.

use hookwright_events::FailureCause;
use hookwright_events::{PauseCause, Verdict};
use serde::Serialize;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimelineEvent {
    /// A hook ran, or did not.
    Hook(HookRun),
    /// The hooks decided something.
    Decision {
        /// The event's name.
        event: String,
        /// `allow`, `ask`, `block`, `stop` or `abort`.
        verdict: &'static str,
        /// The hooks' reason.
        reason: String,
    },
    /// A hook asked a person.
    Question {
        /// The event's name.
        event: String,
        /// The hook's id.
        hook: String,
        /// The wait's id, for `approve` and `reject`.
        wait: String,
        /// The question for people.
        question: String,
        /// The time it was opened.
        since: String,
        /// Its state.
        state: QuestionState,
        /// The word of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// The person's message.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Who answered, as far as known.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// How long it waited, with or without an answer, in milliseconds.
        duration_ms: Option<f64>,
    },
    /// A hook started a session.
    Child {
        /// The event's name.
        event: String,
        /// The hook's id.
        hook: String,
        /// The child's session.
        session: String,
        /// The loop or pipeline that it runs.
        pipeline: String,
    },
    /// An agent could not do its turn, through no fault of the work.
    GivenUp {
        /// The agent that failed.
        agent: String,
        /// The kind of failure.
        cause: FailureCause,
        /// The reason in words.
        reason: String,
        /// The duration in milliseconds.
        duration_ms: f64,
    },
    /// Another agent took over.
    AgentChanged {
        /// The agent that could not work.
        from: String,
        /// The agent that took over.
        to: String,
        /// Why the first agent could not work.
        reason: String,
    },
    /// The built-in agent called a tool.
    Call {
        /// The tool.
        tool: String,
        /// What it did or was to do, in a few words.
        what: String,
        /// The word of its end, or `running`, or `cut_off`.
        status: &'static str,
        /// Why it did not run to its end.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The duration in milliseconds; `None` if it has not ended.
        duration_ms: Option<f64>,
    },
    /// The user was asked whether a call may run.
    CallQuestion {
        /// The tool.
        tool: String,
        /// What it would do, in a few words.
        what: String,
        /// Whether it may run; `None` without an answer.
        allowed: Option<bool>,
        /// The user's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
    /// A request to the built-in agent's model failed.
    RequestFailed {
        /// The attempt, from 1.
        attempt: u32,
        /// Why.
        error: String,
        /// The duration in milliseconds.
        duration_ms: f64,
    },
    /// The session paused, and nothing ran.
    Pause {
        /// The beginning of the pause.
        at: String,
        /// The kind of pause.
        cause: PauseCause,
        /// The reason in words.
        reason: String,
        /// The expected end, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// The duration in milliseconds; `None` if it has not continued.
        duration_ms: Option<f64>,
    },
    /// A note for people.
    Note {
        /// The note's text.
        note: String,
    },
}

/// A hook's run, or that it did not run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HookRun {
    /// When it was started, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// At which event.
    pub event: String,
    /// Of which iteration, if it was reported outside of it: it ran in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_iteration: Option<u32>,
    /// Its id.
    pub hook: String,
    /// The word of its report, or `running`, or `cut_off`.
    pub status: &'static str,
    /// Why it was blocked, failed or skipped; what it did.
    pub reason: Option<String>,
    /// How often it was started.
    pub attempts: u32,
    /// How long it took: all attempts and the delays between them.
    pub duration_ms: Option<f64>,
    /// What it printed last, if it did not succeed and its reason does not say it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_lines: Vec<String>,
}

impl HookRun {
    pub(super) fn new(hook: String, status: &'static str) -> Self {
        Self { hook, status, ..Self::default() }
    }
}

/// The state of a question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionState {
    /// No person has answered yet.
    Waiting,
    /// The answer was yes.
    Approved,
    /// The answer was no.
    Rejected,
    /// No person answered in time.
    Unanswered,
    /// The session ended, or its process did; when resumed, it continues to ask.
    CutOff,
    /// The hook could not continue to ask.
    Withdrawn,
}

impl QuestionState {
    /// The state in words.
    pub fn as_str(self) -> &'static str {
        match self {
            QuestionState::Waiting => "waiting",
            QuestionState::Approved => "approved",
            QuestionState::Rejected => "rejected",
            QuestionState::Unanswered => "unanswered",
            QuestionState::CutOff => "cut off",
            QuestionState::Withdrawn => "withdrawn",
        }
    }
}

impl TimelineEvent {
    /// Whether a person who looks for problems should see it.
    pub(super) fn is_trouble(&self) -> bool {
        match self {
            TimelineEvent::Hook(run) => !matches!(run.status, "success" | "skipped" | "started"),
            TimelineEvent::Question { state, .. } => *state != QuestionState::Approved,
            TimelineEvent::Call { status, .. } => *status != "ran",
            TimelineEvent::CallQuestion { allowed, .. } => *allowed != Some(true),
            TimelineEvent::RequestFailed { .. }
            | TimelineEvent::Decision { .. }
            | TimelineEvent::GivenUp { .. }
            | TimelineEvent::AgentChanged { .. }
            | TimelineEvent::Pause { .. } => true,
            TimelineEvent::Child { .. } | TimelineEvent::Note { .. } => false,
        }
    }

    /// Whether it is a hook that failed or timed out.
    pub(super) fn is_failed_hook(&self) -> bool {
        matches!(self, TimelineEvent::Hook(HookRun { status: "failed" | "timed_out", .. }))
    }

    /// A verdict worth showing.
    pub(super) fn of_verdict(event: String, verdict: Verdict) -> Option<Self> {
        let (verdict, reason) = match verdict {
            Verdict::Proceed { .. } => return None,
            Verdict::Allow { reason, .. } => ("allow", reason.unwrap_or_default()),
            Verdict::Ask { reason, .. } => ("ask", reason.unwrap_or_default()),
            Verdict::Block { reason } => ("block", reason),
            Verdict::Stop { reason } => ("stop", reason),
            Verdict::Abort { reason } => ("abort", reason),
        };
        Some(TimelineEvent::Decision { event, verdict, reason })
    }
}
