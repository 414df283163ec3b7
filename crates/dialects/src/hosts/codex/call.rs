//! Reads Codex's input as native events: Claude Code's names, and a patch as one event for each path.
//!
//! In code mode the model writes JavaScript for one tool, `exec`, and Codex announces the calls in
//! it as `Bash` and `apply_patch`. If `exec` itself is announced, it is a tool of its own.

use crate::hosts::payload::Payload;
use crate::hosts::{Host, HostCall, UnreadableCall, claude_events};

/// Parses the input of Codex.
pub(super) fn read(host: &Host, sent: &str) -> Result<HostCall, UnreadableCall> {
    claude_events::read(host, Payload::parse(host, sent)?, &[])
}
