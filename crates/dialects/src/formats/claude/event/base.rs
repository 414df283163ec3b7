//! [`Base`]: the fields of every event; [`PermissionMode`], [`Effort`] and other values that
//! several events share.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The fields of every event, in Claude Code's order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// The session's id; empty if the agent sends none.
    #[serde(default)]
    pub session_id: String,
    /// The session's transcript, as JSON lines; empty if the agent sends none.
    #[serde(default)]
    pub transcript_path: String,
    /// The agent's working directory; empty if the agent sends none.
    #[serde(default)]
    pub cwd: String,
    /// The id of the current prompt; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// When the session asks for permission; absent if no tool is about to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// The subagent that sends the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// That subagent's kind, or the kind that the session was started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// How hard the model thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Claude Code's name of the event.
    pub hook_event_name: String,
}

open_words! { "camelCase"
    /// When a session asks for permission.
    PermissionMode {
        /// Asks unless a rule decides.
        Default,
        /// Changes nothing.
        Plan,
        /// Edits without asking.
        AcceptEdits,
        /// A classifier decides.
        Auto,
        /// Denies instead of asking.
        DontAsk,
        /// Never asks.
        BypassPermissions,
    }
}

/// How much the model thinks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// `low`, `medium`, `high`…
    pub level: String,
    /// Other fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The server of an MCP tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpServer {
    /// The server's name.
    pub name: String,
    /// Who configured it: `user`, `project`, `plugin`… An open set.
    pub source: String,
    /// Other fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A task that is still running when the agent wants to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackgroundTask {
    /// Its id.
    pub id: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its status.
    pub status: String,
    /// Its description; a long text is shortened.
    pub description: String,
    /// Its command, agent, server, tool or name.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A scheduled prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionCron {
    /// Its id.
    pub id: String,
    /// When it is due.
    pub schedule: String,
    /// Whether it repeats.
    pub recurring: bool,
    /// The prompt; a long one is shortened.
    pub prompt: String,
    /// Other fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A change of permissions: an option for the user, or a hook's choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PermissionUpdate {
    /// A known kind of change.
    Known(PermissionChange),
    /// A change that this program does not know.
    Other(Value),
}

/// A known kind of change of permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub enum PermissionChange {
    /// Adds rules.
    AddRules {
        /// The rules.
        rules: Vec<PermissionRule>,
        /// The rules' effect.
        behavior: String,
        /// Where they are stored.
        destination: Destination,
    },
    /// Replaces rules.
    ReplaceRules {
        /// The rules.
        rules: Vec<PermissionRule>,
        /// The rules' effect.
        behavior: String,
        /// Where they are stored.
        destination: Destination,
    },
    /// Removes rules.
    RemoveRules {
        /// The rules.
        rules: Vec<PermissionRule>,
        /// The rules' effect.
        behavior: String,
        /// Where they were stored.
        destination: Destination,
    },
    /// Changes the mode.
    SetMode {
        /// The new mode.
        mode: PermissionMode,
        /// Where it is stored.
        destination: Destination,
    },
    /// Opens folders to the agent.
    AddDirectories {
        /// The folders.
        directories: Vec<String>,
        /// Where they are stored.
        destination: Destination,
    },
    /// Closes folders to the agent.
    RemoveDirectories {
        /// The folders.
        directories: Vec<String>,
        /// Where they were stored.
        destination: Destination,
    },
}

/// A permission rule, `Bash(git *)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionRule {
    /// The tool.
    pub tool_name: String,
    /// The text in the parentheses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

open_words! { "camelCase"
    /// Where a change of permissions is stored.
    Destination {
        /// In memory, until the session ends.
        Session,
        /// In the project's local settings.
        LocalSettings,
        /// In the project's settings.
        ProjectSettings,
        /// In the user's settings.
        UserSettings,
        /// On the command line.
        CliArg,
    }
}
