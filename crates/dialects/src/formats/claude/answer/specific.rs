//! [`HookSpecificOutput`]: the part of an answer that belongs to one event only.

use hookwright_events::{Answer, AnswerDecision};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::claude::event::base::PermissionUpdate;

/// The part of an answer that belongs to one event only, tagged with the event's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "hookEventName")]
pub enum HookSpecificOutput {
    /// Whether the tool runs, and with which input.
    PreToolUse(PreToolUseOutput),
    /// Changes of the tool's result.
    PostToolUse(PostToolUseOutput),
    /// Context beside the error.
    PostToolUseFailure(ContextOutput),
    /// Context before the agent's next request.
    PostToolBatch(ContextOutput),
    /// Context beside the prompt.
    UserPromptSubmit(UserPromptOutput),
    /// Context beside the command.
    UserPromptExpansion(UserPromptOutput),
    /// The session's initial context and settings.
    SessionStart(SessionStartOutput),
    /// Context, which newer versions ignore.
    Setup(ContextOutput),
    /// The subagent's initial context.
    SubagentStart(ContextOutput),
    /// Context that makes the agent continue.
    Stop(ContextOutput),
    /// Context that makes the subagent continue.
    SubagentStop(ContextOutput),
    /// Context, which newer versions ignore.
    Notification(ContextOutput),
    /// The answer to a permission prompt, instead of the user's.
    PermissionRequest(PermissionRequestOutput),
    /// Whether the agent may try again.
    PermissionDenied(PermissionDeniedOutput),
    /// Whether the model changes.
    PreModelSwitch(ModelSwitchOutput),
    /// Context for the new model.
    PostModelSwitch(ContextOutput),
    /// The answer to an MCP server's question, instead of the user's.
    Elicitation(ElicitationOutput),
    /// Replaces the answer that the user gave.
    ElicitationResult(ElicitationOutput),
    /// The files to watch.
    CwdChanged(WatchOutput),
    /// The files to watch.
    FileChanged(WatchOutput),
    /// The path of the work tree.
    WorktreeCreate(WorktreeOutput),
    /// The text to show instead.
    MessageDisplay(MessageDisplayOutput),
}

/// Answers in which every field may be absent; an absent field asks for nothing.
macro_rules! outputs {
    ($($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$what])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,)*
        })*
    };
}

outputs! {
    /// Whether a tool runs, and with which input.
    PreToolUseOutput {
        /// The decision.
        permission_decision: PermissionDecision,
        /// The reason of the decision.
        permission_decision_reason: String,
        /// Replaces the tool's input.
        updated_input: Map<String, Value>,
        /// Context for the agent.
        additional_context: String,
    }

    /// Changes of a tool's result.
    PostToolUseOutput {
        /// Context for the agent.
        additional_context: String,
        /// Text for the classifier of the automatic mode.
        classifier_context: String,
        /// Replaces the tool's result.
        updated_tool_output: Value,
        /// The same for tools of MCP servers only.
        #[serde(rename = "updatedMCPToolOutput")]
        updated_mcp_tool_output: Value,
    }

    /// Context for the agent.
    ContextOutput {
        /// Context for the agent.
        additional_context: String,
    }

    /// Context beside a prompt.
    UserPromptOutput {
        /// Context for the agent.
        additional_context: String,
        /// New title of the session.
        session_title: String,
        /// Whether to hide a blocked prompt.
        suppress_original_prompt: bool,
    }

    /// A session's initial context and settings.
    SessionStartOutput {
        /// Context for the agent.
        additional_context: String,
        /// A first prompt, for sessions without a user.
        initial_user_message: String,
        /// Title of the session.
        session_title: String,
        /// Files whose changes cause events.
        watch_paths: Vec<String>,
        /// Whether to read the skills again.
        reload_skills: bool,
    }

    /// Whether an agent may retry a denied call.
    PermissionDeniedOutput {
        /// Whether it may.
        retry: bool,
    }

    /// Whether the model changes.
    ModelSwitchOutput {
        /// The decision.
        permission_decision: PermissionDecision,
        /// The reason of the decision.
        permission_decision_reason: String,
    }

    /// An answer to an MCP server's question.
    ElicitationOutput {
        /// The kind of answer.
        action: ElicitationAction,
        /// The requested values.
        content: Map<String, Value>,
    }

    /// The files to watch.
    WatchOutput {
        /// Files whose changes cause events.
        watch_paths: Vec<String>,
    }

    /// Replaces a message that is shown.
    MessageDisplayOutput {
        /// The text to show.
        display_content: String,
    }
}

/// Whether a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionDecision {
    /// It runs without asking the user.
    Allow,
    /// It does not run.
    Deny,
    /// The user decides.
    Ask,
    /// The program that drives the session decides later.
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

/// The answer to a permission prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequestOutput {
    /// The decision.
    pub decision: PermissionAnswer,
}

/// A decision about a permission prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionAnswer {
    /// Allow or deny.
    pub behavior: Behavior,
    /// If allowed: replaces the tool's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Map<String, Value>>,
    /// If allowed: changes of the permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_permissions: Option<Vec<PermissionUpdate>>,
    /// If denied: the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// If denied: whether the turn ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<bool>,
}

impl PermissionAnswer {
    /// Allows the call.
    pub fn allow() -> Self {
        Self {
            behavior: Behavior::Allow,
            updated_input: None,
            updated_permissions: None,
            message: None,
            interrupt: None,
        }
    }

    /// Denies the call, with a reason.
    pub fn deny(message: impl Into<String>) -> Self {
        Self { behavior: Behavior::Deny, message: Some(message.into()), ..Self::allow() }
    }
}

/// Allow or deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// Allow.
    Allow,
    /// Deny.
    Deny,
}

/// Kinds of answers to an MCP server's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElicitationAction {
    /// Sends the requested values.
    Accept,
    /// Refuses to answer.
    Decline,
    /// Gives no answer.
    Cancel,
}

/// The path of a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeOutput {
    /// The path.
    pub worktree_path: String,
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
                updated_output: output.updated_tool_output,
                updated_mcp_output: output.updated_mcp_tool_output.map(Box::new),
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
