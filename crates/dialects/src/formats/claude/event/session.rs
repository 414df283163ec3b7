//! Events of a session: setup, start, prompt, compaction, stop, end.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::base::{BackgroundTask, Base, SessionCron};

/// The user gets a notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// The text.
    pub message: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `permission_prompt`, `idle_prompt`… An open set.
    pub notification_type: String,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A prompt was submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserPromptSubmit {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// The prompt.
    pub prompt: String,
    /// The session's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// Who submitted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PromptSource>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Who submitted a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    /// A person.
    User,
    /// A program.
    Sdk,
    /// Claude Code itself.
    System,
    /// A loop that continues.
    LoopWakeup,
    /// A schedule.
    ScheduleWakeup,
    /// An awaited event.
    PollEvent,
    /// A value that this program does not know.
    #[serde(untagged)]
    Other(String),
}

/// A session begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStart {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// How it begins.
    pub source: StartSource,
    /// The kind of agent it is started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// Fields of a resumed session, and fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSource {
    /// As a new session.
    Startup,
    /// Resumed.
    Resume,
    /// With an empty context.
    Clear,
    /// With a compacted context.
    Compact,
    /// As a copy of another.
    Fork,
    /// A value that this program does not know.
    #[serde(untagged)]
    Other(String),
}

/// A session has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// The reason.
    pub reason: EndReason,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Why a session has ended. `other` is one of Claude Code's reasons, and so is any text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The context was cleared.
    Clear,
    /// Another session was resumed.
    Resume,
    /// The user logged out.
    Logout,
    /// The user left the prompt.
    PromptInputExit,
    /// Any other reason, as text.
    #[serde(untagged)]
    Other(String),
}

/// The agent is about to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// Whether an earlier stop was blocked, so that the agent asks again.
    pub stop_hook_active: bool,
    /// The agent's last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// Tasks that are still running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_tasks: Option<Vec<BackgroundTask>>,
    /// Scheduled prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_crons: Option<Vec<SessionCron>>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The context is about to be compacted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreCompact {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// Who requested it.
    pub trigger: CompactTrigger,
    /// What the user asked to keep. Always present, and `null` if the user asked nothing.
    #[serde(deserialize_with = "Option::deserialize")]
    pub custom_instructions: Option<String>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Who requested a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactTrigger {
    /// The user.
    Manual,
    /// Claude Code, because the context is full.
    Auto,
    /// A value that this program does not know.
    #[serde(untagged)]
    Other(String),
}

/// A project is set up or maintained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// The occasion.
    pub trigger: SetupTrigger,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The occasion of a setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupTrigger {
    /// First setup.
    Init,
    /// Maintenance.
    Maintenance,
    /// A value that this program does not know.
    #[serde(untagged)]
    Other(String),
}
