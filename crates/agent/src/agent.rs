//! [`BuiltInAgent`]: one session, from the prompt to the end.
//!
//! A session is a loop: a request, the model's answer, its tool calls, the next request. Each point of
//! it goes through [`AgentHooks`], and what that returns is done. The parts:
//!
//! | file | does |
//! |---|---|
//! | `agent.rs` | begins, counts the turns, ends; what a cancelled session still fires |
//! | `agent/asking.rs` | one answer of the model: attempts, retries, the stream |
//! | `agent/calls.rs` | the tool calls of one answer: hooks and permissions in order, then all tools at once |
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
mod calls;
mod compaction;
mod context_size;
mod conversation;
mod shared_session;
mod summary;
mod task_tool;

use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::ports::Promise;
use hookwright_events::TurnEvent;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use compaction::CompactTrigger;
pub use conversation::Conversation;

use self::compaction::Compactions;
use self::shared_session::{LifeTotals, SharedSession};
use self::task_tool::TaskTool;
use crate::hooks::{AgentHooks, Next, Observed, Said, SubagentFacts};
use crate::journal::AgentJournal;
use crate::message::{Block, Message, Role, Usage};
use crate::model::{Model, ModelAnswer, ModelError, StreamEvent};
use crate::permissions::SharedPermissions;
use crate::tool::{Tool, ToolEnd};

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

/// How a life begins.
enum Beginning<'a> {
    /// As the session's own agent.
    Session(AgentStart<'a>),
    /// As a subagent, with the prompt of the call.
    Subagent { prompt: &'a str },
}

/// What a subagent reads behind its prompt.
const SUBAGENT_NOTE: &str = "(You are a subagent: another agent gave you this task, and reads your last \
    message, nothing else. End with what it has to know.)";

/// One agent on its way: the session's own, or a subagent.
struct Life {
    agent: BuiltInAgent,
    session: Arc<SharedSession>,
    conversation: Conversation,
    compactions: Compactions,
    /// The prompt, which a summary repeats.
    task: String,
    totals: LifeTotals,
    /// Calls that the model made, also those that were denied.
    calls_made: usize,
}

impl BuiltInAgent {
    /// Runs a session to its end. When `cancel` is cancelled, running tools and hooks are ended, and the
    /// events of the end still fire.
    pub async fn run(self, start: AgentStart<'_>, cancel: &CancellationToken) -> AgentEnd {
        let session = Arc::new(SharedSession::new(cancel.child_token()));
        let life = Life::new(self, Arc::clone(&session), 0);
        let (life, status) = life.run_to_end(Beginning::Session(start)).await;
        let text = life.conversation.last_words();
        session.add(life.totals);
        let LifeTotals { usage, turns, denials } = session.take_totals();
        AgentEnd { status, text, usage, turns, denials }
    }
}

impl Life {
    /// The life of an agent that has `depth` others above it.
    fn new(mut agent: BuiltInAgent, session: Arc<SharedSession>, depth: usize) -> Self {
        if agent.subagents {
            let task = TaskTool::new(agent.clone(), Arc::clone(&session), depth);
            agent.tools.push(Arc::new(task));
        }
        let (conversation, totals) = (Conversation::default(), LifeTotals::default());
        let (compactions, task) = (Compactions::default(), String::new());
        Self { agent, session, conversation, compactions, task, totals, calls_made: 0 }
    }

    async fn run_to_end(mut self, beginning: Beginning<'_>) -> (Self, AgentStatus) {
        let mut status = match self.live(beginning).await {
            Ok(()) => AgentStatus::Completed,
            Err(ended) => ended,
        };
        // Whatever ended it then, this is why: without a journal no hook can run either.
        if let Some(reason) = self.agent.journal.failure() {
            status = AgentStatus::JournalFailed(reason);
        }
        self.close(&status).await;
        (self, status)
    }

    async fn live(&mut self, beginning: Beginning<'_>) -> Result<(), AgentStatus> {
        match beginning {
            Beginning::Session(start) => self.begin_session(start).await?,
            Beginning::Subagent { prompt } => {
                let observed = self.unless_cancelled(self.agent.hooks.agent_start()).await?;
                self.heed(observed)?;
                self.task = prompt.to_owned();
                let content = vec![Block::text(prompt), Block::text(SUBAGENT_NOTE)];
                self.add_user_message(content, &[]).await?;
            }
        }
        loop {
            let answer = self.ask_model().await?;
            let calls = self.take_calls(&answer);
            if calls.is_empty() {
                if self.is_done().await? {
                    return Ok(());
                }
            } else {
                self.run_calls(calls).await?;
            }
        }
    }

    async fn begin_session(&mut self, start: AgentStart<'_>) -> Result<(), AgentStatus> {
        if let Some(trigger) = start.setup {
            let observed = self.unless_cancelled(self.agent.hooks.setup(trigger)).await?;
            self.heed(observed)?;
        }
        let mut content = Vec::new();
        let source = match start.earlier {
            None => "startup",
            Some(EarlierConversation { messages, cut_off, notices }) => {
                self.conversation = Conversation::from(messages.to_vec());
                content.extend(cut_off.iter().cloned());
                for notice in notices {
                    self.agent.audience.see(AgentNews::Notice(notice));
                }
                "resume"
            }
        };
        let model = Arc::clone(&self.agent.model);
        let hooks = self.agent.hooks.clone();
        let observed = match hooks.subagent() {
            // An iteration of a pipeline, whose session has events of its own.
            Some(_) => self.unless_cancelled(hooks.agent_start()).await?,
            None => self.unless_cancelled(hooks.start(source, model.name())).await?,
        };
        self.heed(observed)?;
        match self.unless_cancelled(self.agent.hooks.prompt(start.prompt)).await? {
            Next::GoOn(said) => self.pass_on(said),
            Next::Blocked { reason, said } => {
                self.pass_on(said);
                return Err(AgentStatus::PromptBlocked(reason));
            }
            Next::End { reason, said } => return Err(self.ended(reason, said)),
        }
        self.task = start.prompt.to_owned();
        self.compactions.wanted =
            start.compact.map(|compact| compact.instructions.map(str::to_owned));
        let before = start.before.iter().filter(|text| !text.trim().is_empty());
        content.extend(before.map(Block::text));
        content.push(Block::text(start.prompt));
        self.add_user_message(content, &[]).await
    }

    /// Whether hooks let the agent end.
    async fn is_done(&mut self) -> Result<bool, AgentStatus> {
        let last = self.conversation.last_words();
        let next = self.unless_cancelled(self.agent.hooks.stop("completed", &last)).await?;
        match next {
            Next::GoOn(said) => {
                self.pass_on(said);
                Ok(true)
            }
            Next::End { reason, said } => Err(self.ended(reason, said)),
            Next::Blocked { reason, said } => {
                // Here messages are for the model as well.
                let for_model = said.messages.clone();
                self.pass_on(said);
                let mut content =
                    vec![Block::text(format!("A hook did not let you stop: {reason}"))];
                content.extend(for_model.into_iter().map(Block::text));
                self.add_user_message(content, &[]).await?;
                Ok(false)
            }
        }
    }

    /// Fires the events of the end. What hooks decide here changes nothing any more.
    async fn close(&mut self, status: &AgentStatus) {
        let last = self.conversation.last_words();
        let reason = status.reason();
        let is_subagent = self.agent.hooks.subagent().is_some();
        if *status == AgentStatus::Interrupted && !is_subagent {
            let observed = self.agent.hooks.interrupt().await;
            self.pass_on(observed.said);
        }
        let stops = matches!(
            status,
            AgentStatus::Interrupted
                | AgentStatus::ModelFailed(_)
                | AgentStatus::MaxTurns
                | AgentStatus::JournalFailed(_)
        );
        if stops {
            let (Next::GoOn(said) | Next::Blocked { said, .. } | Next::End { said, .. }) =
                self.agent.hooks.stop(reason, &last).await;
            self.pass_on(said);
        }
        if !is_subagent {
            self.close_session(status).await;
        }
        // What follows may have to wait for servers or hooks. The end of the session reports a failure.
        let _ = self.record_waiting();
    }

    /// The same for the session's own agent.
    async fn close_session(&mut self, status: &AgentStatus) {
        let reason = status.reason();
        let error = status.error();
        let message = match &error {
            None => format!("the agent has ended: {reason}"),
            Some(error) => format!("the agent has ended: {error}"),
        };
        let shown = self.agent.hooks.notification("agent_completed", "Hookwright", &message).await;
        self.pass_on(shown.said);
        let observed = self.agent.hooks.end(reason, error.as_deref()).await;
        self.pass_on(observed.said);
    }

    /// The subagent's id; `None` for the session's own agent.
    fn agent_id(&self) -> Option<String> {
        let subagent = self.agent.hooks.subagent();
        // An iteration of a pipeline is the turn's own agent: no call has started it.
        subagent.filter(|subagent| !subagent.call.is_empty()).map(|subagent| subagent.id.clone())
    }

    /// Records what is about to happen or has happened. If that fails, the session ends.
    fn record(&self, happened: TurnEvent) -> Result<(), AgentStatus> {
        let recorded = self.agent.journal.record(happened);
        recorded.map_err(|error| AgentStatus::JournalFailed(error.to_string()))
    }

    /// Records what has happened, at the latest with what is recorded next: before this agent waits
    /// for anyone.
    fn record_with_next(&self, happened: TurnEvent) -> Result<(), AgentStatus> {
        let recorded = self.agent.journal.record_with_next(happened);
        recorded.map_err(|error| AgentStatus::JournalFailed(error.to_string()))
    }

    /// Records what was put off: what follows may take long.
    fn record_waiting(&self) -> Result<(), AgentStatus> {
        let recorded = self.agent.journal.record_waiting();
        recorded.map_err(|error| AgentStatus::JournalFailed(error.to_string()))
    }

    /// Adds a message of the user, with the contexts that wait for one.
    async fn add_user_message(
        &mut self,
        content: Vec<Block>,
        results: &[CallResult],
    ) -> Result<(), AgentStatus> {
        let message = &self.conversation.add_user(content);
        self.agent.audience.see(AgentNews::UserMessage { message, results });
        let content = serde_json::to_value(&message.content).unwrap_or_default();
        let count = self.conversation.messages().len();
        let fired = self.agent.hooks.message(Role::User, content, count);
        let observed = self.unless_cancelled(fired).await?;
        self.heed(observed)
    }

    /// Keeps what hooks said: contexts for the next message, messages for the user.
    fn pass_on(&mut self, said: Said) {
        for message in &said.messages {
            self.agent.audience.see(AgentNews::HookMessage(message));
        }
        self.conversation.add_contexts(said.contexts);
    }

    /// Does what hooks of an event say that they could only observe.
    fn heed(&mut self, observed: Observed) -> Result<(), AgentStatus> {
        self.pass_on(observed.said);
        observed.end.map_or(Ok(()), |reason| Err(AgentStatus::EndedByHook(reason)))
    }

    fn ended(&mut self, reason: String, said: Said) -> AgentStatus {
        self.pass_on(said);
        AgentStatus::EndedByHook(reason)
    }

    /// Waits, unless the session is cancelled before; then the promise is dropped, and with it the hooks
    /// that it waits for.
    async fn unless_cancelled<T>(
        &self,
        promise: impl Future<Output = T>,
    ) -> Result<T, AgentStatus> {
        tokio::select! {
            biased;
            () = self.session.cancel.cancelled() => Err(self.session.cut_off()),
            value = promise => Ok(value),
        }
    }
}
