//! What each of opencode's hooks can carry back through our plugin, as measured with 1.18.33, and how
//! long the plugin waits.

use crate::hosts::{Capability, Deny, Inject, Rewrite};

/// Every hook that the plugin uses.
pub static ALL: &[Capability] = &[
    Capability::unheard("session.created", "session:start"),
    Capability {
        inject: Inject::Here,
        ..Capability::new("chat.message", "user:prompt_submit", Deny::Portable)
    },
    Capability {
        rewrite: Rewrite::Freely,
        inject: Inject::Later,
        ..Capability::new("tool.execute.before", "tool:pre_execute", Deny::Portable)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("tool.execute.after", "tool:post_execute", Deny::Beside)
    },
    Capability::unheard("session.idle", "session:stop"),
    Capability::unheard("session.deleted", "session:end"),
];
