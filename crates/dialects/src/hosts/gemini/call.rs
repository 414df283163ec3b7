//! Reads Gemini CLI's input as native events: names of its own, fields like Claude Code's, no ids of
//! calls.

use hookwright_events::EventName;
use serde_json::Value;

use crate::claude::{known_event, snake_case};
use crate::hosts::payload::{NAME, Payload};
use crate::hosts::{Host, HostCall, UnreadableCall, claude_events};
use crate::sender::is_tool_call;

/// Gemini CLI's names, and ours.
const EVENTS: &[(&str, EventName)] = &[
    ("BeforeTool", EventName::TOOL_PRE_EXECUTE),
    ("AfterTool", EventName::TOOL_POST_EXECUTE),
    ("BeforeAgent", EventName::USER_PROMPT_SUBMIT),
    ("AfterAgent", EventName::SESSION_STOP),
    ("BeforeModel", EventName::LLM_PRE_REQUEST),
    ("AfterModel", EventName::LLM_POST_RESPONSE),
    ("PreCompress", EventName::SESSION_PRE_COMPACT),
];

/// Parses the input of Gemini CLI.
pub(super) fn read(host: &Host, sent: &str) -> Result<HostCall, UnreadableCall> {
    let mut payload = Payload::parse(host, sent)?;
    let Some(foreign) = payload.text(NAME).map(str::to_owned) else {
        return Err(UnreadableCall::NoEvent { cause: format!("missing `{NAME}`") });
    };
    let Some(name) = event_named(host, &foreign, &payload) else {
        let cause = format!("`{foreign}` is not a valid event name");
        return Err(UnreadableCall::NoEvent { cause });
    };
    payload.rename(&[("prompt_response", "last_assistant_message")]);
    let of_server = |field: &str| payload.fields.get("mcp_context")?.get(field)?.as_str();
    if let (Some(server), Some(tool)) = (of_server("server_name"), of_server("tool_name")) {
        let tool = format!("mcp__{server}__{tool}");
        payload.fields.insert("tool_name".to_owned(), tool.into());
    }
    let model = payload.fields.get("llm_request").and_then(|request| request.get("model"));
    if let Some(model @ Value::String(_)) = model.cloned() {
        payload.fields.insert("model".to_owned(), model);
    }
    claude_events::tool_call(payload.into_event(name, &foreign)?, &[])
}

fn event_named(host: &Host, foreign: &str, payload: &Payload) -> Option<EventName> {
    let own = EVENTS.iter().find(|(name, _)| *name == foreign).map(|(_, event)| event.clone());
    own.or_else(|| known_event(foreign)).or_else(|| {
        if is_tool_call(&payload.fields) {
            return Some(EventName::TOOL_PRE_EXECUTE);
        }
        EventName::resolve(&format!("{}:{}", host.name, snake_case(foreign)?))
    })
}
