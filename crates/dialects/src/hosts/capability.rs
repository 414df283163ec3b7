//! [`Capability`]: what a host's event can carry back from a hook, as measured or documented.
//! Replies and the table on the host's page are made from it.

/// What one event can carry back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// The host's name of the event.
    pub event: &'static str,
    /// How a block is expressed, if it can be.
    pub deny: Deny,
    /// Whether the user can be asked.
    pub ask: bool,
    /// Whether the tool's input or output can be replaced.
    pub rewrite: bool,
    /// Whether the agent can get context.
    pub inject: bool,
    /// Whether a block keeps the agent going.
    pub goes_on: bool,
    /// Whether the turn can be ended.
    pub halt: bool,
    /// Whether the user can get a message.
    pub message: bool,
}

/// How a block is expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deny {
    /// Not at all.
    Never,
    /// `permissionDecision: deny`.
    Permission,
    /// `decision: block`.
    Decision,
    /// `decision: block`, which stops nothing: the agent reads the reason beside the result.
    Beside,
    /// `decision: {behavior: deny}`, instead of the user's answer.
    Prompt,
    /// `action: decline`.
    Action,
    /// Exit code 2, with the reason on standard error; JSON is ignored.
    ExitCode,
}

impl Deny {
    /// Whether it prevents the operation.
    pub fn prevents(self) -> bool {
        !matches!(self, Deny::Never | Deny::Beside)
    }
}

impl Capability {
    /// An event with this form of deny and messages for the user, and nothing else.
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

/// The table for the documentation.
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
