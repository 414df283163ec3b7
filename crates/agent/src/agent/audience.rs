//! [`Audience`]: is shown what happens in a session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::CompactTrigger;
use crate::hooks::SubagentFacts;
use crate::message::{Block, Message};
use crate::model::{ModelAnswer, ModelError, StreamEvent};
use crate::tool::ToolEnd;

/// Is shown what happens, at once and in order. It must be quick and must not block.
pub trait Audience: Send + Sync {
    /// Something has happened.
    fn see(&self, news: AgentNews<'_>);

    /// Is shown what happens in a subagent. It is dropped when the subagent has ended.
    fn for_subagent(&self, subagent: &Arc<SubagentFacts>) -> Arc<dyn Audience>;
}

/// Something that happened in a session.
#[derive(Debug)]
pub enum AgentNews<'a> {
    /// A piece of an answer has arrived.
    Stream(&'a StreamEvent),
    /// The model has answered.
    Answer {
        /// Its answer.
        answer: &'a ModelAnswer,
        /// The message as the model wrote it. If hooks rewrite an input, a notice follows.
        message: &'a Message,
    },
    /// A call has its result. [`AgentNews::UserMessage`] follows with the results of all calls.
    CallResult {
        /// What the model reads.
        block: &'a Block,
        /// What came of the call.
        result: &'a CallResult,
    },
    /// A hook rewrote the input of a call.
    InputRewritten {
        /// The call's id.
        call: &'a str,
        /// The input that runs.
        input: &'a Map<String, Value>,
        /// The same for the user.
        text: &'a str,
    },
    /// A message of the user was added: the prompt, results of tools, what hooks had to say.
    UserMessage {
        /// The message.
        message: &'a Message,
        /// The calls that it answers.
        results: &'a [CallResult],
    },
    /// A hook has a message for the user.
    HookMessage(&'a str),
    /// Something about the session that the user should know.
    Notice(&'a str),
    /// A summary took the place of the conversation.
    Compacted {
        /// Why.
        trigger: CompactTrigger,
        /// Tokens that it had before, about.
        tokens: u64,
        /// The conversation now: the summary, and what was kept behind it.
        messages: &'a [Message],
    },
    /// Another attempt will be made.
    Retry {
        /// What went wrong.
        error: &'a ModelError,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// When the next one comes.
        after: Duration,
    },
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The input that ran, or would have.
    pub input: Map<String, Value>,
    /// How the tool ended; `None` if it did not run.
    pub end: Option<ToolEnd>,
    /// Why it was denied, if it was.
    pub denied: Option<String>,
    /// A hook asked that its output not be shown to the user.
    pub is_suppressed: bool,
}
