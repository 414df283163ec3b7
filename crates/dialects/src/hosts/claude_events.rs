//! Events under Claude Code's names, as Codex, Copilot CLI, Droid and Qwen Code send them.
//!
//! The names and most fields are Claude Code's; ids and paths may be missing. Names that this program
//! does not know become events of the host's own domain (`codex:interrupt`), unless they announce a
//! tool call: then guards check them.

use hookwright_events::{Decision, Event, EventName};
use serde_json::{Map, Value};

use super::patch;
use super::payload::{FOREIGN_NAME, NAME, Payload, is_about_tool};
use super::plan::{PlannedPermission, ReplyPlan};
use super::tool_fields::{self, ToolField};
use super::{Capability, Deny, Host, HostCall, HostReply, UnreadableCall};
use crate::claude::{known_event, snake_case};
use crate::sender::is_tool_call;

/// How a host takes a tool's new input.
#[derive(Debug, Clone, Copy)]
pub(super) enum InputForm {
    /// As `updatedInput` with an allow, under the host's own names.
    UpdatedInput(&'static [ToolField]),
    /// As `tool_input`, without an allow.
    ToolInput,
}

/// The call in a payload whose fields have Claude Code's names.
pub(super) fn read(
    host: &Host,
    payload: Payload,
    names: &[ToolField],
) -> Result<HostCall, UnreadableCall> {
    let Some(foreign) = payload.text(NAME).map(str::to_owned) else {
        return Err(UnreadableCall::NoEvent { cause: format!("missing `{NAME}`") });
    };
    let Some(name) = event_named(host, &foreign, &payload) else {
        let cause = format!("`{foreign}` is not a valid event name");
        return Err(UnreadableCall::NoEvent { cause });
    };
    let event = payload.into_event(name, &foreign)?;
    tool_call(event, names)
}

/// The call, with our names of the tool's input, and one event for each operation.
pub(super) fn tool_call(event: Event, names: &[ToolField]) -> Result<HostCall, UnreadableCall> {
    let mut event = event;
    if is_about_tool(&event.name) {
        tool_fields::add(&mut event, names);
        if let Some(call) = patch::split(&event) {
            return call;
        }
    }
    Ok(event.into())
}

fn event_named(host: &Host, foreign: &str, payload: &Payload) -> Option<EventName> {
    if let Some(known) = known_event(foreign) {
        return Some(known);
    }
    if is_tool_call(&payload.fields) {
        return Some(EventName::TOOL_PRE_EXECUTE);
    }
    EventName::resolve(&format!("{}:{}", host.name, snake_case(foreign)?))
}

/// The decision at this event: a deny is the one that every agent understands, everything else has
/// Claude Code's fields.
pub(super) fn reply(
    host: &Host,
    call: &HostCall,
    decision: &Decision,
    form: InputForm,
) -> HostReply {
    let (plan, can) = plan(host, call, decision);
    let refusal = plan.whole_refusal().filter(|_| can.deny.prevents());
    let later = plan.later.clone();
    let halt = plan.halt.as_ref().filter(|_| can.halt);
    if let (Some(reason), None) = (&refusal, halt) {
        return HostReply { later, ..HostReply::deny_to_any_host(reason) };
    }
    let mut output = Map::new();
    let mut specific = Map::new();
    let mut say = |key: &str, value: Value| {
        specific.insert(key.to_owned(), value);
    };
    // After the fact, a block is a remark beside the result.
    let remark = plan.refusal.as_ref().filter(|_| can.deny == Deny::Beside);
    let told: Vec<&str> = remark.into_iter().chain(&plan.context).map(String::as_str).collect();
    if !told.is_empty() {
        say("additionalContext", told.join("\n").into());
    }
    match (&refusal, &plan.input, &plan.permission) {
        (Some(reason), _, _) => {
            say("permissionDecision", "deny".into());
            say("permissionDecisionReason", reason.as_str().into());
        }
        (None, Some(input), _) => match form {
            InputForm::UpdatedInput(names) => {
                say("permissionDecision", "allow".into());
                let input = tool_fields::restore(&call.event, names, input.clone());
                say("updatedInput", Value::Object(input));
            }
            InputForm::ToolInput => say("tool_input", Value::Object(input.clone())),
        },
        (None, None, PlannedPermission::Ask(reason)) if can.ask => {
            say("permissionDecision", "ask".into());
            let reason = reason.clone().unwrap_or_else(|| "a hook asks".to_owned());
            say("permissionDecisionReason", reason.into());
        }
        // What an allow does there was not measured: the agent's own rules apply, which is safer.
        (None, None, _) => {}
    }
    if let Some(reason) = halt {
        output.insert("continue".to_owned(), false.into());
        output.insert("stopReason".to_owned(), reason.as_str().into());
        output.insert("decision".to_owned(), "block".into());
        output.insert("reason".to_owned(), reason.as_str().into());
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".to_owned(), can.event.into());
        output.insert("hookSpecificOutput".to_owned(), Value::Object(specific));
    }
    if let Some(message) = plan.message().filter(|_| can.message) {
        output.insert("systemMessage".to_owned(), message.into());
    }
    HostReply { later, ..HostReply::json(&Value::Object(output)) }
}

/// The plan for a decision, and what the event can carry. A tool call under a name that this program
/// does not know gets nothing but the deny that every agent understands.
pub(super) fn plan(host: &Host, call: &HostCall, decision: &Decision) -> (ReplyPlan, Capability) {
    let event = &call.event;
    let known = host.capability(&event.name);
    let is_other = |name: &str| !name.eq_ignore_ascii_case(known.event);
    let is_unknown =
        event.name == EventName::TOOL_PRE_EXECUTE && event.text(FOREIGN_NAME).is_some_and(is_other);
    let can = if is_unknown { Capability::unknown(&event.name) } else { known };
    let is_whole = call.others.is_empty() && !patch::is_patch(event);
    (ReplyPlan::new(event, decision, can, is_whole), can)
}
