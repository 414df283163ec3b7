//! Writes a decision in Gemini CLI's format: Claude Code's fields, but a new input is
//! `hookSpecificOutput.tool_input`.

use hookwright_events::Decision;

use crate::hosts::claude_events::{self, InputForm};
use crate::hosts::{Host, HostCall, HostReply};

/// The decision at this event, in Gemini CLI's format.
pub(super) fn reply_to(host: &Host, call: &HostCall, decision: &Decision) -> HostReply {
    claude_events::reply(host, call, decision, InputForm::ToolInput)
}
