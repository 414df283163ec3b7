//! What each of Codex's events can carry back, as measured with 0.166.0, and how long Codex waits for
//! a hook.

use std::time::Duration;

use hookwright_events::EventName;

use crate::hosts::limits::LEAST_PATIENCE;
use crate::hosts::{Capability, Deny, Inject, Rewrite};

/// Every event, in Codex's order.
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
        // Sent with an allow: Codex ignores a rewrite without one. Its sandbox still applies.
        rewrite: Rewrite::Freely,
        inject: Inject::Here,
        ..Capability::new("PreToolUse", "tool:pre_execute", Deny::Portable)
    },
    Capability::new("PermissionRequest", "permission:prompt", Deny::Unmeasured),
    Capability {
        inject: Inject::Here,
        ..Capability::new("PostToolUse", "tool:post_execute", Deny::Beside)
    },
    Capability::new("SubagentStart", "agent:start", Deny::Never),
    Capability { goes_on: true, ..Capability::new("SubagentStop", "agent:stop", Deny::Unmeasured) },
    Capability { goes_on: true, ..Capability::new("Stop", "session:stop", Deny::Portable) },
    Capability::unheard("SessionEnd", "session:end"),
];

/// How long Codex waits at the end of a session, whatever its settings say.
pub(super) const SESSION_END_PATIENCE: Duration = Duration::from_secs(3);

/// How long a command may take at this event before Codex continues without it.
pub(super) fn patience(name: &EventName) -> Duration {
    if *name == EventName::SESSION_END { SESSION_END_PATIENCE } else { LEAST_PATIENCE }
}
