//! [`StartEnvironment`]: the environment in which a person started the calling agent.
//!
//! The variables that an agent passes to its hooks cannot be trusted. A repository's settings can
//! set variables there, and the agent can write those settings while it works: `HOOKWRIGHT=0`,
//! another `HOME`, a `PATH` that begins with a folder of fake programs. The environment that a
//! process was started with cannot be changed afterwards, and the kernel shows it. So this module
//! finds the agent among the ancestor processes and reads its start environment.
//!
//! Every command that an agent starts carries the agent's marks (variables that it sets for its
//! children), and the agent itself does not. So the agent is the nearest ancestor without a mark.
//! An agent that another agent's command started carries marks too, so the search goes on to the
//! one that a person started. An agent that starts itself again, for its own helpers, is recognised
//! by its program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use hookwright_engine::variables::Environment;

/// Ancestors that are checked. Real trees have fewer than ten; a longer one is hiding something.
const ANCESTORS_MAX: usize = 64;

/// Variables that come from the start environment even if the agent's hooks don't have them.
const ALWAYS: [&str; 4] = ["HOME", "PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];

/// What started this command.
#[derive(Debug)]
pub(crate) enum CommandStarter {
    /// A person or a program outside any agent: the environment can be trusted.
    Person,
    /// An agent, which a person started with this environment.
    Agent(StartEnvironment),
    /// An agent that cannot be found, or whose start environment the system does not show.
    UnknownAgent,
}

/// The environment that a process was started with.
#[derive(Debug, Default)]
pub(crate) struct StartEnvironment {
    variables: BTreeMap<OsString, OsString>,
    /// The process, if it is known.
    process: Option<AgentProcess>,
}

/// A process of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AgentProcess {
    pub(crate) pid: u32,
    /// The start time, in clock ticks since boot.
    pub(crate) start_time: u64,
}

impl CommandStarter {
    /// Finds what started this command, given the marks of possible agents.
    pub(crate) fn find(marks: &[&str]) -> Self {
        let is_marked = marks.iter().any(|mark| std::env::var_os(mark).is_some());
        // On other systems a process cannot read another one's start environment.
        if !is_marked || !cfg!(target_os = "linux") {
            return Self::Person;
        }
        match agent_above(marks) {
            Some(start) => Self::Agent(start),
            None => Self::UnknownAgent,
        }
    }

    /// The process of the agent that a person started, if it is known.
    pub(crate) fn agent(&self) -> Option<AgentProcess> {
        match self {
            Self::Agent(start) => start.process,
            Self::Person | Self::UnknownAgent => None,
        }
    }

    /// A variable as the person set it.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        match self {
            Self::Person => std::env::var_os(name),
            Self::Agent(start) => start.get(name).map(OsStr::to_owned),
            Self::UnknownAgent => None,
        }
    }

    /// The environment for hooks: variables as the person set them, and those that the agent itself
    /// sets for hooks. Variables that only settings or the agent's own commands have set are left
    /// out.
    pub(crate) fn environment(&self, is_set_by_agent: impl Fn(&str) -> bool) -> Environment {
        let own = std::env::vars_os();
        let Self::Agent(start) = self else { return Environment::new(own) };
        let of_agent = |name: &OsString| name.to_str().is_some_and(&is_set_by_agent);
        let of_person = own.filter_map(|(name, value)| {
            let value = if of_agent(&name) { value } else { start.variables.get(&name)?.clone() };
            Some((name, value))
        });
        let always = ALWAYS.iter().filter_map(|name| Some((name.into(), start.get(name)?.into())));
        Environment::new(of_person.chain(always))
    }
}

impl StartEnvironment {
    fn read(pid: u32) -> Option<Self> {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        Some(Self::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Self {
        let strings = bytes.split(|byte| *byte == 0);
        let pairs = strings.filter_map(|string| {
            let at = string.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&string[..at]), text(&string[at + 1..])))
        });
        let mut variables = BTreeMap::new();
        // If a name appears twice, programs read the first.
        pairs.for_each(|(name, value)| {
            variables.entry(name).or_insert(value);
        });
        Self { variables, process: None }
    }

    fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.get(name).is_some())
    }
}

/// The start environment of the agent that a person started.
fn agent_above(marks: &[&str]) -> Option<StartEnvironment> {
    let mut pid = std::os::unix::process::parent_id();
    let mut agent: Option<(u32, StartEnvironment)> = None;
    for _ in 0..ANCESTORS_MAX {
        // The first process adopts a process whose parent has ended, but did not start it.
        if pid <= 1 {
            break;
        }
        let start = StartEnvironment::read(pid);
        if let Some((known, _)) = &agent {
            let same = program_of(pid).is_some_and(|program| program_of(*known) == Some(program));
            if !same {
                break;
            }
        }
        match start {
            Some(start) if !start.has_any(marks) => agent = Some((pid, start)),
            Some(_) => agent = None,
            None => return None,
        }
        let ProcessStat { parent, start_time } = ProcessStat::read(pid)?;
        if let Some((known, start)) = &mut agent
            && *known == pid
        {
            start.process = Some(AgentProcess { pid, start_time });
        }
        pid = parent;
    }
    agent.map(|(_, start)| start)
}

fn program_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// What the system says about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessStat {
    parent: u32,
    /// In clock ticks since boot.
    start_time: u64,
}

impl ProcessStat {
    fn read(pid: u32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name may contain anything, even a bracket; state and parent follow the last one.
        let behind_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let text = OsStr::from_bytes(&stat[behind_name..]).to_str()?;
        let mut fields = text.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        // `starttime` is the 20th field behind the name.
        Some(Self { parent, start_time: fields.nth(17)?.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_read_as_programs_read_it() {
        let start = StartEnvironment::parse(b"A=1\0B=x=y\0A=2\0nothing\0EMPTY=\0");
        assert_eq!(start.get("A"), Some(OsStr::new("1")));
        assert_eq!(start.get("B"), Some(OsStr::new("x=y")));
        assert_eq!(start.get("EMPTY"), Some(OsStr::new("")));
        assert_eq!(start.get("nothing"), None);
        assert!(start.has_any(&["Z", "EMPTY"]));
    }

    #[test]
    fn the_parent_and_the_start_of_a_process_are_told_whatever_the_process_is_called() {
        let pid = std::process::id();
        let stat = ProcessStat::read(pid).expect("it runs");
        assert_eq!(stat.parent, std::os::unix::process::parent_id());
        assert_eq!(Some(stat.start_time), hookwright_process::Leader { pid }.start_time());
    }
}
