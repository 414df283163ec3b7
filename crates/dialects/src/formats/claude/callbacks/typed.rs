//! [`TypedInput`]: the events with a typed input.

use crate::claude::event::HookInput;
use crate::claude::event::agent::{SubagentStart, SubagentStop, TaskCompleted, TeammateIdle};
use crate::claude::event::session::{
    Notification, PreCompact, SessionEnd, SessionStart, Setup, Stop, UserPromptSubmit,
};
use crate::claude::event::tool::{PermissionRequest, PostToolUse, PostToolUseFailure, PreToolUse};

/// The input of one event.
pub trait TypedInput: Sized + Send + 'static {
    /// Claude Code's name of the event.
    const NAME: &'static str;

    /// The input, if it belongs to this event.
    fn from_input(input: HookInput) -> Option<Self>;
}

macro_rules! typed {
    ($($event:ident)*) => {
        $(impl TypedInput for $event {
            const NAME: &'static str = stringify!($event);

            fn from_input(input: HookInput) -> Option<Self> {
                match input {
                    HookInput::$event(input) => Some(input),
                    _ => None,
                }
            }
        })*

        /// Every event with a typed input.
        #[cfg(test)]
        pub(super) const ALL: &[&str] = &[$(stringify!($event)),*];
    };
}

typed! {
    PreToolUse PostToolUse PostToolUseFailure Notification UserPromptSubmit SessionStart SessionEnd
    Stop SubagentStart SubagentStop PreCompact PermissionRequest Setup TeammateIdle TaskCompleted
}
