//! [`Capability`]: what an event of a host can carry back from a hook, as it was measured or is
//! documented. Replies, and the table of a host's page, are made from it.

/// What one event can carry back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// The event, as its host names it.
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

impl Capability {
    /// An event at which this can be denied and the user told, and nothing else.
    pub(super) const fn new(event: &'static str, deny: Deny) -> Self {
        Self {
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
}

/// The table for the docs.
pub fn capability_table(capabilities: &[Capability]) -> String {
    let mut table = String::from(
        "| event | deny | ask | rewrite | inject | continue | halt | message |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let mark = |can: bool| if can { "yes" } else { "" };
    for known in capabilities {
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
