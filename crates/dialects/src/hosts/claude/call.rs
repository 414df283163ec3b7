//! Reads Claude Code's input as native events.

use hookwright_events::EventName;

use crate::claude::{HookInput, InputError, OtherAgentsEvent};
use crate::hosts::{HostCall, HostReply, UnreadableCall};

/// Parses the input of Claude Code, or of another agent that sends its events.
pub(super) fn read(sent: &str) -> Result<HostCall, UnreadableCall> {
    match HookInput::parse(sent) {
        Ok(input) => Ok(input.into_event().into()),
        Err(error) => Err(unreadable(&error)),
    }
}

fn unreadable(error: &InputError) -> UnreadableCall {
    let cause = error.to_string();
    match error {
        InputError::BadField { name, .. } => match EventName::resolve(name) {
            Some(event) => UnreadableCall::BadData { event, cause },
            None => UnreadableCall::NoEvent { cause },
        },
        InputError::OtherAgent(event) => UnreadableCall::OtherHost(refusal(event)),
        InputError::NoObject(_) | InputError::NoName | InputError::BadName { .. } => {
            UnreadableCall::NoEvent { cause }
        }
    }
}

/// The reply to another agent that calls us as Claude Code does. It blocks if hooks could have
/// blocked, since none has run.
fn refusal(event: &OtherAgentsEvent) -> HostReply {
    let agent = event.agent;
    let reason = format!(
        "{event}, so no hook looked at it; remove `hookwright hook claude` from the settings of {agent}"
    );
    match event.can_block {
        true => HostReply::deny_to_any_host(&reason),
        false => HostReply { stderr: format!("{reason}\n"), exit_code: 1, ..HostReply::default() },
    }
}
