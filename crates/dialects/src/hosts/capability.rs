//! [`Capability`]: what a host's event can carry back from a hook, as measured or documented.
//! Replies, the table on the host's page and the matrix of all hosts are made from it.

use hookwright_events::{EventName, Power};

/// What one event can carry back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// The host's name of the event; empty if the host has none that we know.
    pub event: &'static str,
    /// The native event; empty if it is not known.
    pub native: &'static str,
    /// How a block is expressed, if it can be.
    pub deny: Deny,
    /// Whether the user can be asked.
    pub ask: bool,
    /// Whether the tool's input or output can be replaced.
    pub rewrite: Rewrite,
    /// Whether the agent can get context.
    pub inject: Inject,
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
    /// The deny that every agent understands ([`HostReply::deny_to_any_host`]).
    ///
    /// [`HostReply::deny_to_any_host`]: super::HostReply::deny_to_any_host
    Portable,
    /// The same, at an event at which it was not measured.
    Unmeasured,
}

/// Whether a tool's input or output can be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// Not at all.
    Never,
    /// Always.
    Freely,
    /// Only together with an allow, which also skips the agent's own question. So it needs a hook
    /// that allows.
    WithAllow,
}

/// Whether the agent can get context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inject {
    /// Not at all.
    Never,
    /// In the reply.
    Here,
    /// Not here: the text waits for the session's next event that can carry it, which before a tool
    /// call is the tool's result.
    Later,
}

impl Deny {
    /// Whether it prevents the operation.
    pub fn prevents(self) -> bool {
        !matches!(self, Deny::Never | Deny::Beside)
    }
}

impl Capability {
    /// An event with this form of deny and messages for the user, and nothing else.
    pub(super) const fn new(event: &'static str, native: &'static str, deny: Deny) -> Self {
        Self {
            event,
            native,
            deny,
            ask: false,
            rewrite: Rewrite::Never,
            inject: Inject::Never,
            goes_on: false,
            halt: false,
            message: true,
        }
    }

    /// An event whose hooks get no answer across.
    pub(super) const fn unheard(event: &'static str, native: &'static str) -> Self {
        Self { message: false, ..Self::new(event, native, Deny::Never) }
    }

    /// An event about which nothing is known: what may be blocked gets the deny that every agent
    /// understands.
    pub(super) fn unknown(event: &EventName) -> Self {
        let deny = match event.power() {
            Power::Blocks | Power::BlocksOnPurpose => Deny::Unmeasured,
            Power::Annotates | Power::Observes => Deny::Never,
        };
        Self::new("", "", deny)
    }
}

/// The table for the documentation.
pub fn capability_table(capabilities: &[Capability]) -> String {
    let mut table = String::from(
        "| event | here | deny | ask | rewrite | inject | continue | halt | message |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for known in capabilities {
        let cells = cells(known).join(" | ");
        table.push_str(&format!("| {} | `{}` | {cells} |\n", known.event, known.native));
    }
    table
}

/// One row for each host: what its event before a tool call and its other important events can do.
pub fn host_matrix<'a>(
    hosts: impl Iterator<Item = (&'a str, &'a [Capability])>,
    native: &str,
) -> String {
    let mut table = String::from(
        "| agent | event | deny | ask | rewrite | inject | continue | halt | message |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, capabilities) in hosts {
        match capabilities.iter().find(|known| known.native == native) {
            Some(known) => {
                let cells = cells(known).join(" | ");
                table.push_str(&format!("| {name} | {} | {cells} |\n", known.event));
            }
            None => table.push_str(&format!("| {name} | not sent |  |  |  |  |  |  |  |\n")),
        }
    }
    table
}

fn cells(known: &Capability) -> [&'static str; 7] {
    let mark = |can: bool| if can { "yes" } else { "" };
    let deny = match known.deny {
        Deny::Never => "",
        Deny::Beside => "reason beside the result",
        Deny::ExitCode => "yes (exit code 2)",
        Deny::Unmeasured => "yes (not measured)",
        Deny::Permission | Deny::Decision | Deny::Prompt | Deny::Action | Deny::Portable => "yes",
    };
    let rewrite = match known.rewrite {
        Rewrite::Never => "",
        Rewrite::Freely => "yes",
        Rewrite::WithAllow => "with an allow",
    };
    let inject = match known.inject {
        Inject::Never => "",
        Inject::Here => "yes",
        Inject::Later => "later",
    };
    let goes_on = mark(known.goes_on);
    [deny, mark(known.ask), rewrite, inject, goes_on, mark(known.halt), mark(known.message)]
}
