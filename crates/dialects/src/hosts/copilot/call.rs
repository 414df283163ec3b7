//! Reads Copilot CLI's input as native events.
//!
//! With event names in PascalCase in its settings, Copilot sends Claude Code's fields and says which
//! event it is. With its own names it says nothing of the kind (but at `permissionRequest`, which it
//! sends in its own form in both cases). Then the fields tell the event; what could be a tool that is
//! about to run is read as that.

use hookwright_events::EventName;
use serde_json::Value;

use crate::hosts::payload::{NAME, Payload};
use crate::hosts::tool_fields::{ToolField, field};
use crate::hosts::{Host, HostCall, UnreadableCall, claude_events};

/// Copilot's names of tool inputs.
pub(super) const FIELDS: &[ToolField] = &[
    field("read", "path", "file_path"),
    field("write", "path", "file_path"),
    field("write", "file_text", "content"),
    field("edit", "path", "file_path"),
    field("edit", "old_str", "old_string"),
    field("edit", "new_str", "new_string"),
    field("write_bash", "input", "command"),
];

/// Our names of Copilot's own fields.
const NAMES: &[(&str, &str)] = &[
    ("sessionId", "session_id"),
    ("transcriptPath", "transcript_path"),
    ("toolName", "tool_name"),
    ("toolArgs", "tool_input"),
    ("toolInput", "tool_input"),
    ("arguments", "tool_input"),
    ("toolResult", "tool_response"),
    ("toolCallId", "tool_use_id"),
    ("agentId", "agent_id"),
    ("agentType", "agent_type"),
    ("agentName", "agent_name"),
    ("parentAgentId", "parent_agent_id"),
    ("response", "last_assistant_message"),
    ("stopReason", "stop_reason"),
    ("initialPrompt", "initial_prompt"),
    ("transformedPrompt", "transformed_prompt"),
    ("permissionSuggestions", "permission_suggestions"),
    ("serverName", "mcp_server_name"),
];

/// Parses the input of Copilot CLI.
pub(super) fn read(host: &Host, sent: &str) -> Result<HostCall, UnreadableCall> {
    let payload = Payload::parse(host, sent)?;
    match payload.has(NAME) {
        true => claude_events::read(host, payload, FIELDS),
        false => own_form(payload),
    }
}

fn own_form(mut payload: Payload) -> Result<HostCall, UnreadableCall> {
    let Some((name, foreign)) = event_of(&payload) else {
        let cause = "expected an event of Copilot CLI: `hook_event_name`, or `toolName`, `prompt`, \
                     `stopReason`, `source` or `reason`";
        return Err(UnreadableCall::NoEvent { cause: cause.to_owned() });
    };
    // Copilot writes milliseconds here; ours is a date.
    payload.fields.shift_remove("timestamp");
    payload.fields.shift_remove("hookName");
    payload.rename(NAMES);
    if let Some(Value::String(text)) = payload.fields.get("tool_input")
        && let Ok(input @ Value::Object(_)) = serde_json::from_str(text)
    {
        payload.fields.insert("tool_input".to_owned(), input);
    }
    if let (Some(server), Some(tool)) = (payload.text("mcp_server_name"), payload.text("tool_name"))
    {
        let tool = format!("mcp__{server}__{tool}");
        payload.fields.insert("tool_name".to_owned(), tool.into());
    }
    claude_events::tool_call(payload.into_event(name, foreign)?, FIELDS)
}

/// The event, and Copilot's name of it.
fn event_of(payload: &Payload) -> Option<(EventName, &'static str)> {
    let has = |key: &str| payload.has(key);
    let open = |name: &str| EventName::resolve(name).expect("its domain is open");
    Some(if payload.text("hookName") == Some("permissionRequest") {
        (EventName::PERMISSION_PROMPT, "permissionRequest")
    } else if has("serverName") && has("toolName") {
        (EventName::TOOL_PRE_EXECUTE, "preMcpToolCall")
    } else if has("toolName") && has("toolResult") {
        (EventName::TOOL_POST_EXECUTE, "postToolUse")
    } else if has("toolName") && has("error") {
        (EventName::TOOL_ERROR, "postToolUseFailure")
    } else if has("toolName") {
        (EventName::TOOL_PRE_EXECUTE, "preToolUse")
    } else if has("transformedPrompt") {
        (open("copilot:user_prompt_transformed"), "userPromptTransformed")
    } else if has("prompt") {
        (EventName::USER_PROMPT_SUBMIT, "userPromptSubmitted")
    } else if has("stopReason") && has("agentName") {
        (EventName::AGENT_STOP, "subagentStop")
    } else if has("stopReason") && has("parentAgentId") {
        // `subagentStop` follows for the same subagent.
        (open("copilot:agent_stop"), "agentStop")
    } else if has("stopReason") {
        (EventName::SESSION_STOP, "agentStop")
    } else if has("agentName") {
        (EventName::AGENT_START, "subagentStart")
    } else if has("source") {
        (EventName::SESSION_START, "sessionStart")
    } else if has("error") {
        (open("copilot:error_occurred"), "errorOccurred")
    } else if has("reason") {
        (EventName::SESSION_END, "sessionEnd")
    } else {
        return None;
    })
}
