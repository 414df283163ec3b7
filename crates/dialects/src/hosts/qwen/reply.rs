//! Writes a decision in Qwen Code's format: Claude Code's fields. Qwen Code takes no other input for a
//! tool, and no context before a tool runs.

use hookwright_events::Decision;

use crate::hosts::claude_events::{self, InputForm};
use crate::hosts::{Host, HostCall, HostReply};

/// The decision at this event, in Qwen Code's format.
pub(super) fn reply_to(host: &Host, call: &HostCall, decision: &Decision) -> HostReply {
    claude_events::reply(host, call, decision, InputForm::UpdatedInput(&[]))
}
