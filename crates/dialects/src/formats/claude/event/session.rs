//! What Claude Code tells of a session's life: set up, begun, prompted, compacted, stopped, ended.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::base::{BackgroundTask, Base, SessionCron};

/// The user is shown something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The text.
    pub message: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `permission_prompt`, `idle_prompt`… An open set.
    pub notification_type: String,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A prompt was submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserPromptSubmit {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The prompt.
    pub prompt: String,
    /// What the session is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// Who submitted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PromptSource>,
    /// What is newer than this program.
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
    /// A loop that goes on.
    LoopWakeup,
    /// A schedule.
    ScheduleWakeup,
    /// Something that was waited for.
    PollEvent,
    /// One that is newer than this program.
    #[serde(untagged)]
    Other(String),
}

/// A session begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStart {
    /// What stands in every event.
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
    /// What the session is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// What a resumed session adds, and what is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How a session begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSource {
    /// Anew.
    Startup,
    /// Where it had ended.
    Resume,
    /// With an empty context.
    Clear,
    /// With a compacted one.
    Compact,
    /// As a copy of another.
    Fork,
    /// One that is newer than this program.
    #[serde(untagged)]
    Other(String),
}

/// A session has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// Why.
    pub reason: EndReason,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Why a session has ended. `other` is a reason of Claude Code's own, and any text is one too.
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
    /// Any other reason, in its own words.
    #[serde(untagged)]
    Other(String),
}

/// The agent is about to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// A stop was blocked before, and this asks again.
    pub stop_hook_active: bool,
    /// What the agent said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// What still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_tasks: Option<Vec<BackgroundTask>>,
    /// What will be prompted later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_crons: Option<Vec<SessionCron>>,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The context is about to be compacted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreCompact {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// Who wants it.
    pub trigger: CompactTrigger,
    /// What the user asked to keep. Always there, and `null` if nothing was asked.
    #[serde(deserialize_with = "Option::deserialize")]
    pub custom_instructions: Option<String>,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Who wants a context compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactTrigger {
    /// The user.
    Manual,
    /// Claude Code, because it is full.
    Auto,
    /// One that is newer than this program.
    #[serde(untagged)]
    Other(String),
}

/// A project is set up or maintained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// Which of both.
    pub trigger: SetupTrigger,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Why a project is set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupTrigger {
    /// For the first time.
    Init,
    /// Again.
    Maintenance,
    /// One that is newer than this program.
    #[serde(untagged)]
    Other(String),
}
