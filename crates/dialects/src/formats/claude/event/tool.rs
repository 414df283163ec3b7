//! What Claude Code tells of a tool call: before, after, when it failed, and when somebody has to be
//! asked.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::base::{Base, McpServer, PermissionUpdate};

/// A tool is about to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreToolUse {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The tool, as Claude Code spells it.
    pub tool_name: String,
    /// Its input.
    pub tool_input: Value,
    /// The call's id; empty where the agent does not say.
    #[serde(default)]
    pub tool_use_id: String,
    /// Where an MCP tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServer>,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A tool has run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostToolUse {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The tool, as Claude Code spells it.
    pub tool_name: String,
    /// Its input.
    pub tool_input: Value,
    /// What it returned; `null` where the agent does not say, or says it under another name.
    #[serde(default)]
    pub tool_response: Value,
    /// The call's id; empty where the agent does not say.
    #[serde(default)]
    pub tool_use_id: String,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// Where an MCP tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServer>,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A tool began to run and failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostToolUseFailure {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The tool, as Claude Code spells it.
    pub tool_name: String,
    /// Its input.
    pub tool_input: Value,
    /// The call's id; empty where the agent does not say.
    #[serde(default)]
    pub tool_use_id: String,
    /// What went wrong.
    pub error: String,
    /// Whether the user interrupted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_interrupt: Option<bool>,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// Where an MCP tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServer>,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The user is about to be asked, or nobody can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// What stands in every event.
    #[serde(flatten)]
    pub base: Base,
    /// The tool, as Claude Code spells it.
    pub tool_name: String,
    /// Its input.
    pub tool_input: Value,
    /// What the user could choose beside yes and no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_suggestions: Option<Vec<PermissionUpdate>>,
    /// Where an MCP tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServer>,
    /// What is newer than this program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
