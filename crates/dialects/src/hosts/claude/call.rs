//! Reads Claude Code's input as native events.

use hookwright_events::EventName;

use crate::claude::{HookInput, InputError};
use crate::hosts::{Host, HostCall, UnreadableCall, refusal_of_other_agent};

/// Parses the input of Claude Code, or of another agent that sends its events.
pub(super) fn read(host: &Host, sent: &str) -> Result<HostCall, UnreadableCall> {
    match HookInput::parse(sent) {
        Ok(input) => {
            let event = input.into_event();
            // A tool without a name would pass every guard of a tool.
            if event.text("tool_name").is_some_and(|name| name.trim().is_empty()) {
                let cause = "expected a tool's name as `tool_name` but found an empty string";
                return Err(UnreadableCall::BadData { event: event.name, cause: cause.to_owned() });
            }
            Ok(event.into())
        }
        Err(error) => Err(unreadable(host, &error)),
    }
}

fn unreadable(host: &Host, error: &InputError) -> UnreadableCall {
    let cause = error.to_string();
    match error {
        InputError::BadField { name, .. } => match EventName::resolve(name) {
            Some(event) => UnreadableCall::BadData { event, cause },
            None => UnreadableCall::NoEvent { cause },
        },
        InputError::OtherAgent(event) => {
            UnreadableCall::OtherHost(refusal_of_other_agent(host, event))
        }
        InputError::NoObject(_) | InputError::NoName | InputError::BadName { .. } => {
            UnreadableCall::NoEvent { cause }
        }
    }
}
