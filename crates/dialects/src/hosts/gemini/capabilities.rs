//! What each of Gemini CLI's events can carry back, as measured with 0.61.0, and how long Gemini CLI
//! waits for a hook.

use crate::hosts::{Capability, Deny, Inject, Rewrite};

/// Every event, in Gemini CLI's order.
pub static ALL: &[Capability] = &[
    Capability {
        inject: Inject::Here,
        ..Capability::new("SessionStart", "session:start", Deny::Never)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("BeforeAgent", "user:prompt_submit", Deny::Portable)
    },
    Capability::new("PreCompress", "session:pre_compact", Deny::Never),
    Capability::new("BeforeModel", "llm:pre_request", Deny::Unmeasured),
    Capability::new("BeforeToolSelection", "gemini:before_tool_selection", Deny::Never),
    Capability::new("AfterModel", "llm:post_response", Deny::Never),
    Capability {
        rewrite: Rewrite::Freely,
        inject: Inject::Later,
        halt: true,
        ..Capability::new("BeforeTool", "tool:pre_execute", Deny::Portable)
    },
    Capability {
        inject: Inject::Here,
        ..Capability::new("AfterTool", "tool:post_execute", Deny::Beside)
    },
    Capability { goes_on: true, ..Capability::new("AfterAgent", "session:stop", Deny::Portable) },
    Capability::unheard("SessionEnd", "session:end"),
];
