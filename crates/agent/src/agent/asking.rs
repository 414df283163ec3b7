//! One answer of the model: the request with its hooks, attempts and retries, and the stream.

use std::time::{Duration, Instant};

use hookwright_events::TurnEvent;
use hookwright_process::faults;

use super::context_size::ContextSize;
use super::life::AgentLife;
use super::{AgentNews, AgentStatus};
use crate::hooks::Next;
use crate::journal::{milliseconds, shortened};
use crate::limits::{ATTEMPTS_MAX, BACKOFF_FIRST, RETRY_WAIT_MAX};
use crate::message::{Block, Message, Role};
use crate::model::collect::Collector;
use crate::model::{
    ModelAnswer, ModelError, ModelErrorKind, ModelRequest, NOTHING_SAID, RetryAfter,
};
use crate::tool::ToolSpec;

impl AgentLife {
    /// Asks the model until it has answered, and adds its answer to the conversation.
    pub(super) async fn ask_model(&mut self) -> Result<ModelAnswer, AgentStatus> {
        self.compact_if_due().await?;
        if !self.session.take_turn(self.agent.max_turns) {
            return Err(AgentStatus::MaxTurns);
        }
        let (answer, attempt) = match self.ask_or_compact().await {
            Ok(answered) => answered,
            Err(ended) => {
                self.session.return_turn();
                return Err(ended);
            }
        };
        self.totals.turns += 1;
        self.totals.usage.add(answer.usage);
        let mut message = Message::assistant(answer.content.clone());
        if message.content.is_empty() {
            // No server accepts a message without content.
            message.content.push(Block::text(NOTHING_SAID));
        }
        self.agent.audience.see(AgentNews::Answer { answer: &answer, message: &message });
        self.conversation.add_assistant(message);
        let covered = self.conversation.messages().len();
        self.compactions.size = ContextSize::reported(answer.usage, covered);
        let model = self.agent.model.name();
        let content = self.conversation.last_content();
        let fired = self.agent.hooks.response(model, attempt, &answer.usage, content);
        let observed = self.unless_cancelled(fired).await;
        let observed = self.or_close_calls(&answer, observed)?;
        let heeded = self.heed(observed);
        self.or_close_calls(&answer, heeded)?;
        let count = self.conversation.messages().len();
        let content = self.conversation.last_content();
        let fired = self.agent.hooks.message(Role::Assistant, content, count);
        let observed = self.unless_cancelled(fired).await;
        let observed = self.or_close_calls(&answer, observed)?;
        let heeded = self.heed(observed);
        self.or_close_calls(&answer, heeded)?;
        Ok(answer)
    }

    /// Asks the model; once more with a summary, if it says that the conversation is too long.
    async fn ask_or_compact(&mut self) -> Result<(ModelAnswer, u32), AgentStatus> {
        match self.ask_until_answered(None).await {
            Err(AgentStatus::ModelFailed(error))
                if error.kind == ModelErrorKind::ContextTooLong =>
            {
                match self.compact_too_long().await? {
                    true => self.ask_until_answered(None).await,
                    false => Err(AgentStatus::ModelFailed(error)),
                }
            }
            answered => answered,
        }
    }

    /// Makes attempts until the model has answered; the answer, and which attempt it was. Without a
    /// `summarised` conversation the session's own is sent.
    pub(super) async fn ask_until_answered(
        &mut self,
        summarised: Option<&[Message]>,
    ) -> Result<(ModelAnswer, u32), AgentStatus> {
        let mut attempt = 1;
        loop {
            match self.attempt(attempt, summarised).await? {
                Ok(answer) => return Ok((answer, attempt)),
                Err(error) => self.wait_for_retry(error, attempt).await?,
            }
            attempt += 1;
        }
    }

    /// One request.
    async fn attempt(
        &mut self,
        attempt: u32,
        summarised: Option<&[Message]>,
    ) -> Result<Result<ModelAnswer, ModelError>, AgentStatus> {
        let model = std::sync::Arc::clone(&self.agent.model);
        let count = summarised.unwrap_or(self.conversation.messages()).len();
        let fired = self.agent.hooks.request(model.name(), count, attempt);
        match self.unless_cancelled(fired).await? {
            Next::GoOn(said) => self.pass_on(said),
            Next::Blocked { reason, said } => {
                self.pass_on(said);
                return Err(AgentStatus::RequestBlocked(reason));
            }
            Next::End { reason, said } => return Err(self.ended(reason, said)),
        }
        // Contexts are for the work, and wait while a summary is made.
        let placed = match summarised {
            None => self.conversation.place_contexts(),
            Some(_) => Vec::new(),
        };
        if !placed.is_empty() {
            // The message that they are part of is recorded already.
            let message = &Message::user(placed);
            self.agent.audience.see(AgentNews::UserMessage { message, results: &[] });
        }
        let request = self.totals.turns + 1;
        self.record(TurnEvent::RequestSending {
            request,
            attempt,
            model: model.name().to_owned(),
            messages: count,
            agent_id: self.agent_id(),
        })
        .await?;
        let began = Instant::now();
        faults::point("request is sent");
        let sent = self.send(attempt, summarised).await;
        faults::point("request answered");
        let (usage, error) = match &sent {
            Ok(Ok(answer)) => (Some(answer.usage.into()), None),
            Ok(Err(error)) => (None, Some(shortened(&error.reason))),
            Err(ended) => {
                (None, Some(shortened(&ended.error().unwrap_or_else(|| "interrupted".to_owned()))))
            }
        };
        let duration_ms = milliseconds(began.elapsed());
        let agent_id = self.agent_id();
        let ended =
            TurnEvent::RequestEnded { request, attempt, usage, error, duration_ms, agent_id };
        let recorded = match &sent {
            Ok(Ok(_)) => self.record_with_next(ended).await,
            // The next attempt may have to wait, and a session that ends does more than this.
            Ok(Err(_)) | Err(_) => self.record(ended).await,
        };
        let answer = sent?;
        recorded?;
        Ok(answer)
    }

    /// Sends the conversation, and takes in the answer.
    async fn send(
        &mut self,
        attempt: u32,
        summarised: Option<&[Message]>,
    ) -> Result<Result<ModelAnswer, ModelError>, AgentStatus> {
        let model = std::sync::Arc::clone(&self.agent.model);
        let tools: Vec<&ToolSpec> = self.agent.tools.iter().map(|tool| tool.spec()).collect();
        let request = ModelRequest {
            system: &self.agent.system,
            messages: summarised.unwrap_or(self.conversation.messages()),
            tools: &tools,
            max_tokens: self.agent.max_tokens,
        };
        let sent = self.unless_cancelled(model.send(&request)).await?;
        let mut stream = match sent {
            Ok(stream) => stream,
            Err(error) => return Ok(Err(error)),
        };
        let observed =
            self.unless_cancelled(self.agent.hooks.stream_started(model.name(), attempt)).await?;
        self.heed(observed)?;
        self.record_waiting().await?;
        let mut collector = Collector::default();
        let collected = loop {
            match self.unless_cancelled(stream.next()).await? {
                Some(Ok(event)) => {
                    // A summary is not part of the conversation.
                    if summarised.is_none() {
                        self.agent.audience.see(AgentNews::Stream(&event));
                    }
                    if let Err(error) = collector.push(&event) {
                        break Err(error);
                    }
                }
                Some(Err(error)) => break Err(error),
                None => break collector.finish(),
            }
        };
        let answer = match collected {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        let fired = self.agent.hooks.stream_ended(model.name(), attempt, &answer.usage);
        let observed = self.unless_cancelled(fired).await?;
        self.heed(observed)?;
        Ok(Ok(answer))
    }

    /// Waits before the next attempt, if there can be one.
    async fn wait_for_retry(&mut self, error: ModelError, attempt: u32) -> Result<(), AgentStatus> {
        let after = match error.retry {
            Some(RetryAfter::Named(time)) if time <= RETRY_WAIT_MAX => time,
            Some(RetryAfter::Backoff) => backoff(attempt),
            Some(RetryAfter::Named(time)) => {
                let (named, longest) = (time.as_secs(), RETRY_WAIT_MAX.as_secs());
                let waits = format!(
                    "the server asks for a wait of {named} s, and {longest} s is the limit"
                );
                let reason = format!("{}; {waits}", error.reason);
                return Err(AgentStatus::ModelFailed(ModelError { reason, ..error }));
            }
            None => return Err(AgentStatus::ModelFailed(error)),
        };
        if attempt >= ATTEMPTS_MAX {
            return Err(AgentStatus::ModelFailed(error));
        }
        self.agent.audience.see(AgentNews::Retry { error: &error, attempt, after });
        self.unless_cancelled(tokio::time::sleep(after)).await
    }

    /// Where the session ends behind an answer with calls, each of them gets its result.
    fn or_close_calls<T>(
        &mut self,
        answer: &ModelAnswer,
        result: Result<T, AgentStatus>,
    ) -> Result<T, AgentStatus> {
        if result.is_err() {
            self.answer_unstarted_calls(answer);
        }
        result
    }
}

/// Twice as long each time.
fn backoff(attempt: u32) -> Duration {
    BACKOFF_FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(RETRY_WAIT_MAX)
}
