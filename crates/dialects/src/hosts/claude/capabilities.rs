//! What each of Claude Code's events can carry back, and how long Claude Code waits for a hook.

use std::time::Duration;

use hookwright_events::EventName;

use crate::claude::default_timeout;
use crate::hosts::{Capability, Deny};

/// An event whose hooks get no answer across.
const fn unheard(name: &'static str) -> Capability {
    Capability { message: false, ..Capability::new(name, Deny::Never) }
}

/// Every event, in Claude Code's order.
pub static ALL: &[Capability] = &[
    Capability {
        ask: true,
        rewrite: true,
        inject: true,
        halt: true,
        ..Capability::new("PreToolUse", Deny::Permission)
    },
    Capability {
        rewrite: true,
        inject: true,
        halt: true,
        ..Capability::new("PostToolUse", Deny::Beside)
    },
    Capability { inject: true, halt: true, ..Capability::new("PostToolUseFailure", Deny::Beside) },
    Capability { inject: true, halt: true, ..Capability::new("PostToolBatch", Deny::Decision) },
    unheard("Notification"),
    Capability { inject: true, halt: true, ..Capability::new("UserPromptSubmit", Deny::Decision) },
    Capability {
        inject: true,
        halt: true,
        ..Capability::new("UserPromptExpansion", Deny::Decision)
    },
    Capability { inject: true, ..Capability::new("SessionStart", Deny::Never) },
    unheard("SessionEnd"),
    Capability { goes_on: true, halt: true, ..Capability::new("Stop", Deny::Decision) },
    unheard("StopFailure"),
    Capability { inject: true, ..Capability::new("SubagentStart", Deny::Never) },
    Capability { goes_on: true, halt: true, ..Capability::new("SubagentStop", Deny::Decision) },
    Capability { message: false, ..Capability::new("PreCompact", Deny::Decision) },
    unheard("PostCompact"),
    Capability { ask: true, ..Capability::new("PreModelSwitch", Deny::Permission) },
    Capability { inject: true, ..Capability::new("PostModelSwitch", Deny::Never) },
    Capability {
        ask: true,
        rewrite: true,
        halt: true,
        ..Capability::new("PermissionRequest", Deny::Prompt)
    },
    unheard("PermissionDenied"),
    unheard("Setup"),
    Capability { goes_on: true, halt: true, ..Capability::new("TeammateIdle", Deny::ExitCode) },
    Capability::new("TaskCreated", Deny::Decision),
    Capability { halt: true, ..Capability::new("TaskCompleted", Deny::ExitCode) },
    Capability::new("Elicitation", Deny::Decision),
    Capability::new("ElicitationResult", Deny::Action),
    Capability::new("ConfigChange", Deny::Decision),
    Capability { message: false, ..Capability::new("WorktreeCreate", Deny::ExitCode) },
    unheard("WorktreeRemove"),
    unheard("InstructionsLoaded"),
    Capability::new("CwdChanged", Deny::Never),
    Capability::new("FileChanged", Deny::Never),
    Capability::new("DirectoryAdded", Deny::Never),
    unheard("MessageDisplay"),
];

/// What an event can carry back. An unknown one carries a message.
pub(super) fn of_event(name: &EventName) -> Capability {
    let claudes = name.hook_event_name();
    ALL.iter()
        .find(|known| known.event == claudes)
        .copied()
        .unwrap_or(Capability::new("", Deny::Never))
}

/// What an event can carry back if only the exit code is understood.
pub(super) fn by_exit_code() -> Capability {
    Capability::new("", Deny::ExitCode)
}

/// How long a command may take at this event before Claude Code kills it and continues.
pub(super) fn patience(name: &EventName) -> Duration {
    default_timeout(&name.hook_event_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_switches_of_the_model_have_half_a_minute_and_the_end_of_a_session_a_moment() {
        for (name, milliseconds) in [
            ("session:end", 1_500),
            ("claude:message_display", 10_000),
            ("user:prompt_submit", 30_000),
            ("claude:pre_model_switch", 30_000),
            ("claude:post_model_switch", 30_000),
            ("tool:pre_execute", 600_000),
            ("claude:brand_new", 600_000),
        ] {
            let name = EventName::resolve(name).expect("known");
            assert_eq!(patience(&name), Duration::from_millis(milliseconds), "{name}");
        }
    }
}
