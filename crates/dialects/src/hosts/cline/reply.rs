//! Writes a decision in Cline's format: `cancel` with `errorMessage`, `contextModification`,
//! `overrideInput`. Cline reads them whatever the exit code is. Ours is 0, so that the program that
//! Cline starts can tell a reply from a crash.

use hookwright_events::Decision;
use serde_json::{Map, Value};

use super::call::own_input;
use crate::hosts::plan::ReplyPlan;
use crate::hosts::{Deny, Host, HostCall, HostReply, patch};

/// The decision at this event, in Cline's format.
pub(super) fn reply_to(host: &Host, call: &HostCall, decision: &Decision) -> HostReply {
    let event = &call.event;
    let can = host.capability(&event.name);
    let is_whole = call.others.is_empty() && !patch::is_patch(event);
    let plan = ReplyPlan::new(event, decision, can, is_whole);
    if let Some(reason) = plan.whole_refusal().filter(|_| can.deny.prevents()) {
        return deny(&reason);
    }
    let mut output = Map::new();
    // After the fact, a block is a remark beside the result.
    let remark = plan.refusal.as_ref().filter(|_| can.deny == Deny::Beside);
    let told: Vec<&str> = remark.into_iter().chain(&plan.context).map(String::as_str).collect();
    if !told.is_empty() {
        output.insert("contextModification".to_owned(), told.join("\n").into());
    }
    match plan.input.as_ref().map(|input| own_input(event, input)) {
        Some(Some(input)) => {
            output.insert("overrideInput".to_owned(), input);
        }
        Some(None) => {
            return deny("a hook wants this call with another input, which Cline cannot take");
        }
        None => {}
    }
    let stderr = plan.message().map(|message| format!("{message}\n")).unwrap_or_default();
    HostReply { stderr, ..HostReply::json(&Value::Object(output)) }
}

/// The deny that every agent understands, with exit code 0.
pub(super) fn deny(reason: &str) -> HostReply {
    HostReply { exit_code: 0, ..HostReply::deny_to_any_host(reason) }
}
