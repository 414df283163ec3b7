//! Writes a decision for our plugin in opencode: one object, `{"ok": true}` with what there is to do, or
//! `{"deny": REASON}`. The plugin takes everything else for a deny.

use hookwright_events::Decision;
use serde_json::{Map, Value, json};

use super::call::FIELDS;
use crate::hosts::{Deny, Host, HostCall, HostReply, claude_events, tool_fields};

/// The decision at this event, for the plugin.
pub(super) fn reply_to(host: &Host, call: &HostCall, decision: &Decision) -> HostReply {
    let (plan, can) = claude_events::plan(host, call, decision);
    let later = plan.later.clone();
    if let Some(reason) = plan.whole_refusal().filter(|_| can.deny.prevents()) {
        return HostReply { later, ..deny(&reason) };
    }
    let mut output = Map::from_iter([("ok".to_owned(), Value::Bool(true))]);
    // After the fact, a block is a remark beside the result.
    let remark = plan.refusal.as_ref().filter(|_| can.deny == Deny::Beside);
    let told: Vec<&str> = remark.into_iter().chain(&plan.context).map(String::as_str).collect();
    if !told.is_empty() {
        output.insert("context".to_owned(), told.join("\n").into());
    }
    if let Some(input) = &plan.input {
        let input = tool_fields::restore(&call.event, FIELDS, input.clone());
        output.insert("args".to_owned(), Value::Object(input));
    }
    if let Some(message) = plan.message() {
        output.insert("message".to_owned(), message.into());
    }
    HostReply { later, ..HostReply::json(&Value::Object(output)) }
}

/// A deny that the plugin understands.
pub(super) fn deny(reason: &str) -> HostReply {
    let stderr = format!("{reason}\n");
    HostReply { stderr, ..HostReply::json(&json!({ "deny": reason })) }
}
