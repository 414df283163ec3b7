//! [`Capability`]: what an event of Claude Code's can carry back from a hook. What stands here is what
//! was measured or is documented of it; the replies of `decision.rs` and the table of the docs are
//! made from it.

use hookwright_events::EventName;

/// What one event can carry back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// The event, as Claude Code names it.
    pub event: &'static str,
    /// How a block is said, and whether it can be.
    pub deny: Deny,
    /// The user can be asked.
    pub ask: bool,
    /// The tool's input, or its output, can be replaced.
    pub rewrite: bool,
    /// The agent can be told something.
    pub inject: bool,
    /// A block keeps the agent going.
    pub goes_on: bool,
    /// The turn can be ended.
    pub halt: bool,
    /// The user can be told something.
    pub message: bool,
}

/// How a block is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deny {
    /// It cannot be.
    Never,
    /// `permissionDecision: deny`.
    Permission,
    /// `decision: block`.
    Decision,
    /// `decision: block`, which stops nothing: the agent reads the reason beside the result.
    Beside,
    /// `decision: {behavior: deny}`, in place of the user's answer.
    Prompt,
    /// `action: decline`.
    Action,
    /// Exit code 2, with the reason on standard error; JSON is not asked.
    ExitCode,
}

impl Deny {
    /// Whether it keeps something from happening.
    pub fn prevents(self) -> bool {
        !matches!(self, Deny::Never | Deny::Beside)
    }
}

const fn event(event: &'static str, deny: Deny) -> Capability {
    Capability {
        event,
        deny,
        ask: false,
        rewrite: false,
        inject: false,
        goes_on: false,
        halt: false,
        message: true,
    }
}

/// An event at which hooks only look on, and are not heard.
const fn unheard(name: &'static str) -> Capability {
    Capability { message: false, ..event(name, Deny::Never) }
}

/// Every event, in Claude Code's order.
pub static ALL: &[Capability] = &[
    Capability {
        ask: true,
        rewrite: true,
        inject: true,
        halt: true,
        ..event("PreToolUse", Deny::Permission)
    },
    Capability { rewrite: true, inject: true, halt: true, ..event("PostToolUse", Deny::Beside) },
    Capability { inject: true, halt: true, ..event("PostToolUseFailure", Deny::Beside) },
    Capability { inject: true, halt: true, ..event("PostToolBatch", Deny::Decision) },
    unheard("Notification"),
    Capability { inject: true, halt: true, ..event("UserPromptSubmit", Deny::Decision) },
    Capability { inject: true, halt: true, ..event("UserPromptExpansion", Deny::Decision) },
    Capability { inject: true, ..event("SessionStart", Deny::Never) },
    unheard("SessionEnd"),
    Capability { goes_on: true, halt: true, ..event("Stop", Deny::Decision) },
    unheard("StopFailure"),
    Capability { inject: true, ..event("SubagentStart", Deny::Never) },
    Capability { goes_on: true, halt: true, ..event("SubagentStop", Deny::Decision) },
    Capability { message: false, ..event("PreCompact", Deny::Decision) },
    unheard("PostCompact"),
    Capability { ask: true, ..event("PreModelSwitch", Deny::Permission) },
    Capability { inject: true, ..event("PostModelSwitch", Deny::Never) },
    Capability { ask: true, rewrite: true, halt: true, ..event("PermissionRequest", Deny::Prompt) },
    unheard("PermissionDenied"),
    unheard("Setup"),
    Capability { goes_on: true, halt: true, ..event("TeammateIdle", Deny::ExitCode) },
    event("TaskCreated", Deny::Decision),
    Capability { halt: true, ..event("TaskCompleted", Deny::ExitCode) },
    event("Elicitation", Deny::Decision),
    event("ElicitationResult", Deny::Action),
    event("ConfigChange", Deny::Decision),
    Capability { message: false, ..event("WorktreeCreate", Deny::ExitCode) },
    unheard("WorktreeRemove"),
    unheard("InstructionsLoaded"),
    event("CwdChanged", Deny::Never),
    event("FileChanged", Deny::Never),
    event("DirectoryAdded", Deny::Never),
    unheard("MessageDisplay"),
];

/// What an event can carry back. One that is newer than this program carries a message.
pub fn of(name: &EventName) -> Capability {
    let claudes = name.hook_event_name();
    ALL.iter().find(|known| known.event == claudes).copied().unwrap_or(event("", Deny::Never))
}

/// What an event can carry back of which only the exit code is understood.
pub(super) fn by_exit_code() -> Capability {
    event("", Deny::ExitCode)
}

/// The table for the docs.
pub fn table() -> String {
    let mut table = String::from(
        "| event | deny | ask | rewrite | inject | continue | halt | message |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let mark = |can: bool| if can { "yes" } else { "" };
    for known in ALL {
        let deny = match known.deny {
            Deny::Never => "",
            Deny::Beside => "reason beside the result",
            Deny::ExitCode => "yes (exit code 2)",
            Deny::Permission | Deny::Decision | Deny::Prompt | Deny::Action => "yes",
        };
        let marks = [known.ask, known.rewrite, known.inject, known.goes_on, known.halt];
        let marks = marks.map(mark).join(" | ");
        table.push_str(&format!(
            "| {} | {deny} | {marks} | {} |\n",
            known.event,
            mark(known.message)
        ));
    }
    table
}
