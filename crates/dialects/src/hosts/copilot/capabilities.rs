//! What each of Copilot CLI's events can carry back, as measured with 1.0.102, and how long Copilot
//! waits for a hook. The names are those in PascalCase, with which Copilot says which event it is.

use crate::hosts::{Capability, Deny, Inject, Rewrite};

/// Every event, in Copilot's order.
pub static ALL: &[Capability] = &[
    Capability {
        inject: Inject::Here,
        ..Capability::new("SessionStart", "session:start", Deny::Never)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("UserPromptSubmit", "user:prompt_submit", Deny::Portable)
    },
    Capability {
        rewrite: Rewrite::Freely,
        inject: Inject::Here,
        ..Capability::new("PreToolUse", "tool:pre_execute", Deny::Portable)
    },
    Capability::new("PermissionRequest", "permission:prompt", Deny::Portable),
    Capability {
        inject: Inject::Here,
        ..Capability::new("PostToolUse", "tool:post_execute", Deny::Beside)
    },
    Capability {
        inject: Inject::Later,
        ..Capability::new("PostToolUseFailure", "tool:error", Deny::Never)
    },
    Capability::new("SubagentStart", "agent:start", Deny::Never),
    Capability { goes_on: true, ..Capability::new("SubagentStop", "agent:stop", Deny::Unmeasured) },
    Capability { goes_on: true, ..Capability::new("Stop", "session:stop", Deny::Portable) },
    Capability::unheard("SessionEnd", "session:end"),
];
