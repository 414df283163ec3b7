//! What each of Qwen Code's events can carry back, as measured with 0.24.4, and how long Qwen Code
//! waits for a hook.

use crate::hosts::{Capability, Deny, Inject};

/// Every event, in Qwen Code's order.
pub static ALL: &[Capability] = &[
    Capability::unheard("InstructionsLoaded", "claude:instructions_loaded"),
    Capability {
        inject: Inject::Here,
        ..Capability::new("SessionStart", "session:start", Deny::Never)
    },
    Capability::unheard("Notification", "session:notification"),
    Capability {
        inject: Inject::Here,
        ..Capability::new("UserPromptSubmit", "user:prompt_submit", Deny::Portable)
    },
    Capability {
        ask: true,
        inject: Inject::Later,
        ..Capability::new("PreToolUse", "tool:pre_execute", Deny::Portable)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("PostToolUse", "tool:post_execute", Deny::Beside)
    },
    Capability {
        inject: Inject::Later,
        ..Capability::new("PostToolUseFailure", "tool:error", Deny::Never)
    },
    Capability {
        inject: Inject::Later,
        ..Capability::new("PostToolBatch", "claude:post_tool_batch", Deny::Unmeasured)
    },
    Capability::new("SubagentStart", "agent:start", Deny::Never),
    Capability { goes_on: true, ..Capability::new("SubagentStop", "agent:stop", Deny::Unmeasured) },
    Capability::unheard("MessageDisplay", "claude:message_display"),
    Capability { goes_on: true, ..Capability::new("Stop", "session:stop", Deny::Portable) },
];
