//! [`HookSpecificOutput`]: what a hook's answer says that only its own event knows.

use hookwright_events::{Answer, AnswerDecision};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::claude::event::base::PermissionUpdate;

/// What a hook's answer says that only its own event knows, by that event's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "hookEventName")]
pub enum HookSpecificOutput {
    /// Whether the tool runs, and with what.
    PreToolUse(PreToolUseOutput),
    /// What the agent reads of the tool's result.
    PostToolUse(PostToolUseOutput),
    /// What the agent reads beside the error.
    PostToolUseFailure(ContextOutput),
    /// What the agent reads before its next request.
    PostToolBatch(ContextOutput),
    /// What the agent reads beside the prompt.
    UserPromptSubmit(UserPromptOutput),
    /// What the agent reads beside the command.
    UserPromptExpansion(UserPromptOutput),
    /// What the session begins with.
    SessionStart(SessionStartOutput),
    /// Context, which newer versions do not read.
    Setup(ContextOutput),
    /// What the subagent begins with.
    SubagentStart(ContextOutput),
    /// What the agent goes on with.
    Stop(ContextOutput),
    /// What the subagent goes on with.
    SubagentStop(ContextOutput),
    /// Context, which newer versions do not read.
    Notification(ContextOutput),
    /// The answer in place of the user's.
    PermissionRequest(PermissionRequestOutput),
    /// Whether the agent may try again.
    PermissionDenied(PermissionDeniedOutput),
    /// Whether the model changes.
    PreModelSwitch(ModelSwitchOutput),
    /// What the new model reads.
    PostModelSwitch(ContextOutput),
    /// The answer in place of the user's.
    Elicitation(ElicitationOutput),
    /// The answer in place of the one that the user gave.
    ElicitationResult(ElicitationOutput),
    /// Which files are watched.
    CwdChanged(WatchOutput),
    /// Which files are watched.
    FileChanged(WatchOutput),
    /// Where the work tree is.
    WorktreeCreate(WorktreeOutput),
    /// What is shown instead.
    MessageDisplay(MessageDisplayOutput),
}

/// Whether a tool runs, and with what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PreToolUseOutput {
    /// Whether it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision: Option<PermissionDecision>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision_reason: Option<String>,
    /// Its input, in place of the one it was called with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Map<String, Value>>,
    /// For the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
}

/// Whether a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionDecision {
    /// It does, and nobody is asked.
    Allow,
    /// It does not.
    Deny,
    /// The user is asked.
    Ask,
    /// The program that drives the session is asked, later.
    Defer,
}

impl From<PermissionDecision> for AnswerDecision {
    fn from(decision: PermissionDecision) -> Self {
        match decision {
            PermissionDecision::Allow => AnswerDecision::Allow,
            PermissionDecision::Deny => AnswerDecision::Deny,
            PermissionDecision::Ask | PermissionDecision::Defer => AnswerDecision::Ask,
        }
    }
}

/// What the agent reads of a tool's result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PostToolUseOutput {
    /// For the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// For the classifier of the automatic mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classifier_context: Option<String>,
    /// The result, in place of the tool's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_tool_output: Option<Value>,
    /// The same, as it was written before.
    #[serde(rename = "updatedMCPToolOutput", skip_serializing_if = "Option::is_none")]
    pub updated_mcp_tool_output: Option<Value>,
}

/// Context for the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextOutput {
    /// For the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
}

/// What an agent reads beside a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UserPromptOutput {
    /// For the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// What the session is called from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// A blocked prompt is not shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_original_prompt: Option<bool>,
}

/// What a session begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionStartOutput {
    /// For the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// A first prompt, where nobody types one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_user_message: Option<String>,
    /// What the session is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// Files whose changes are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_paths: Option<Vec<String>>,
    /// Skills are read again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reload_skills: Option<bool>,
}

/// The answer to a permission prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequestOutput {
    /// Yes or no.
    pub decision: PermissionAnswer,
}

/// Yes or no to a permission prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionAnswer {
    /// Which of both.
    pub behavior: Behavior,
    /// With yes: the tool's input, in place of the one it was called with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Map<String, Value>>,
    /// With yes: what changes for later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_permissions: Option<Vec<PermissionUpdate>>,
    /// With no: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// With no: the turn ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<bool>,
}

impl PermissionAnswer {
    /// Yes.
    pub fn allow() -> Self {
        Self {
            behavior: Behavior::Allow,
            updated_input: None,
            updated_permissions: None,
            message: None,
            interrupt: None,
        }
    }

    /// No, and why.
    pub fn deny(message: impl Into<String>) -> Self {
        Self { behavior: Behavior::Deny, message: Some(message.into()), ..Self::allow() }
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// Whether an agent may try again what was denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionDeniedOutput {
    /// It may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<bool>,
}

/// Whether the model changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSwitchOutput {
    /// Whether it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision: Option<PermissionDecision>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_decision_reason: Option<String>,
}

/// An answer to a server's question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ElicitationOutput {
    /// What is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ElicitationAction>,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

/// What is answered to a server's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElicitationAction {
    /// What was asked for.
    Accept,
    /// No.
    Decline,
    /// Nothing.
    Cancel,
}

/// Which files are watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WatchOutput {
    /// Files whose changes are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_paths: Option<Vec<String>>,
}

/// Where a work tree is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeOutput {
    /// There.
    pub worktree_path: String,
}

/// What is shown instead of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MessageDisplayOutput {
    /// This.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_content: Option<String>,
}

impl From<HookSpecificOutput> for Answer {
    fn from(output: HookSpecificOutput) -> Self {
        match output {
            HookSpecificOutput::PreToolUse(output) => Answer {
                decision: output.permission_decision.map(AnswerDecision::from),
                reason: output.permission_decision_reason,
                updated_input: output.updated_input.map(Value::Object),
                ..context(output.additional_context)
            },
            HookSpecificOutput::PostToolUse(output) => Answer {
                updated_output: output.updated_tool_output.or(output.updated_mcp_tool_output),
                ..context(output.additional_context)
            },
            HookSpecificOutput::PermissionRequest(output) => output.decision.into(),
            HookSpecificOutput::PreModelSwitch(output) => Answer {
                decision: output.permission_decision.map(AnswerDecision::from),
                reason: output.permission_decision_reason,
                ..Answer::default()
            },
            HookSpecificOutput::Elicitation(output)
            | HookSpecificOutput::ElicitationResult(output) => Answer {
                decision: output.action.and_then(|action| match action {
                    ElicitationAction::Decline => Some(AnswerDecision::Deny),
                    ElicitationAction::Accept | ElicitationAction::Cancel => None,
                }),
                ..Answer::default()
            },
            HookSpecificOutput::UserPromptSubmit(output)
            | HookSpecificOutput::UserPromptExpansion(output) => context(output.additional_context),
            HookSpecificOutput::SessionStart(output) => context(output.additional_context),
            HookSpecificOutput::PostToolUseFailure(output)
            | HookSpecificOutput::PostToolBatch(output)
            | HookSpecificOutput::Setup(output)
            | HookSpecificOutput::SubagentStart(output)
            | HookSpecificOutput::Stop(output)
            | HookSpecificOutput::SubagentStop(output)
            | HookSpecificOutput::Notification(output)
            | HookSpecificOutput::PostModelSwitch(output) => context(output.additional_context),
            HookSpecificOutput::PermissionDenied(_)
            | HookSpecificOutput::CwdChanged(_)
            | HookSpecificOutput::FileChanged(_)
            | HookSpecificOutput::WorktreeCreate(_)
            | HookSpecificOutput::MessageDisplay(_) => Answer::default(),
        }
    }
}

impl From<PermissionAnswer> for Answer {
    fn from(answer: PermissionAnswer) -> Self {
        let interrupts = answer.interrupt == Some(true);
        let rules = answer
            .updated_permissions
            .map(|updates| serde_json::to_value(updates).expect("plain data"));
        Answer {
            decision: Some(match answer.behavior {
                Behavior::Allow => AnswerDecision::Allow,
                Behavior::Deny => AnswerDecision::Deny,
            }),
            stop: interrupts,
            stop_reason: answer.message.clone().filter(|_| interrupts),
            reason: answer.message,
            updated_input: answer.updated_input.map(Value::Object),
            updated_permissions: rules,
            ..Answer::default()
        }
    }
}

fn context(text: Option<String>) -> Answer {
    Answer {
        additional_context: text.into_iter().filter(|text| !text.is_empty()).collect(),
        ..Answer::default()
    }
}
