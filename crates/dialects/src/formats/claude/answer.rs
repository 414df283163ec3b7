//! [`HookOutput`]: a hook's answer to Claude Code, field for field, converted to and from our
//! [`Answer`].
//!
//! The engine's `answer` module parses the output of commands and also finds an answer between
//! other text. These types are for programs: callbacks answer with them, and replies to Claude Code
//! are written with them.

mod specific;

use hookwright_events::{Answer, AnswerDecision};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use specific::{
    Behavior, ContextOutput, ElicitationAction, ElicitationOutput, HookSpecificOutput,
    MessageDisplayOutput, ModelSwitchOutput, PermissionAnswer, PermissionDecision,
    PermissionDeniedOutput, PermissionRequestOutput, PostToolUseOutput, PreToolUseOutput,
    SessionStartOutput, UserPromptOutput, WatchOutput, WorktreeOutput,
};

/// A hook's answer: now or later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it lives shortly")]
pub enum HookOutput {
    /// The hook continues in the background.
    Async(AsyncHookOutput),
    /// The hook answers now.
    Sync(SyncHookOutput),
}

/// Says that a hook continues in the background.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AsyncHookOutput {
    /// Always `true`.
    #[serde(rename = "async")]
    pub is_async: True,
    /// Its time limit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub async_timeout: Option<f64>,
}

/// The value `true`, and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "bool", into = "bool")]
pub struct True;

impl TryFrom<bool> for True {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<Self, Self::Error> {
        value.then_some(True).ok_or("expected `true`")
    }
}

impl From<True> for bool {
    fn from(_: True) -> Self {
        true
    }
}

/// An immediate answer. A missing field requests nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncHookOutput {
    /// `false` ends the turn.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub go_on: Option<bool>,
    /// Whether to hide the hook's output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// Why the turn ends, for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Approves or blocks what the event announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<TopDecision>,
    /// The reason of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A message for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// An escape sequence for the user's terminal: a title, a notification, a bell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_sequence: Option<String>,
    /// Fields of this event only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<HookSpecificOutput>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Approves or blocks what an event announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopDecision {
    /// Approve.
    Approve,
    /// Block.
    Block,
}

impl HookOutput {
    /// An answer that requests nothing.
    pub fn nothing() -> Self {
        HookOutput::Sync(SyncHookOutput::default())
    }

    /// The answer in native form. One that continues in the background requests nothing.
    pub fn into_answer(self) -> Answer {
        match self {
            HookOutput::Async(_) => Answer::default(),
            HookOutput::Sync(output) => output.into(),
        }
    }
}

impl Default for HookOutput {
    fn default() -> Self {
        Self::nothing()
    }
}

impl From<SyncHookOutput> for HookOutput {
    fn from(output: SyncHookOutput) -> Self {
        HookOutput::Sync(output)
    }
}

impl From<HookSpecificOutput> for HookOutput {
    fn from(specific: HookSpecificOutput) -> Self {
        SyncHookOutput::from(specific).into()
    }
}

impl From<HookSpecificOutput> for SyncHookOutput {
    fn from(specific: HookSpecificOutput) -> Self {
        Self { hook_specific_output: Some(specific), ..Self::default() }
    }
}

impl SyncHookOutput {
    /// Whether the answer requests nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Blocks what the event announced, with a reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self { decision: Some(TopDecision::Block), reason: Some(reason.into()), ..Self::default() }
    }
}

impl From<SyncHookOutput> for Answer {
    fn from(output: SyncHookOutput) -> Self {
        let said = output.hook_specific_output.map(Answer::from).unwrap_or_default();
        let top = output.decision.map(|decision| match decision {
            TopDecision::Approve => AnswerDecision::Allow,
            TopDecision::Block => AnswerDecision::Deny,
        });
        // A deny anywhere is a deny, and an ask overrides an allow, as in printed answers.
        let strength = |decision: Option<AnswerDecision>| match decision {
            None => 0,
            Some(AnswerDecision::Allow) => 1,
            Some(AnswerDecision::Ask) => 2,
            Some(AnswerDecision::Deny) => 3,
        };
        let top_leads = strength(top) > strength(said.decision);
        let (decision, reason) = if top_leads {
            (top, output.reason)
        } else {
            let beside = output.reason.filter(|_| top == said.decision || top.is_none());
            (said.decision, said.reason.or(beside))
        };
        Answer {
            decision,
            reason,
            stop: said.stop || output.go_on == Some(false),
            stop_reason: output.stop_reason.or(said.stop_reason),
            system_message: output.system_message,
            suppress_output: output.suppress_output == Some(true),
            ..said
        }
    }
}

#[cfg(test)]
mod tests;
