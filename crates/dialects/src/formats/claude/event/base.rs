//! [`Base`]: what stands in every event that Claude Code tells of; [`PermissionMode`], [`Effort`] and
//! other values that several events share.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What stands in every event, in the order in which Claude Code writes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// The session; empty where the agent does not say.
    #[serde(default)]
    pub session_id: String,
    /// The session's transcript, as JSON lines; empty where the agent does not say.
    #[serde(default)]
    pub transcript_path: String,
    /// Where the agent works; empty where the agent does not say.
    #[serde(default)]
    pub cwd: String,
    /// The prompt being worked on; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// How the session asks for permission; absent where no tool is about to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// The subagent in which it happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// That subagent's kind, or the kind that the session was started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// How hard the model thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The event's name, as Claude Code writes it.
    pub hook_event_name: String,
}

/// How a session asks for permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// It asks where a rule does not answer.
    Default,
    /// Nothing is changed.
    Plan,
    /// Edits need no question.
    AcceptEdits,
    /// A classifier answers.
    Auto,
    /// What would be asked is denied.
    DontAsk,
    /// Nothing is asked.
    BypassPermissions,
    /// One that is newer than this program.
    #[serde(untagged)]
    Other(String),
}

/// How hard the model thinks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// `low`, `medium`, `high`…
    pub level: String,
    /// What else stands there.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Where an MCP tool comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpServer {
    /// The server's name.
    pub name: String,
    /// Who configured it: `user`, `project`, `plugin`… An open set.
    pub source: String,
    /// What else stands there.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Something that still runs when the agent wants to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackgroundTask {
    /// Its id.
    pub id: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it is doing.
    pub status: String,
    /// What it does; a long text is shortened.
    pub description: String,
    /// Its command, agent, server, tool or name.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A prompt that the session will be given later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionCron {
    /// Its id.
    pub id: String,
    /// When.
    pub schedule: String,
    /// Whether it comes again.
    pub recurring: bool,
    /// The prompt; a long one is shortened.
    pub prompt: String,
    /// What else stands there.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A change of permissions: what a user could choose, or what a hook has chosen for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PermissionUpdate {
    /// One that is known.
    Known(PermissionChange),
    /// One that is newer than this program.
    Other(Value),
}

/// A change of permissions that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum PermissionChange {
    /// Rules are added.
    AddRules {
        /// Which.
        rules: Vec<PermissionRule>,
        /// What they say.
        behavior: String,
        /// Where they are kept.
        destination: Destination,
    },
    /// Rules take the place of others.
    ReplaceRules {
        /// Which.
        rules: Vec<PermissionRule>,
        /// What they say.
        behavior: String,
        /// Where they are kept.
        destination: Destination,
    },
    /// Rules are removed.
    RemoveRules {
        /// Which.
        rules: Vec<PermissionRule>,
        /// What they said.
        behavior: String,
        /// Where they were kept.
        destination: Destination,
    },
    /// The mode changes.
    SetMode {
        /// To which.
        mode: PermissionMode,
        /// Where that is kept.
        destination: Destination,
    },
    /// Folders are opened to the agent.
    AddDirectories {
        /// Which.
        directories: Vec<String>,
        /// Where that is kept.
        destination: Destination,
    },
    /// Folders are closed to the agent.
    RemoveDirectories {
        /// Which.
        directories: Vec<String>,
        /// Where that was kept.
        destination: Destination,
    },
}

/// A permission rule, `Bash(git *)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionRule {
    /// The tool.
    pub tool_name: String,
    /// What stands in the parentheses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// Where a change of permissions is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// As long as the session lives.
    Session,
    /// In the project's own, unshared settings.
    LocalSettings,
    /// In the project's settings.
    ProjectSettings,
    /// In the user's settings.
    UserSettings,
    /// On the command line.
    CliArg,
    /// One that is newer than this program.
    #[serde(untagged)]
    Other(String),
}
