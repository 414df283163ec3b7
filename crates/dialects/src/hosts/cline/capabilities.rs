//! What each of Cline's events can carry back, as measured with 3.0.65, and how long Cline waits for a
//! hook.

use crate::hosts::{Capability, Deny, Inject, Rewrite};

/// Every event, in Cline's order. A deny ends the whole run.
pub static ALL: &[Capability] = &[
    Capability::new("TaskStart", "session:start", Deny::Never),
    Capability {
        rewrite: Rewrite::Freely,
        inject: Inject::Here,
        halt: true,
        ..Capability::new("PreToolUse", "tool:pre_execute", Deny::Portable)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("PostToolUse", "tool:post_execute", Deny::Beside)
    },
    Capability::new("TaskComplete", "session:stop", Deny::Never),
    Capability::unheard("SessionShutdown", "session:end"),
];
