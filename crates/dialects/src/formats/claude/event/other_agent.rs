//! Events of other agents that [`HookInput`](super::HookInput) cannot read.
//!
//! Several agents send Claude Code's own events, which are read. The events here have another
//! format: the agent would not understand our answer, so a deny would not count.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::NAME;

/// An event of an agent other than Claude Code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherAgentsEvent {
    /// The agent.
    pub agent: &'static str,
    /// That agent's name of the event; empty if it sends none.
    pub event: String,
    /// Whether hooks could block it if they were run.
    pub can_block: bool,
}

impl std::fmt::Display for OtherAgentsEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let event: Cow<'_, str> = match self.event.as_str() {
            "" => "this".into(),
            name => format!("`{name}`").into(),
        };
        write!(f, "{event} is an event of {}, not of Claude Code", self.agent)
    }
}

/// Gemini CLI's own events, and whether our hooks could block them.
const GEMINI: &[(&str, bool)] = &[
    ("BeforeTool", true),
    ("BeforeAgent", true),
    ("AfterTool", false),
    ("AfterAgent", false),
    ("BeforeModel", false),
    ("AfterModel", false),
    ("BeforeToolSelection", false),
    ("PreCompress", false),
];

/// The event, if it comes from another agent.
pub(super) fn recognise(fields: &Map<String, Value>) -> Option<OtherAgentsEvent> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let has = |key: &str| fields.contains_key(key);
    let found = |agent, event: &str, can_block| {
        Some(OtherAgentsEvent { agent, event: event.to_owned(), can_block })
    };
    if let Some(name) = text(NAME) {
        if let Some((_, can_block)) = GEMINI.iter().find(|(known, _)| *known == name) {
            return found("Gemini CLI", name, *can_block);
        }
        if has("conversation_id") && has("generation_id") {
            return found("Cursor", name, name.starts_with("before") || name.starts_with("pre"));
        }
        return None;
    }
    if has("clineVersion") {
        return found("Cline", text("hookName").unwrap_or_default(), !has("postToolUse"));
    }
    if has("sessionId") && has("timestamp") {
        let before_a_tool = has("toolName") && !has("toolResult") && !has("error");
        let is_prompt = has("prompt") && !has("transformedPrompt");
        let name = text("hookName").unwrap_or_default();
        return found("Copilot CLI", name, before_a_tool || is_prompt);
    }
    None
}

/// Whether an unknown event is about a tool that is going to run: guards must check it, whatever
/// its name.
pub(super) fn is_tool_call(fields: &Map<String, Value>) -> bool {
    const RESULTS: &[&str] = &["tool_response", "tool_result", "tool_output", "error"];
    let has = |key: &str| fields.get(key).is_some_and(|value| !value.is_null());
    has("tool_name") && has("tool_input") && !RESULTS.iter().any(|key| has(key))
}
