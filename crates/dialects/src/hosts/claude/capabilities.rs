//! What each of Claude Code's events can carry back, and how long Claude Code waits for a hook.

use std::time::Duration;

use hookwright_events::EventName;

use crate::claude::default_timeout;
use crate::hosts::{Capability, Deny, Inject, Rewrite};

/// Every event, in Claude Code's order.
pub static ALL: &[Capability] = &[
    Capability {
        ask: true,
        rewrite: Rewrite::Freely,
        inject: Inject::Here,
        halt: true,
        ..Capability::new("PreToolUse", "tool:pre_execute", Deny::Permission)
    },
    Capability {
        rewrite: Rewrite::Freely,
        inject: Inject::Here,
        halt: true,
        ..Capability::new("PostToolUse", "tool:post_execute", Deny::Beside)
    },
    Capability {
        inject: Inject::Here,
        halt: true,
        ..Capability::new("PostToolUseFailure", "tool:error", Deny::Beside)
    },
    Capability {
        inject: Inject::Here,
        halt: true,
        ..Capability::new("PostToolBatch", "claude:post_tool_batch", Deny::Decision)
    },
    Capability::unheard("Notification", "session:notification"),
    Capability {
        inject: Inject::Here,
        halt: true,
        ..Capability::new("UserPromptSubmit", "user:prompt_submit", Deny::Decision)
    },
    Capability {
        inject: Inject::Here,
        halt: true,
        ..Capability::new("UserPromptExpansion", "claude:user_prompt_expansion", Deny::Decision)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("SessionStart", "session:start", Deny::Never)
    },
    Capability::unheard("SessionEnd", "session:end"),
    Capability {
        goes_on: true,
        halt: true,
        ..Capability::new("Stop", "session:stop", Deny::Decision)
    },
    Capability::unheard("StopFailure", "claude:stop_failure"),
    Capability {
        inject: Inject::Here,
        ..Capability::new("SubagentStart", "agent:start", Deny::Never)
    },
    Capability {
        goes_on: true,
        halt: true,
        ..Capability::new("SubagentStop", "agent:stop", Deny::Decision)
    },
    Capability {
        message: false,
        ..Capability::new("PreCompact", "session:pre_compact", Deny::Decision)
    },
    Capability::unheard("PostCompact", "claude:post_compact"),
    Capability {
        ask: true,
        ..Capability::new("PreModelSwitch", "claude:pre_model_switch", Deny::Permission)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("PostModelSwitch", "claude:post_model_switch", Deny::Never)
    },
    Capability {
        ask: true,
        rewrite: Rewrite::WithAllow,
        halt: true,
        ..Capability::new("PermissionRequest", "permission:prompt", Deny::Prompt)
    },
    Capability::unheard("PermissionDenied", "claude:permission_denied"),
    Capability::unheard("Setup", "session:setup"),
    Capability {
        goes_on: true,
        halt: true,
        ..Capability::new("TeammateIdle", "agent:idle", Deny::ExitCode)
    },
    Capability::new("TaskCreated", "claude:task_created", Deny::Decision),
    Capability { halt: true, ..Capability::new("TaskCompleted", "task:complete", Deny::ExitCode) },
    Capability::new("Elicitation", "claude:elicitation", Deny::Decision),
    Capability::new("ElicitationResult", "claude:elicitation_result", Deny::Action),
    Capability::new("ConfigChange", "claude:config_change", Deny::Decision),
    Capability {
        message: false,
        ..Capability::new("WorktreeCreate", "claude:worktree_create", Deny::ExitCode)
    },
    Capability::unheard("WorktreeRemove", "claude:worktree_remove"),
    Capability::unheard("InstructionsLoaded", "claude:instructions_loaded"),
    Capability::new("CwdChanged", "claude:cwd_changed", Deny::Never),
    Capability::new("FileChanged", "claude:file_changed", Deny::Never),
    Capability::new("DirectoryAdded", "claude:directory_added", Deny::Never),
    Capability::unheard("MessageDisplay", "claude:message_display"),
];

/// What an event can carry back. An unknown one carries a message.
pub(super) fn of_event(name: &EventName) -> Capability {
    let claudes = name.hook_event_name();
    ALL.iter().find(|known| known.event == claudes).copied().unwrap_or(Capability::new(
        "",
        "",
        Deny::Never,
    ))
}

/// What an event can carry back if only the exit code is understood.
pub(super) fn by_exit_code() -> Capability {
    Capability::new("", "", Deny::ExitCode)
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
