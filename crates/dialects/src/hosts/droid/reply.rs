//! Writes a decision in Droid's format: Claude Code's fields. Droid takes a new input only with an
//! allow, and no context before a tool runs.

use hookwright_events::Decision;

use super::call::FIELDS;
use crate::hosts::claude_events::{self, InputForm};
use crate::hosts::{Host, HostCall, HostReply};

/// The decision at this event, in Droid's format.
pub(super) fn reply_to(host: &Host, call: &HostCall, decision: &Decision) -> HostReply {
    claude_events::reply(host, call, decision, InputForm::UpdatedInput(FIELDS))
}
