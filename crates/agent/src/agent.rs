//! [`BuiltInAgent`]: one session, from the prompt to the end.
//!
//! A session is a loop: a request, the model's answer, its tool calls, the next request. Each point of
//! it goes through [`AgentHooks`], and what that returns is done. The parts:
//!
//! | file | does |
//! |---|---|
//! | `agent.rs` | what a session is made of, how it begins and how it ended |
//! | `agent/life.rs` | one agent on its way: begins, goes from answer to answer, ends; what a cancelled session still fires |
//! | `agent/audience.rs` | is shown what happens |
//! | `agent/asking.rs` | one answer of the model: attempts, retries, the stream |
//! | `agent/calls.rs` | the tool calls of one answer, from the first hook to the message with their results |
//! | `agent/model_call.rs` | one call, as the model wrote it and as hooks rewrote it |
//! | `agent/permit.rs` | whether a call may run: hooks, rules and questions, in order |
//! | `agent/running_tools.rs` | the calls that run at once |
//! | `agent/conversation.rs` | the messages, and contexts on their way into the next one |
//! | `agent/task_tool.rs` | the tool `task`: a subagent, which is another life of the same code |
//! | `agent/compaction.rs` | a summary takes the place of a conversation that fills the context |
//! | `agent/context_size.rs` | how full the context is |
//! | `agent/summary.rs` | what is sent for a summary, and what comes of it |
//! | `agent/shared_session.rs` | what the agents of a session share: turns, questions, the end |
//!
//! Every call has exactly one result in the next request, also one that was denied, cut off or never
//! started. When the session is cancelled, running tools are ended, firings are dropped, and the
//! events of the end fire as always.

mod asking;
mod audience;
mod calls;
mod compaction;
mod context_size;
mod conversation;
mod life;
mod model_call;
mod permit;
mod running_tools;
mod shared_session;
mod summary;
mod task_tool;

use std::sync::Arc;

use hookwright_engine::ports::Promise;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use audience::{AgentNews, Audience, CallResult};
pub use compaction::CompactTrigger;
pub use conversation::Conversation;

use self::life::{AgentLife, Beginning};
use self::shared_session::{LifeTotals, SharedSession};
use crate::hooks::{AgentHooks, SubagentFacts};
use crate::journal::AgentJournal;
use crate::message::{Block, Message, Usage};
use crate::model::{Model, ModelError};
use crate::permissions::SharedPermissions;
use crate::tool::Tool;

/// What a session is made of. A clone shares all of it.
#[derive(Clone)]
pub struct BuiltInAgent {
    /// Is asked.
    pub model: Arc<dyn Model>,
    /// Can be called.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Fires the events.
    pub hooks: AgentHooks,
    /// Judges calls. A change counts for every clone.
    pub permissions: SharedPermissions,
    /// Answers questions.
    pub user: Arc<dyn AskUser>,
    /// Is shown what happens.
    pub audience: Arc<dyn Audience>,
    /// Records requests, calls and questions.
    pub journal: Arc<dyn AgentJournal>,
    /// What the model is told first.
    pub system: Arc<str>,
    /// Whether the model can start subagents: whether there is the tool `task`.
    pub subagents: bool,
    /// Requests to the model of all agents together, at most; attempts that failed do not count.
    pub max_turns: u32,
    /// Tokens of one answer, at most.
    pub max_tokens: u32,
    /// Tokens that the model has room for. A conversation that nearly fills them is compacted.
    pub context_tokens: u64,
}

/// Answers questions about calls.
pub trait AskUser: Send + Sync {
    /// Asks whether a call may run. `None`: no one can be asked, so it may not.
    fn may_run<'a>(&'a self, question: CallQuestion<'a>) -> Promise<'a, Option<UserReply>>;

    /// Whether someone can be asked at all.
    fn is_there(&self) -> bool;
}

/// A question about a call.
#[derive(Debug, Clone, Copy)]
pub struct CallQuestion<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its input, as it would run.
    pub input: &'a Map<String, Value>,
    /// Why it is asked.
    pub reason: &'a str,
    /// The subagent whose call it is; `None` for the session's own agent.
    pub subagent: Option<&'a SubagentFacts>,
}

/// What the user says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserReply {
    /// It may run.
    Yes,
    /// It may not; the model reads the words, if there are any.
    No(Option<String>),
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEnd {
    /// How.
    pub status: AgentStatus,
    /// What the model said last.
    pub text: String,
    /// What all answers used, those to subagents too.
    pub usage: Usage,
    /// Answers of the model, those to subagents too.
    pub turns: u32,
    /// The calls that were denied, those of subagents too.
    pub denials: Vec<CallResult>,
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentStatus {
    /// The work is done.
    Completed,
    /// A hook blocked the prompt, and why.
    PromptBlocked(String),
    /// A hook blocked a request, and why.
    RequestBlocked(String),
    /// A hook ended it, and why.
    EndedByHook(String),
    /// The model failed.
    ModelFailed(ModelError),
    /// It has asked the model as often as it may.
    MaxTurns,
    /// It was cancelled.
    Interrupted,
    /// What it was about to do could not be recorded, so it did nothing more, and why.
    JournalFailed(String),
}

impl AgentStatus {
    /// The reason in `session:stop` and `session:end`.
    pub fn reason(&self) -> &'static str {
        match self {
            AgentStatus::Completed => "completed",
            AgentStatus::PromptBlocked(_) | AgentStatus::RequestBlocked(_) => "blocked",
            AgentStatus::EndedByHook(_) => "aborted",
            AgentStatus::ModelFailed(_) | AgentStatus::JournalFailed(_) => "error",
            AgentStatus::MaxTurns => "max_turns",
            AgentStatus::Interrupted => "interrupted",
        }
    }

    /// What went wrong, in one sentence.
    pub fn error(&self) -> Option<String> {
        match self {
            AgentStatus::Completed | AgentStatus::Interrupted => None,
            AgentStatus::PromptBlocked(reason)
            | AgentStatus::RequestBlocked(reason)
            | AgentStatus::EndedByHook(reason)
            | AgentStatus::JournalFailed(reason) => Some(reason.clone()),
            AgentStatus::ModelFailed(error) => Some(error.reason.clone()),
            AgentStatus::MaxTurns => Some("the limit on turns was reached".to_owned()),
        }
    }
}

/// How a session begins.
#[derive(Debug, Clone, Copy)]
pub struct AgentStart<'a> {
    /// What the agent is to do.
    pub prompt: &'a str,
    /// What comes before the prompt, each text as a block of its own: output that hooks pipe.
    pub before: &'a [String],
    /// `init` or `maintenance`: the project is set up first.
    pub setup: Option<&'a str>,
    /// The conversation that goes on, if the session is continued.
    pub earlier: Option<EarlierConversation<'a>>,
    /// The conversation is compacted as soon as there is one.
    pub compact: Option<ManualCompaction<'a>>,
}

/// A conversation that goes on.
#[derive(Debug, Clone, Copy)]
pub struct EarlierConversation<'a> {
    /// Its messages.
    pub messages: &'a [Message],
    /// The results of calls that were cut off: the next message of the user begins with them.
    pub cut_off: &'a [Block],
    /// What the user should know.
    pub notices: &'a [String],
}

/// The user wants the conversation to be compacted.
#[derive(Debug, Clone, Copy)]
pub struct ManualCompaction<'a> {
    /// What the summary has to keep, in the user's words.
    pub instructions: Option<&'a str>,
}

impl BuiltInAgent {
    /// Runs a session to its end. When `cancel` is cancelled, running tools and hooks are ended, and the
    /// events of the end still fire.
    pub async fn run(self, start: AgentStart<'_>, cancel: &CancellationToken) -> AgentEnd {
        let session = Arc::new(SharedSession::new(cancel.child_token()));
        let life = AgentLife::new(self, Arc::clone(&session), 0);
        let (life, status) = life.run_to_end(Beginning::Session(start)).await;
        let text = life.conversation.last_words();
        session.add(life.totals);
        let LifeTotals { usage, turns, denials } = session.take_totals();
        AgentEnd { status, text, usage, turns, denials }
    }
}
