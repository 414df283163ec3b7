//! Writes a decision in Copilot CLI's format: flat fields of its own, and with them those of Claude
//! Code, which Copilot reads if its settings have event names in PascalCase.

use hookwright_events::{Decision, EventName};
use serde_json::{Map, Value};

use super::call::FIELDS;
use crate::hosts::{Deny, Host, HostCall, HostReply, claude_events, tool_fields};

/// The decision at this event, in Copilot's format.
pub(super) fn reply_to(host: &Host, call: &HostCall, decision: &Decision) -> HostReply {
    let (plan, can) = claude_events::plan(host, call, decision);
    let later = plan.later.clone();
    if let Some(reason) = plan.whole_refusal().filter(|_| can.deny.prevents()) {
        return HostReply { later, ..deny(call, &reason) };
    }
    let mut output = Map::new();
    let mut specific = Map::new();
    // After the fact, a block is a remark beside the result.
    let remark = plan.refusal.as_ref().filter(|_| can.deny == Deny::Beside);
    let told: Vec<&str> = remark.into_iter().chain(&plan.context).map(String::as_str).collect();
    if !told.is_empty() {
        output.insert("additionalContext".to_owned(), told.join("\n").into());
        specific.insert("additionalContext".to_owned(), told.join("\n").into());
    }
    if let Some(input) = &plan.input {
        let input = Value::Object(tool_fields::restore(&call.event, FIELDS, input.clone()));
        output.insert("modifiedArgs".to_owned(), input.clone());
        specific.insert("updatedInput".to_owned(), input);
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".to_owned(), can.event.into());
        output.insert("hookSpecificOutput".to_owned(), Value::Object(specific));
    }
    let message = plan.message();
    if let Some(message) = &message {
        output.insert("systemMessage".to_owned(), message.as_str().into());
    }
    let stderr = message.map(|message| format!("{message}\n")).unwrap_or_default();
    HostReply { stderr, later, ..HostReply::json(&Value::Object(output)) }
}

/// The deny that every agent understands. At a question to the user, Copilot has a field of its own.
fn deny(call: &HostCall, reason: &str) -> HostReply {
    let mut reply = HostReply::deny_to_any_host(reason);
    if call.event.name == EventName::PERMISSION_PROMPT
        && let Ok(Value::Object(mut output)) = serde_json::from_str(&reply.stdout)
    {
        output.insert("behavior".to_owned(), "deny".into());
        output.insert("message".to_owned(), reason.into());
        reply.stdout = HostReply::json(&Value::Object(output)).stdout;
    }
    reply
}
