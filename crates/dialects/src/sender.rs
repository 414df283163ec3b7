//! Which agent sent an event, as far as its form tells.
//!
//! An agent whose settings call us under another agent's name would not understand our answer, so a
//! deny would not count. Such an event is refused ([`OtherAgentsEvent`]). Names that several agents
//! send in the same form (`SessionStart`) say nothing about the sender.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

/// Agents that send events under Claude Code's names.
pub(crate) const CLAUDE_NAMED: &[&str] = &["claude", "codex", "copilot", "droid", "qwen"];

/// Claude Code's names that Gemini CLI has too.
const SHARED_WITH_GEMINI: &[&str] = &["SessionStart", "SessionEnd", "Notification"];

/// Gemini CLI's own events, and whether hooks could block them.
const GEMINI: &[(&str, bool)] = &[
    ("BeforeTool", true),
    ("BeforeAgent", true),
    ("BeforeModel", true),
    ("AfterTool", false),
    ("AfterAgent", false),
    ("AfterModel", false),
    ("BeforeToolSelection", false),
    ("PreCompress", false),
];

/// An event of an agent other than the one that is named in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherAgentsEvent {
    /// The agent.
    pub agent: &'static str,
    /// The hosts as which that agent may call us; none if it has no host here.
    pub hosts: &'static [&'static str],
    /// That agent's name of the event; empty if it sends none.
    pub event: String,
    /// Whether hooks could block it if they were run.
    pub can_block: bool,
}

impl fmt::Display for OtherAgentsEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.not_of("Claude Code"))
    }
}

impl OtherAgentsEvent {
    /// Says that it is not an event of this agent.
    pub(crate) fn not_of(&self, agent: &str) -> String {
        let event: Cow<'_, str> = match self.event.as_str() {
            "" => "this".into(),
            name => format!("`{name}`").into(),
        };
        format!("{event} is an event of {}, not of {agent}", self.agent)
    }
}

/// The event, if its form shows that it comes from an agent other than this host.
pub(crate) fn other_than(host: &str, fields: &Map<String, Value>) -> Option<OtherAgentsEvent> {
    recognise(fields).filter(|event| !event.hosts.contains(&host))
}

/// The event and its agent, if its form shows the agent.
fn recognise(fields: &Map<String, Value>) -> Option<OtherAgentsEvent> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let has = |key: &str| fields.contains_key(key);
    let found = |agent, hosts, event: &str, can_block| {
        Some(OtherAgentsEvent { agent, hosts, event: event.to_owned(), can_block })
    };
    if let Some(name) = text("hook_event_name") {
        if let Some((_, can_block)) = GEMINI.iter().find(|(known, _)| *known == name) {
            return found("Gemini CLI", &["gemini"], name, *can_block);
        }
        if has("conversation_id") && has("generation_id") {
            return found(
                "Cursor",
                &[],
                name,
                name.starts_with("before") || name.starts_with("pre"),
            );
        }
        let event = crate::claude::known_event(name)?;
        if SHARED_WITH_GEMINI.contains(&name) {
            return None;
        }
        let can_block = event.power() == hookwright_events::Power::Blocks;
        return found("Claude Code or an agent with its events", CLAUDE_NAMED, name, can_block);
    }
    if has("clineVersion") {
        let event = text("hookName").unwrap_or_default();
        return found("Cline", &["cline"], event, !has("postToolUse"));
    }
    if has("sessionId") && has("timestamp") {
        let before_a_tool = has("toolName") && !has("toolResult") && !has("error");
        let is_prompt = has("prompt") && !has("transformedPrompt");
        let name = text("hookName").unwrap_or_default();
        return found("Copilot CLI", &["copilot"], name, before_a_tool || is_prompt);
    }
    if let (Some(name), true) = (text("hook"), has("input") && has("output")) {
        let can_block = matches!(name, "tool.execute.before" | "chat.message");
        return found("opencode", &["opencode"], name, can_block);
    }
    None
}

/// Whether fields under Claude Code's names are about a tool that is going to run: guards must check
/// it, whatever the event's name.
pub(crate) fn is_tool_call(fields: &Map<String, Value>) -> bool {
    const RESULTS: &[&str] = &["tool_response", "tool_result", "tool_output", "error"];
    let has = |key: &str| fields.get(key).is_some_and(|value| !value.is_null());
    has("tool_name") && has("tool_input") && !RESULTS.iter().any(|key| has(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused_by(host: &str, event: &Value) -> bool {
        other_than(host, event.as_object().expect("an object")).is_some()
    }

    #[test]
    fn an_event_that_only_another_host_sends_is_known_in_every_direction() {
        let pre = json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} });
        let gemini = json!({ "hook_event_name": "BeforeTool", "tool_name": "x", "tool_input": {} });
        let copilot =
            json!({ "sessionId": "s", "timestamp": 1, "toolName": "bash", "toolArgs": {} });
        let cline = json!({ "clineVersion": "", "hookName": "tool_call" });
        let opencode = json!({ "hook": "tool.execute.before", "input": {}, "output": {} });
        for (event, senders) in [
            (&pre, CLAUDE_NAMED),
            (&gemini, &["gemini"][..]),
            (&copilot, &["copilot"]),
            (&cline, &["cline"]),
            (&opencode, &["opencode"]),
        ] {
            for host in crate::hosts::all() {
                let is_sender = senders.contains(&host.name);
                assert_eq!(refused_by(host.name, event), !is_sender, "{} {event}", host.name);
            }
        }
        let shared = json!({ "hook_event_name": "SessionStart" });
        assert!(crate::hosts::all().iter().all(|host| !refused_by(host.name, &shared)));
    }
}
