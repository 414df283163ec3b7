//! [`AgentLife`]: one agent on its way, from its first message to the events of its end.
//!
//! The session's own agent and every subagent are a life of their own. Requests are in `asking.rs`, tool
//! calls in `calls.rs`.

use std::sync::Arc;

use hookwright_events::TurnEvent;

use super::compaction::Compactions;
use super::shared_session::{LifeTotals, SharedSession};
use super::task_tool::TaskTool;
use super::{
    AgentNews, AgentStart, AgentStatus, BuiltInAgent, CallResult, Conversation, EarlierConversation,
};
use crate::hooks::{Next, Observed, Said};
use crate::message::{Block, Role};

/// How a life begins.
pub(super) enum Beginning<'a> {
    /// As the session's own agent.
    Session(AgentStart<'a>),
    /// As a subagent, with the prompt of the call.
    Subagent { prompt: &'a str },
}

/// What a subagent reads behind its prompt.
const SUBAGENT_NOTE: &str = "(You are a subagent: another agent gave you this task, and reads your last \
    message, nothing else. End with what it has to know.)";

/// One agent on its way: the session's own, or a subagent.
pub(super) struct AgentLife {
    pub(super) agent: BuiltInAgent,
    pub(super) session: Arc<SharedSession>,
    pub(super) conversation: Conversation,
    pub(super) compactions: Compactions,
    /// The prompt, which a summary repeats.
    pub(super) task: String,
    pub(super) totals: LifeTotals,
    /// Calls that the model made, also those that were denied.
    pub(super) calls_made: usize,
}

impl AgentLife {
    /// The life of an agent that has `depth` others above it.
    pub(super) fn new(mut agent: BuiltInAgent, session: Arc<SharedSession>, depth: usize) -> Self {
        if agent.subagents {
            let task = TaskTool::new(agent.clone(), Arc::clone(&session), depth);
            agent.tools.push(Arc::new(task));
        }
        let (conversation, totals) = (Conversation::default(), LifeTotals::default());
        let (compactions, task) = (Compactions::default(), String::new());
        Self { agent, session, conversation, compactions, task, totals, calls_made: 0 }
    }

    pub(super) async fn run_to_end(mut self, beginning: Beginning<'_>) -> (Self, AgentStatus) {
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

    pub(super) async fn live(&mut self, beginning: Beginning<'_>) -> Result<(), AgentStatus> {
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

    pub(super) async fn begin_session(&mut self, start: AgentStart<'_>) -> Result<(), AgentStatus> {
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
    pub(super) async fn is_done(&mut self) -> Result<bool, AgentStatus> {
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
    pub(super) async fn close(&mut self, status: &AgentStatus) {
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
        let _ = self.record_waiting().await;
    }

    /// The same for the session's own agent.
    pub(super) async fn close_session(&mut self, status: &AgentStatus) {
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
    pub(super) fn agent_id(&self) -> Option<String> {
        let subagent = self.agent.hooks.subagent();
        // An iteration of a pipeline is the turn's own agent: no call has started it.
        subagent.filter(|subagent| !subagent.call.is_empty()).map(|subagent| subagent.id.clone())
    }

    /// Records what is about to happen or has happened. If that fails, the session ends.
    pub(super) async fn record(&self, happened: TurnEvent) -> Result<(), AgentStatus> {
        let recorded = self.agent.journal.record(happened).await;
        recorded.map_err(|error| AgentStatus::JournalFailed(error.to_string()))
    }

    /// Records what has happened, at the latest with what is recorded next: before this agent waits
    /// for anyone.
    pub(super) async fn record_with_next(&self, happened: TurnEvent) -> Result<(), AgentStatus> {
        let recorded = self.agent.journal.record_with_next(happened).await;
        recorded.map_err(|error| AgentStatus::JournalFailed(error.to_string()))
    }

    /// Records what was put off: what follows may take long.
    pub(super) async fn record_waiting(&self) -> Result<(), AgentStatus> {
        let recorded = self.agent.journal.record_waiting().await;
        recorded.map_err(|error| AgentStatus::JournalFailed(error.to_string()))
    }

    /// Adds a message of the user, with the contexts that wait for one.
    pub(super) async fn add_user_message(
        &mut self,
        content: Vec<Block>,
        results: &[CallResult],
    ) -> Result<(), AgentStatus> {
        let message = &self.conversation.add_user(content);
        self.agent.audience.see(AgentNews::UserMessage { message, results });
        let count = self.conversation.messages().len();
        let fired = self.agent.hooks.message(Role::User, &message.content, count);
        let observed = self.unless_cancelled(fired).await?;
        self.heed(observed)
    }

    /// Keeps what hooks said: contexts for the next message, messages for the user.
    pub(super) fn pass_on(&mut self, said: Said) {
        for message in &said.messages {
            self.agent.audience.see(AgentNews::HookMessage(message));
        }
        self.conversation.add_contexts(said.contexts);
    }

    /// Does what hooks of an event say that they could only observe.
    pub(super) fn heed(&mut self, observed: Observed) -> Result<(), AgentStatus> {
        self.pass_on(observed.said);
        observed.end.map_or(Ok(()), |reason| Err(AgentStatus::EndedByHook(reason)))
    }

    pub(super) fn ended(&mut self, reason: String, said: Said) -> AgentStatus {
        self.pass_on(said);
        AgentStatus::EndedByHook(reason)
    }

    /// Waits, unless the session is cancelled before; then the promise is dropped, and with it the hooks
    /// that it waits for.
    pub(super) async fn unless_cancelled<T>(
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
