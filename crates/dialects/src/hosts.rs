//! [`Host`]: an agent that runs our hooks, because its settings call `hookwright hook NAME`.
//!
//! Each host has a folder with the same parts:
//!
//! | part | contains |
//! |---|---|
//! | `call.rs` | reads the host's input as native events |
//! | `reply.rs` | writes a decision in the host's format |
//! | `capabilities.rs` | what each event can carry back, and how long the host waits |
//! | `settings.rs` | its settings: their paths, which of them call us, and how to install a call |
//!
//! What several hosts share is beside the folders:
//!
//! | part | contains |
//! |---|---|
//! | `capability` | the types of the tables, and the tables of the documentation |
//! | `payload` | the fields of a payload, and the checks that every event has to pass |
//! | `claude_events` | events under Claude Code's names, as several agents send them |
//! | `tool_fields` | our names for the input of tools, beside the host's own |
//! | `patch` | the files that a patch touches |
//! | `plan` | what a reply must say: the next safer thing for what an event cannot carry |
//! | `settings_calls` | entries of settings that call us |
//! | `settings_merge` | adds our entries to settings, updates and removes them |
//! | `trust_dialogue` | how a host that runs only trusted hooks is asked to trust ours |
//! | `off_switch` | settings with which a host runs no hooks |
//! | `connection` | the same for `check` and `run` |
//! | `host_file` | the files that make a host call us |
//! | `program` | a host's own program: its name, its package, which version was measured |
//! | `own_entry` | the entries of a host's settings that call us, in full |
//! | `offline` | how a host's program works without its vendor, for probes; its facts are in the folders |
//!
//! Each host is one line of [`all`]. A system whose files we read is something else (`formats.rs`);
//! a host with such files shares its event names with them.

mod capability;
pub mod claude;
mod claude_events;
pub mod cline;
pub mod codex;
mod connection;
pub mod copilot;
pub mod droid;
pub mod gemini;
mod host_file;
mod limits;
mod off_switch;
pub mod offline;
pub mod opencode;
mod own_entry;
mod patch;
mod payload;
mod plan;
mod program;
pub mod qwen;
mod settings_calls;
mod settings_merge;
mod tool_fields;
mod trust_dialogue;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_engine::variables::Environment;
use hookwright_events::table::EVENTS;
use hookwright_events::{Decision, Event, EventName, EventSpec, Power};
use serde_json::{Map, Value, json};

use crate::sender::OtherAgentsEvent;
use crate::{Location, Whereabouts};
pub use capability::{Capability, Deny, Inject, Rewrite, capability_table, host_matrix};
pub use connection::{Connection, connections};
pub use host_file::{FileShare, FolderVariable, HostFile};
pub use off_switch::OffSwitch;
pub use offline::{OfflineCall, OfflineRun};
pub use own_entry::{OwnEntry, WrittenEntry, own_entries, own_settings};
pub use program::{HostProgram, ProgramVersion};
pub use settings_merge::{ConnectedText, connected, disconnected};
pub use trust_dialogue::{HostRequest, ListedHook, TrustDialogue};

/// An agent that runs our hooks: data, and pure functions that the methods describe. `cli` does the
/// IO.
#[derive(Debug)]
pub struct Host {
    /// Its name on the command line, in the field `host` of its events, and in `host:`.
    pub name: &'static str,
    /// Its name for people.
    pub display_name: &'static str,
    /// The call in its settings: `hookwright hook NAME`.
    pub command: &'static str,
    /// The documentation page about its setup.
    pub page: &'static str,
    /// Its own program.
    pub program: HostProgram,
    /// What each of its events can carry back, in its order.
    pub capabilities: &'static [Capability],
    /// Variables of every command that it starts, including its hooks. Settings can change their
    /// values, but cannot remove them.
    pub marks: &'static [&'static str],
    /// Variables that it sets for hooks itself; `*` at the end stands for any rest. All other
    /// variables of a hook come from the environment in which the host was started, or from
    /// settings.
    pub own_variables: &'static [&'static str],
    /// Where a call says in which project the host was started.
    pub start_folder: StartFolder,
    /// The agents whose settings can call us as this host.
    pub agents: &'static [HostAgent],
    /// How its program works without its vendor.
    pub offline: &'static OfflineRun,
    patience: fn(&EventName) -> Duration,
    read: fn(&Host, &str) -> Result<HostCall, UnreadableCall>,
    reply: fn(&Host, &HostCall, &Decision) -> HostReply,
    calls_in: fn(&Host, &[ForeignFile<'_>], &Environment) -> CalledEvents,
    files: fn(&str) -> Vec<HostFile>,
    /// How it differs from most hosts.
    pub differences: HostDifferences,
}

/// The events at which settings call us, each with its subjects.
pub type CalledEvents = Vec<(EventName, Matcher)>;

/// How a host differs from most others.
#[derive(Debug)]
pub struct HostDifferences {
    refuse_unread: fn(&str) -> HostReply,
    capability: fn(&Host, &EventName) -> Capability,
    sends: fn(&Host, &EventSpec) -> bool,
    /// Whether it calls us twice for one event if two of its settings files name us.
    pub may_deliver_twice: bool,
    is_own_file: fn(&HostFile, &str) -> bool,
    /// How it is asked to trust our hooks, if it runs only trusted ones.
    pub trust: Option<&'static TrustDialogue>,
    load_check: fn(&HostFile) -> Option<String>,
    /// The host whose project settings it reads too, and calls from there.
    pub also_reads: Option<&'static str>,
    /// Settings with which it runs no hooks.
    pub off_switches: &'static [OffSwitch],
    /// What else keeps hooks from running.
    pub cautions: &'static [&'static str],
    /// What else keeps hooks of a project's settings from running.
    pub project_cautions: &'static [&'static str],
}

/// Where a call says in which project the host was started. That stays the same when the host
/// changes its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFolder {
    /// The first of these variables of its hooks.
    Variables(&'static [&'static str]),
    /// The call's field `cwd`.
    OfCall,
    /// Nowhere.
    Unsaid,
}

impl HostDifferences {
    /// None.
    const NONE: Self = Self {
        refuse_unread: HostReply::deny_to_any_host,
        capability: |host, event| {
            let known = host.capabilities.iter().find(|known| known.native == event.as_str());
            known.copied().unwrap_or_else(|| Capability::unknown(event))
        },
        sends: |host, event| host.capabilities.iter().any(|known| known.native == event.name),
        may_deliver_twice: true,
        is_own_file: |file, text| file.text == text,
        trust: None,
        load_check: |_| None,
        also_reads: None,
        off_switches: &[],
        cautions: &[],
        project_cautions: &[],
    };
}

impl Host {
    /// Parses what it sends on standard input.
    pub fn read_call(&self, sent: &str) -> Result<HostCall, UnreadableCall> {
        (self.read)(self, sent)
    }

    /// The decision in the host's format. What an event cannot carry becomes the next safer thing
    /// that it can, and the user is told.
    pub fn reply(&self, call: &HostCall, decision: &Decision) -> HostReply {
        (self.reply)(self, call, decision)
    }

    /// The reply to input that is not an event, and so may be one that a guard checks.
    pub fn refuse_unread(&self, reason: &str) -> HostReply {
        (self.differences.refuse_unread)(reason)
    }

    /// What an event can carry back.
    pub fn capability(&self, event: &EventName) -> Capability {
        (self.differences.capability)(self, event)
    }

    /// Whether it calls its hooks at this event.
    pub fn sends(&self, event: &EventSpec) -> bool {
        (self.differences.sends)(self, event)
    }

    /// The host's default timeout of a hook at this event.
    pub fn patience(&self, event: &EventName) -> Duration {
        (self.patience)(event)
    }

    /// The shortest default timeout among the events that a guard can block, for use before the
    /// event is known.
    pub fn least_patience(&self) -> Duration {
        let blocking = EVENTS.iter().filter(|spec| spec.power == Power::Blocks);
        blocking.map(|spec| self.patience(&EventName::from(spec))).min().unwrap_or(Duration::MAX)
    }

    /// The project that it was started in. `variable` returns a variable of its hooks.
    pub fn project(
        &self,
        call: &HostCall,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        match self.start_folder {
            StartFolder::Variables(names) => {
                names.iter().find_map(|name| variable(name)).map(PathBuf::from)
            }
            StartFolder::OfCall => call.event.text("cwd").map(PathBuf::from),
            StartFolder::Unsaid => None,
        }
    }

    /// Whether it sets this variable for hooks itself.
    pub fn sets_for_hooks(&self, variable: &str) -> bool {
        self.own_variables.iter().any(|name| match name.strip_suffix('*') {
            Some(begin) => variable.starts_with(begin),
            None => variable == *name,
        })
    }

    /// The events for which these settings call us, with their subjects.
    pub fn calls_in(
        &self,
        settings: &[ForeignFile<'_>],
        environment: &Environment,
    ) -> CalledEvents {
        (self.calls_in)(self, settings, environment)
    }

    /// The files that make it call this program at every event with a native name.
    pub fn files(&self, program: &str) -> Vec<HostFile> {
        (self.files)(program)
    }

    /// Whether a file that only we use is one of ours, for whatever path of this program. `file` is
    /// what we would write now.
    pub fn is_own_file(&self, file: &HostFile, text: &str) -> bool {
        (self.differences.is_own_file)(file, text)
    }

    /// A script for Node that fails if a file of ours does not load in the host.
    pub fn load_check(&self, file: &HostFile) -> Option<String> {
        (self.differences.load_check)(file)
    }

    /// What else keeps the hooks of these settings from running.
    pub fn cautions(&self, of_project: bool) -> impl Iterator<Item = &'static str> {
        let HostDifferences { cautions, project_cautions, .. } = self.differences;
        let of_project = if of_project { project_cautions } else { &[] };
        cautions.iter().chain(of_project).copied()
    }
}

/// An agent whose settings can call us.
#[derive(Debug, Clone, Copy)]
pub struct HostAgent {
    /// The name of the agent's preset, which knows its program; the host's name if it has none.
    pub name: &'static str,
    /// The paths of its settings.
    pub settings: fn(&Whereabouts<'_>, &Environment) -> Vec<Location>,
}

/// A parsed call of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// The event.
    pub event: Event,
    /// Further events of the same call, if a host announces several operations at once: hooks check
    /// each of them, and the strictest decision counts for all.
    pub others: Vec<Event>,
}

impl From<Event> for HostCall {
    fn from(event: Event) -> Self {
        Self { event, others: Vec::new() }
    }
}

impl HostCall {
    /// All events of the call.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        std::iter::once(&self.event).chain(&self.others)
    }

    /// Adds the host's name to every event, so that a hook can match it.
    #[must_use]
    pub fn from_host(mut self, host: &Host) -> Self {
        for event in std::iter::once(&mut self.event).chain(&mut self.others) {
            event.data.insert("host".to_owned(), host.name.into());
        }
        self
    }
}

/// Why a host's input is not an event.
#[derive(Debug)]
pub enum UnreadableCall {
    /// It is not an event at all.
    NoEvent {
        /// What is wrong, and what was expected.
        cause: String,
    },
    /// It is this event, but its data is invalid.
    BadData {
        /// The event.
        event: EventName,
        /// What is wrong, and what was expected.
        cause: String,
    },
    /// Another host sent it, in its own format; contains the reply to that host.
    OtherHost(HostReply),
}

/// The output and exit code for a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostReply {
    /// Standard output; empty if there is nothing to say.
    pub stdout: String,
    /// Standard error: the reason, if only the exit code can deny.
    pub stderr: String,
    /// 0, or 2 if only the exit code can deny.
    pub exit_code: u8,
    /// Context that the agent has to get at the session's next event that can carry it.
    pub later: Option<String>,
}

impl HostReply {
    /// A deny that every agent with command hooks understands, whatever its format: exit code 2,
    /// the reason on standard error, and the fields of all formats in one object.
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
        Self {
            stdout: format!("{all}\n"),
            stderr: format!("{reason}\n"),
            exit_code: 2,
            later: None,
        }
    }
}

impl HostReply {
    /// An object on standard output; nothing if it is empty.
    fn json(output: &Value) -> Self {
        let is_empty = output.as_object().is_some_and(Map::is_empty);
        let stdout = if is_empty { String::new() } else { format!("{output}\n") };
        Self { stdout, ..Self::default() }
    }
}

/// The reply to an agent that calls us as another host does. It blocks if hooks could have blocked,
/// since none has run.
fn refusal_of_other_agent(host: &Host, event: &OtherAgentsEvent) -> HostReply {
    let agent = event.agent;
    let instead = match event.hosts {
        [] => format!("remove `{}` from the settings of {agent}", host.command),
        [own] => format!("call `hookwright hook {own}` in the settings of {agent} instead"),
        several => {
            let names = several.join(", ");
            format!("call `hookwright hook HOST` there instead, with the agent's name ({names})")
        }
    };
    let reason = format!("{}, so no hook looked at it; {instead}", event.not_of(host.display_name));
    match event.can_block {
        true => HostReply::deny_to_any_host(&reason),
        false => HostReply { stderr: format!("{reason}\n"), exit_code: 1, ..HostReply::default() },
    }
}

/// Every host. Each line is one folder.
static ALL: &[&Host] = &[
    &claude::HOST,
    &cline::HOST,
    &codex::HOST,
    &copilot::HOST,
    &droid::HOST,
    &gemini::HOST,
    &opencode::HOST,
    &qwen::HOST,
];

/// Every host.
pub fn all() -> &'static [&'static Host] {
    ALL
}

/// The host of this name.
pub fn named(name: &str) -> Option<&'static Host> {
    ALL.iter().copied().find(|host| host.name == name)
}

/// Variables of every command that one of the hosts starts.
pub fn marks() -> Vec<&'static str> {
    ALL.iter().flat_map(|host| host.marks).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_called_by_its_name_and_its_agents_are_presets_or_called_like_it() {
        for host in all() {
            assert_eq!(host.command, format!("hookwright hook {}", host.name));
            for known in host.capabilities {
                assert!(EventName::resolve(known.native).is_some(), "{known:?}");
            }
            for agent in host.agents {
                let is_preset = hookwright_agents::presets::preset(agent.name).is_some();
                assert!(is_preset || agent.name == host.name, "{}", agent.name);
            }
        }
    }
}
