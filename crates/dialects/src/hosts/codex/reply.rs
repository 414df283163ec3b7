//! Writes a decision in Codex's format: Claude Code's fields. A deny is exit code 2, since Codex drops
//! a whole reply, and with it a deny, if it has a field that Codex does not know.

use hookwright_events::Decision;

use crate::hosts::claude_events::{self, InputForm};
use crate::hosts::{Host, HostCall, HostReply};

/// The decision at this event, in Codex's format.
pub(super) fn reply_to(host: &Host, call: &HostCall, decision: &Decision) -> HostReply {
    claude_events::reply(host, call, decision, InputForm::UpdatedInput(&[]))
}
