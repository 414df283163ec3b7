//! Compaction: a summary by the model takes the place of a conversation that fills the context.
//!
//! It takes place before a request: by hand (`--compact`) as soon as there is something to compact, by
//! itself when the context is nearly full, and once when the model says that a request is too long.
//!
//! ```text
//! session:pre_compact ─▶ a request for a summary ─▶ the summary is checked ─▶ it takes its place
//!   blocked: nothing happens     ─▶ session:start (compact): contexts for the next request
//! ```
//!
//! If hooks block it, the model fails, or the summary is empty or no smaller than what it would replace,
//! the conversation stays as it is, and the user is told. The next attempt comes when the context has
//! grown by a tenth of the window; after three failures in a row none comes by itself.

use super::context_size::{ContextSize, bytes};
use super::life::AgentLife;
use super::summary::{self, KeptPart};
use super::{AgentNews, AgentStatus};
use crate::hooks::Next;
use crate::limits::{COMPACTION_FAILURES_MAX, CONTEXT_FULL_PERCENT, CONTEXT_KEPT_PERCENT};
use crate::message::{Message, Role};
use crate::model::{ModelAnswer, ModelError};

/// Why a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactTrigger {
    /// The user wants it.
    Manual,
    /// The context is full.
    Auto,
}

impl CompactTrigger {
    /// Its word in events and files.
    pub fn word(self) -> &'static str {
        match self {
            CompactTrigger::Manual => "manual",
            CompactTrigger::Auto => "auto",
        }
    }
}

/// What is known about compactions of one conversation.
#[derive(Debug, Default)]
pub(super) struct Compactions {
    pub(super) size: ContextSize,
    /// The user wants one, with these instructions.
    pub(super) wanted: Option<Option<String>>,
    /// Failures in a row.
    failures: u32,
    /// Below so many tokens no attempt is made.
    not_below: u64,
}

impl Compactions {
    /// Whether a conversation of so many tokens has to be compacted.
    fn is_due(&self, tokens: u64, window: u64) -> bool {
        let is_full = tokens >= percent(window, CONTEXT_FULL_PERCENT);
        is_full && tokens >= self.not_below && self.failures < COMPACTION_FAILURES_MAX
    }

    /// Nothing was compacted, or not enough to try again soon.
    fn wait_for_more(&mut self, tokens: u64, window: u64) {
        self.not_below = tokens.saturating_add(window / 10);
    }
}

impl AgentLife {
    /// Compacts the conversation if the user wants it, or if the context is full.
    pub(super) async fn compact_if_due(&mut self) -> Result<(), AgentStatus> {
        let messages = self.conversation.messages();
        if KeptPart::of(messages, 0).is_none() {
            return Ok(());
        }
        if let Some(instructions) = self.compactions.wanted.take() {
            self.compact(CompactTrigger::Manual, instructions, None).await?;
        }
        if self.compactions.is_due(self.context_tokens(), self.agent.context_tokens) {
            self.compact(CompactTrigger::Auto, None, None).await?;
        }
        Ok(())
    }

    /// Compacts a conversation that the model called too long; whether that worked.
    pub(super) async fn compact_too_long(&mut self) -> Result<bool, AgentStatus> {
        // The window is smaller than we believed, and the same request would be refused again.
        let half = bytes(self.conversation.messages()) / 2;
        self.compact(CompactTrigger::Auto, None, Some(half)).await
    }

    /// Compacts the conversation; whether that worked. Without `bytes_max` the request for a summary is
    /// shortened only if it is larger than the window.
    async fn compact(
        &mut self,
        trigger: CompactTrigger,
        instructions: Option<String>,
        bytes_max: Option<usize>,
    ) -> Result<bool, AgentStatus> {
        let (tokens, window) = (self.context_tokens(), self.agent.context_tokens);
        let kept_max = percent(window, CONTEXT_KEPT_PERCENT);
        let Some(kept) = KeptPart::of(self.conversation.messages(), kept_max) else {
            return Ok(false);
        };
        let asked = self.agent.hooks.pre_compact(trigger.word(), instructions.as_deref());
        let contexts = match self.unless_cancelled(asked).await? {
            Next::GoOn(mut said) => {
                let contexts = std::mem::take(&mut said.contexts);
                self.pass_on(said);
                contexts
            }
            Next::Blocked { reason, said } => {
                self.pass_on(said);
                self.compactions.wait_for_more(tokens, window);
                self.not_compacted(&format!("a hook blocks it: {reason}"));
                return Ok(false);
            }
            Next::End { reason, said } => return Err(self.ended(reason, said)),
        };
        let wanted = summary::wanted(instructions.as_deref(), &contexts);
        let bytes_max = bytes_max.unwrap_or_else(|| self.summarised_bytes(tokens, window));
        let request = summary::request(self.conversation.messages(), &wanted, bytes_max);
        let new = match self.ask_for_summary(&request).await? {
            Ok(text) => self.checked(kept, &text),
            Err(why) => Err(why),
        };
        let new = match new {
            Ok(new) => new,
            Err(why) => {
                self.compactions.failures += 1;
                self.compactions.wait_for_more(tokens, window);
                self.not_compacted(&why);
                return Ok(false);
            }
        };
        self.replace(trigger, tokens, new).await?;
        Ok(true)
    }

    /// The conversation with the summary, if that is one.
    fn checked(&self, kept: KeptPart, text: &str) -> Result<Vec<Message>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("the model's summary is empty".to_owned());
        }
        let old = self.conversation.messages();
        let new = kept.with_summary(old, text, &self.task);
        let (old, new_bytes) = (bytes(old), bytes(&new));
        if new_bytes >= old {
            return Err(format!(
                "with the model's summary the conversation would have {new_bytes} bytes, and it has {old}"
            ));
        }
        Ok(new)
    }

    async fn replace(
        &mut self,
        trigger: CompactTrigger,
        tokens: u64,
        new: Vec<Message>,
    ) -> Result<(), AgentStatus> {
        self.conversation.replace(new);
        self.compactions.size = ContextSize::default();
        self.compactions.failures = 0;
        let (left, window) = (self.context_tokens(), self.agent.context_tokens);
        self.compactions.wait_for_more(left, window);
        let messages = self.conversation.messages();
        self.agent.audience.see(AgentNews::Compacted { trigger, tokens, messages });
        let content = messages.first().map_or(&[][..], |first| &first.content);
        let fired = self.agent.hooks.message(Role::User, content, messages.len());
        let observed = self.unless_cancelled(fired).await?;
        self.heed(observed)?;
        let model = std::sync::Arc::clone(&self.agent.model);
        let started = self.agent.hooks.start("compact", model.name());
        let observed = self.unless_cancelled(started).await?;
        self.heed(observed)
    }

    /// Asks the model for a summary: its text, or why there is none.
    async fn ask_for_summary(
        &mut self,
        request: &[Message],
    ) -> Result<Result<String, String>, AgentStatus> {
        let (answer, attempt) = match self.ask_until_answered(Some(request)).await {
            Ok(answered) => answered,
            Err(AgentStatus::ModelFailed(ModelError { reason, .. })) => {
                return Ok(Err(format!("the model failed: {reason}")));
            }
            Err(AgentStatus::RequestBlocked(reason)) => {
                return Ok(Err(format!("a hook blocked the request for a summary: {reason}")));
            }
            Err(ended) => return Err(ended),
        };
        self.totals.usage.add(answer.usage);
        let ModelAnswer { content, usage, .. } = answer;
        let model = std::sync::Arc::clone(&self.agent.model);
        let fired = self.agent.hooks.response(model.name(), attempt, &usage, &content);
        let observed = self.unless_cancelled(fired).await?;
        self.heed(observed)?;
        Ok(Ok(Message::assistant(content).plain_text()))
    }

    /// Tokens of the next request, about.
    fn context_tokens(&self) -> u64 {
        let around = || {
            let specs = self.agent.tools.iter().map(|tool| tool.spec());
            let tools =
                specs.map(|spec| spec.description.len() + spec.input_schema.to_string().len());
            self.agent.system.len() + tools.sum::<usize>()
        };
        self.compactions.size.tokens(self.conversation.messages(), around)
    }

    /// Bytes of the conversation that fit into a request for a summary.
    fn summarised_bytes(&self, tokens: u64, window: u64) -> usize {
        if tokens <= window {
            return usize::MAX;
        }
        let all = u64::try_from(bytes(self.conversation.messages())).unwrap_or(u64::MAX);
        let fitting = percent(all.saturating_mul(window) / tokens.max(1), CONTEXT_FULL_PERCENT);
        usize::try_from(fitting).unwrap_or(usize::MAX)
    }

    fn not_compacted(&self, why: &str) {
        let text = format!("the context is not compacted: {why}");
        self.agent.audience.see(AgentNews::Notice(&text));
    }
}

fn percent(of: u64, percent: u64) -> u64 {
    of.saturating_mul(percent) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_context_is_compacted_and_not_tried_again_and_again() {
        let mut compactions = Compactions::default();
        assert!(!compactions.is_due(799, 1000));
        assert!(compactions.is_due(800, 1000));
        compactions.wait_for_more(800, 1000);
        assert!(!compactions.is_due(899, 1000));
        assert!(compactions.is_due(900, 1000));
        compactions.failures = COMPACTION_FAILURES_MAX;
        assert!(!compactions.is_due(5000, 1000));
    }
}
