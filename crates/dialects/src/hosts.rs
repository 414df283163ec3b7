//! [`Host`]: an agent in which our hooks run, because its settings call `hookwright hook NAME`.
//!
//! One folder for each host, all with the same parts:
//!
//! | part | holds |
//! |---|---|
//! | `call.rs` | what the host sends, as events of ours |
//! | `reply.rs` | a decision in the form that the host understands |
//! | `capabilities.rs` | what each of its events can carry back, and how long the host waits |
//! | `settings.rs` | where its settings are, which of them call us, and what makes them do so |
//!
//! A host is one line of [`all`]. A system whose files we read is something else (`formats.rs`); a
//! host that has such files shares its names of events with them.

mod capability;
pub mod claude;
mod connection;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_engine::variables::Environment;
use hookwright_events::table::EVENTS;
use hookwright_events::{Decision, Event, EventName, EventSpec, Power};
use serde_json::{Value, json};

use crate::{Location, Whereabouts};
pub use capability::{Capability, Deny, capability_table};
pub use connection::{Connection, connections};

/// An agent in which our hooks run. Every function is pure; `cli` reads and writes.
pub trait Host: fmt::Debug + Sync {
    /// What it is called on the command line, in the field `host` of its events, and in `host:`.
    fn name(&self) -> &'static str;

    /// What people call it.
    fn display_name(&self) -> &'static str;

    /// What its settings call: `hookwright hook NAME`.
    fn command(&self) -> &'static str;

    /// The page that says how to set it up.
    fn page(&self) -> &'static str;

    /// Reads what it sends on standard input.
    fn read_call(&self, sent: &str) -> Result<HostCall, UnreadableCall>;

    /// The decision in the form that it understands. What an event cannot carry becomes the next safer
    /// thing that it can, and the user is told.
    fn reply(&self, call: &HostCall, decision: &Decision) -> HostReply;

    /// What an event can carry back.
    fn capability(&self, event: &EventName) -> Capability;

    /// How long it waits for a hook at this event, unless its settings say otherwise.
    fn patience(&self, event: &EventName) -> Duration;

    /// How long it waits at the most impatient event that a guard can block, for as long as the event
    /// is not known.
    fn least_patience(&self) -> Duration {
        let blocking = EVENTS.iter().filter(|spec| spec.power == Power::Blocks);
        blocking.map(|spec| self.patience(&EventName::from(spec))).min().unwrap_or(Duration::MAX)
    }

    /// Whether it calls its hooks at this event.
    fn sends(&self, event: &EventSpec) -> bool;

    /// The project that it was started in, which stays the same wherever it goes from there.
    /// `variable` looks a variable of its hooks up.
    fn project(
        &self,
        call: &HostCall,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf>;

    /// Variables that every command has which it starts, its hooks included. Settings can change their
    /// values, but cannot remove them.
    fn marks(&self) -> &'static [&'static str];

    /// Whether it sets this variable for hooks itself. Whatever else a hook finds in its environment
    /// comes from the environment in which the host was started, or from settings.
    fn sets_for_hooks(&self, variable: &str) -> bool;

    /// The agents whose settings can call us as this host.
    fn agents(&self) -> &'static [HostAgent];

    /// The events for which these settings call us, and at which subjects.
    fn calls_in(
        &self,
        settings: &[ForeignFile<'_>],
        environment: &Environment,
    ) -> Vec<(EventName, Matcher)>;

    /// What its settings need to call this program at every event that has a name of ours.
    fn settings(&self, program: &str) -> Value;
}

/// An agent whose settings can call us.
#[derive(Debug, Clone, Copy)]
pub struct HostAgent {
    /// The agent, by the name of its preset, which knows its program.
    pub name: &'static str,
    /// Where its settings are.
    pub settings: fn(&Whereabouts<'_>, &Environment) -> Vec<Location>,
}

/// What a host sends.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// What happens in it.
    pub event: Event,
    /// What else happens in the same call, where a host announces several operations at once: hooks
    /// look at each of them, and the strictest decision counts for all.
    pub others: Vec<Event>,
}

impl From<Event> for HostCall {
    fn from(event: Event) -> Self {
        Self { event, others: Vec::new() }
    }
}

impl HostCall {
    /// Everything that happens in it.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        std::iter::once(&self.event).chain(&self.others)
    }

    /// The same with the name of its host in every event, by which a hook can choose.
    #[must_use]
    pub fn from_host(mut self, host: &dyn Host) -> Self {
        for event in std::iter::once(&mut self.event).chain(&mut self.others) {
            event.data.insert("host".to_owned(), host.name().into());
        }
        self
    }
}

/// Why what a host sent is no event.
#[derive(Debug)]
pub enum UnreadableCall {
    /// It is no event at all.
    NoEvent {
        /// What is wrong, and what was expected.
        cause: String,
    },
    /// It is this event, but its data cannot be used.
    BadData {
        /// The event.
        event: EventName,
        /// What is wrong, and what was expected.
        cause: String,
    },
    /// Another host sent it, in its own form: what that host is told.
    OtherHost(HostReply),
}

/// What a program that a host calls prints, and how it exits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostReply {
    /// On standard output; empty where there is nothing to say.
    pub stdout: String,
    /// On standard error: why, where only the exit code can say no.
    pub stderr: String,
    /// 0; or 2 where only the exit code can say no.
    pub exit_code: u8,
}

impl HostReply {
    /// A no that every agent understands which calls programs as hooks, whatever form it expects:
    /// exit code 2, the reason on standard error, and the words of all of them in one object.
    pub fn deny_to_any_host(reason: &str) -> Self {
        let all = json!({
            "decision": "block",
            "reason": reason,
            "cancel": true,
            "errorMessage": reason,
            "permission": "deny",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        });
        Self { stdout: format!("{all}\n"), stderr: format!("{reason}\n"), exit_code: 2 }
    }
}

/// Every host. Each line is one folder.
static ALL: &[&dyn Host] = &[&claude::ClaudeHost];

/// Every host.
pub fn all() -> &'static [&'static dyn Host] {
    ALL
}

/// The host of this name.
pub fn named(name: &str) -> Option<&'static dyn Host> {
    ALL.iter().copied().find(|host| host.name() == name)
}

/// Variables that every command has which one of the hosts starts.
pub fn marks() -> Vec<&'static str> {
    ALL.iter().flat_map(|host| host.marks()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_called_by_its_name_and_its_agents_are_presets() {
        for host in all() {
            assert_eq!(host.command(), format!("hookwright hook {}", host.name()));
            for agent in host.agents() {
                assert!(hookwright_agents::presets::preset(agent.name).is_some(), "{}", agent.name);
            }
        }
    }
}
