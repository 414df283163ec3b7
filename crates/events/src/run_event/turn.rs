//! [`TurnEvent`]: the second level of a run, one turn of an agent.

use serde::{Deserialize, Serialize};

use crate::turn::{FailureCause, TurnName, TurnResult, Usage};

/// What happened in an agent's turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnEvent {
    /// All iterations are over, and hooks have reported something that the agent has to hear: it gets one
    /// iteration more for that.
    FinalDelivery {
        /// The turn.
        turn: TurnName,
    },
    /// An agent's turn is about to begin. Recorded before its effect begins.
    TurnStarting {
        /// The turn.
        turn: TurnName,
        /// 1, or more if an earlier attempt was cut off.
        attempt: u32,
        /// The marker that everything it starts carries in its environment.
        run_id: String,
        /// Who works, where that is a question: its user gave it a name, or another one could work too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// An agent's process runs.
    AgentRunning {
        /// The leader's process id.
        pid: u32,
        /// The leader's start time, in clock ticks since boot, where the system tells.
        start_time: Option<u64>,
    },
    /// What an agent is told in its turn, its first and its last part if it is very long. Shown, not
    /// journalled: a file of the iteration holds it.
    AgentPrompted {
        /// The turn.
        turn: TurnName,
        /// The prompt.
        prompt: String,
    },
    /// An agent has printed something. Shown, not journalled: its output file holds it.
    AgentOutput {
        /// `stdout` or `stderr`.
        stream: String,
        /// The text.
        text: String,
    },
    /// An agent's turn has ended, and what came of it is known.
    TurnEnded {
        /// The turn.
        turn: TurnName,
        /// The attempt, from 1.
        attempt: u32,
        /// What came of it.
        result: TurnResult,
        /// How long the agent took, in milliseconds.
        duration_ms: f64,
    },
    /// An agent could not do its turn, through no fault of the work: it is done again, by another one or
    /// later. It is no iteration.
    TurnGivenUp {
        /// The turn.
        turn: TurnName,
        /// The attempt, from 1.
        attempt: u32,
        /// Who could not.
        agent: String,
        /// What kind of failure it was.
        cause: FailureCause,
        /// The failure in words.
        reason: String,
        /// When it may be asked again, ISO 8601 in UTC, if it told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// What the agent calls its own session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_session: Option<String>,
        /// What it used until then, where it tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// How long it took, in milliseconds.
        duration_ms: f64,
    },
    /// Another agent takes over, because this one cannot work now.
    AgentChanged {
        /// Who could not.
        from: String,
        /// Who does.
        to: String,
        /// Why the first agent could not.
        reason: String,
    },
}
