//! Reads Qwen Code's input as native events: Claude Code's names. After each batch of tool calls Qwen
//! Code sends its prompt event again, with an empty prompt. No person has written that, so it is an
//! event of its own.

use hookwright_events::EventName;

use crate::hosts::payload::{NAME, Payload};
use crate::hosts::{Host, HostCall, UnreadableCall, claude_events};

/// The event after a batch of tool calls, before the model is asked again.
const CONTINUES: &str = "qwen:prompt_continue";

/// Parses the input of Qwen Code.
pub(super) fn read(host: &Host, sent: &str) -> Result<HostCall, UnreadableCall> {
    let payload = Payload::parse(host, sent)?;
    let is_prompt = payload.text(NAME) == Some("UserPromptSubmit");
    if is_prompt && payload.text("prompt") == Some("") {
        let name = EventName::resolve(CONTINUES).expect("its domain is open");
        return Ok(payload.into_event(name, "UserPromptSubmit")?.into());
    }
    claude_events::read(host, payload, &[])
}
