//! Events of a tool call: before, after, after a failure, and when permission is needed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::base::{Base, McpServer, PermissionUpdate};

inputs! {
    /// A tool is about to run.
    PreToolUse {
        /// Claude Code's name of the tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The call's id; empty if the agent sends none.
        #[serde(default)]
        tool_use_id: String,
        /// The server of an MCP tool.
        mcp_server?: McpServer,
    }

    /// A tool has run.
    PostToolUse {
        /// Claude Code's name of the tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// Its result; `null` if the agent sends none, or sends it under another name.
        #[serde(default)]
        tool_response: Value,
        /// The call's id; empty if the agent sends none.
        #[serde(default)]
        tool_use_id: String,
        /// How long it ran.
        duration_ms?: Number,
        /// The server of an MCP tool.
        mcp_server?: McpServer,
    }

    /// A tool began to run and failed.
    PostToolUseFailure {
        /// Claude Code's name of the tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The call's id; empty if the agent sends none.
        #[serde(default)]
        tool_use_id: String,
        /// The error message.
        error: String,
        /// Whether the user interrupted it.
        is_interrupt?: bool,
        /// How long it ran.
        duration_ms?: Number,
        /// The server of an MCP tool.
        mcp_server?: McpServer,
    }

    /// The user is about to be asked for permission, or there is no user to ask.
    PermissionRequest {
        /// Claude Code's name of the tool.
        tool_name: String,
        /// Its input.
        tool_input: Value,
        /// The user's options beside allow and deny.
        permission_suggestions?: Vec<PermissionUpdate>,
        /// The server of an MCP tool.
        mcp_server?: McpServer,
    }
}
