//! What each of Droid's events can carry back, as measured with `droid exec` 0.215.0, and how long
//! Droid waits for a hook.

use crate::hosts::{Capability, Deny, Inject, Rewrite};

/// Every event, in Droid's order. `droid exec` does not send `UserPromptSubmit`.
pub static ALL: &[Capability] = &[
    Capability {
        inject: Inject::Here,
        ..Capability::new("SessionStart", "session:start", Deny::Never)
    },
    Capability::new("UserPromptSubmit", "user:prompt_submit", Deny::Unmeasured),
    Capability {
        rewrite: Rewrite::WithAllow,
        inject: Inject::Later,
        halt: true,
        ..Capability::new("PreToolUse", "tool:pre_execute", Deny::Portable)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("PostToolUse", "tool:post_execute", Deny::Beside)
    },
    Capability { goes_on: true, ..Capability::new("Stop", "session:stop", Deny::Portable) },
    Capability::unheard("SessionEnd", "session:end"),
];
