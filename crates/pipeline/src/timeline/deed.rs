//! [`Deed`]: one thing that happened on a session's way.

use hookwright_events::FailureCause;
use hookwright_events::{PauseCause, Verdict};
use serde::Serialize;

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Deed {
    /// A hook ran, or did not.
    Hook(HookRun),
    /// The hooks asked for something.
    Decision {
        /// At which event.
        event: String,
        /// `allow`, `ask`, `block`, `stop` or `abort`.
        verdict: &'static str,
        /// Why.
        reason: String,
    },
    /// A hook asked a person.
    Question {
        /// At which event.
        event: String,
        /// The hook's id.
        hook: String,
        /// The wait's id, for `approve` and `reject`.
        wait: String,
        /// What was asked.
        question: String,
        /// Since when.
        since: String,
        /// What became of it.
        state: QuestionState,
        /// The word of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// What was said with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Who answered, as far as that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// How long it waited for the answer, or in vain.
        duration_ms: Option<f64>,
    },
    /// A hook started a session of its own.
    Child {
        /// At which event.
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
        /// Who could not.
        agent: String,
        /// Why.
        cause: FailureCause,
        /// In words.
        reason: String,
        /// How long it took.
        duration_ms: f64,
    },
    /// Another agent took over.
    AgentChanged {
        /// Who could not work.
        from: String,
        /// Who did.
        to: String,
        /// Why.
        reason: String,
    },
    /// The session waited, and nothing ran meanwhile.
    Pause {
        /// Since when.
        at: String,
        /// What for.
        cause: PauseCause,
        /// In words.
        reason: String,
        /// Until when, if that was known.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// How long; `None` if it did not go on, or not yet.
        duration_ms: Option<f64>,
    },
    /// Something that a person should know.
    Note {
        /// What.
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

/// What became of a question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionState {
    /// Nobody has answered yet.
    Waiting,
    /// The answer was to go on.
    Approved,
    /// The answer was no.
    Rejected,
    /// Nobody answered in time.
    Unanswered,
    /// The session ended, or its process did; resumed, it asks on.
    CutOff,
    /// The hook could not go on asking.
    Withdrawn,
}

impl QuestionState {
    /// The words for it.
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

impl Deed {
    /// Whether a person who looks for trouble should see it.
    pub(super) fn is_trouble(&self) -> bool {
        match self {
            Deed::Hook(run) => !matches!(run.status, "success" | "skipped" | "started"),
            Deed::Question { state, .. } => *state != QuestionState::Approved,
            Deed::Decision { .. }
            | Deed::GivenUp { .. }
            | Deed::AgentChanged { .. }
            | Deed::Pause { .. } => true,
            Deed::Child { .. } | Deed::Note { .. } => false,
        }
    }

    /// Whether it is a hook that failed or timed out.
    pub(super) fn is_failed_hook(&self) -> bool {
        matches!(self, Deed::Hook(HookRun { status: "failed" | "timed_out", .. }))
    }

    /// A verdict that is worth a word.
    pub(super) fn of_verdict(event: String, verdict: Verdict) -> Option<Self> {
        let (verdict, reason) = match verdict {
            Verdict::Proceed { .. } => return None,
            Verdict::Allow { reason, .. } => ("allow", reason.unwrap_or_default()),
            Verdict::Ask { reason, .. } => ("ask", reason.unwrap_or_default()),
            Verdict::Block { reason } => ("block", reason),
            Verdict::Stop { reason } => ("stop", reason),
            Verdict::Abort { reason } => ("abort", reason),
        };
        Some(Deed::Decision { event, verdict, reason })
    }
}
