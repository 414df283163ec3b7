//! Events of a tool call: before, after, after a failure, and when permission is needed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::base::{Base, McpServer, PermissionUpdate};

/// A tool is about to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreToolUse {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// Claude Code's name of the tool.
    pub tool_name: String,
    /// Its input.
    pub tool_input: Value,
    /// The call's id; empty if the agent sends none.
    #[serde(default)]
    pub tool_use_id: String,
    /// The server of an MCP tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServer>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A tool has run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostToolUse {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// Claude Code's name of the tool.
    pub tool_name: String,
    /// Its input.
    pub tool_input: Value,
    /// Its result; `null` if the agent sends none, or sends it under another name.
    #[serde(default)]
    pub tool_response: Value,
    /// The call's id; empty if the agent sends none.
    #[serde(default)]
    pub tool_use_id: String,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// The server of an MCP tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServer>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A tool began to run and failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostToolUseFailure {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// Claude Code's name of the tool.
    pub tool_name: String,
    /// Its input.
    pub tool_input: Value,
    /// The call's id; empty if the agent sends none.
    #[serde(default)]
    pub tool_use_id: String,
    /// The error message.
    pub error: String,
    /// Whether the user interrupted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_interrupt: Option<bool>,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Number>,
    /// The server of an MCP tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServer>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The user is about to be asked for permission, or there is no user to ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// Claude Code's name of the tool.
    pub tool_name: String,
    /// Its input.
    pub tool_input: Value,
    /// The user's options beside allow and deny.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_suggestions: Option<Vec<PermissionUpdate>>,
    /// The server of an MCP tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServer>,
    /// Fields that this program does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
