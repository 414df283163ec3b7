//! [`TurnEvent`]: the second level of a run, one turn of an agent.

use serde::{Deserialize, Serialize};

use crate::turn::{CallOutcome, FailureCause, TurnName, TurnResult, Usage};

/// What happened in an agent's turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnEvent {
    /// All iterations are over, and hooks have reported something that the agent must get: it has
    /// one more iteration for that.
    FinalDelivery {
        /// The turn.
        turn: TurnName,
    },
    /// An agent's turn is about to begin. Recorded before its effect begins.
    TurnStarting {
        /// The turn.
        turn: TurnName,
        /// 1, or more if an earlier attempt was interrupted.
        attempt: u32,
        /// The marker that all its processes carry in their environment.
        run_id: String,
        /// The agent, if its user named it or there is more than one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// An agent's process runs.
    AgentRunning {
        /// The leader's process id.
        pid: u32,
        /// The leader's start time, in clock ticks since boot, if the system tells it.
        start_time: Option<u64>,
    },
    /// The agent's prompt; the first and the last part if it is very long. Shown, not journalled: a
    /// file of the iteration contains it.
    AgentPrompted {
        /// The turn.
        turn: TurnName,
        /// The prompt's text.
        prompt: String,
    },
    /// An agent printed something. Shown, not journalled: its output file contains it.
    AgentOutput {
        /// `stdout` or `stderr`.
        stream: String,
        /// The printed text.
        text: String,
    },
    /// An agent's turn has ended, and its result is known.
    TurnEnded {
        /// The turn.
        turn: TurnName,
        /// The attempt, from 1.
        attempt: u32,
        /// The turn's result.
        result: TurnResult,
        /// How long the agent took, in milliseconds.
        duration_ms: f64,
    },
    /// An agent could not do its turn, through no fault of the work: the turn is repeated, by
    /// another agent or later. It does not count as an iteration.
    TurnGivenUp {
        /// The turn.
        turn: TurnName,
        /// The attempt, from 1.
        attempt: u32,
        /// The agent that failed.
        agent: String,
        /// The kind of failure.
        cause: FailureCause,
        /// The failure in words.
        reason: String,
        /// The time at which it may be asked again, ISO 8601 in UTC, if the agent reported it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// The agent's name for its own session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_session: Option<String>,
        /// The usage until then, if the agent reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// How long it took, in milliseconds.
        duration_ms: f64,
    },
    /// Another agent takes over, because this one cannot work now.
    AgentChanged {
        /// The agent that cannot work.
        from: String,
        /// The agent that takes over.
        to: String,
        /// Why the first agent could not.
        reason: String,
    },
    /// The built-in agent is about to send a request to its model. Recorded before it is sent.
    RequestSending {
        /// The request within its turn, from 1.
        request: u32,
        /// The attempt of this request, from 1.
        attempt: u32,
        /// The model.
        model: String,
        /// The number of messages in the conversation.
        messages: usize,
        /// The subagent that asks; `None` for the turn's own agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// The model has answered a request, or the request has failed.
    RequestEnded {
        /// The request within its turn, from 1.
        request: u32,
        /// The attempt of this request, from 1.
        attempt: u32,
        /// What the answer used; `None` if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Why there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: f64,
        /// The subagent that asked; `None` for the turn's own agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// The built-in agent is about to run a tool. Recorded before the tool starts.
    CallStarting {
        /// The call's id.
        call: String,
        /// The tool.
        tool: String,
        /// What it is to do, in a few words.
        what: String,
        /// The marker that all its processes carry in their environment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_id: Option<String>,
        /// The subagent that calls; `None` for the turn's own agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// A call has its result. One that was denied has no `call_starting`.
    CallEnded {
        /// The call's id.
        call: String,
        /// The tool.
        tool: String,
        /// What it did or was to do, in a few words.
        what: String,
        /// How it ended.
        outcome: CallOutcome,
        /// Why it did not run to its end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// How long the tool ran, in milliseconds.
        duration_ms: f64,
        /// The subagent that called; `None` for the turn's own agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// The user is about to be asked whether a call may run. Recorded before the question is shown.
    QuestionAsked {
        /// The call's id.
        call: String,
        /// The tool.
        tool: String,
        /// What it would do, in a few words.
        what: String,
        /// Why the user is asked.
        reason: String,
        /// The subagent that calls; `None` for the turn's own agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// The question about a call has its answer. Recorded before the answer has any effect.
    QuestionAnswered {
        /// The call's id.
        call: String,
        /// Whether the call may run.
        allowed: bool,
        /// The user's words, if there are any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<String>,
        /// The subagent that calls; `None` for the turn's own agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// How long the transcript is, and what it contains so far. A transcript that was edited later is
    /// recognised by it.
    TranscriptWritten {
        /// Its bytes.
        bytes: u64,
        /// SHA-256 of these bytes, in hexadecimal.
        digest: String,
    },
}
