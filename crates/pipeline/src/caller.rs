//! [`Caller`]: a process that makes a request, and whether it runs inside a session.
//!
//! An agent runs commands as its user, and it sets their environment. So a command that the agent
//! itself must not give, or that depends on its session, inspects the process tree: the processes
//! above it, and the environment with which each was started. The process that runs a session
//! adopts what its agents and hooks leave behind, so they stay below it.
//!
//! Not detected: a process that a daemon starts for the agent (`systemd-run`, `at`, `cron`, `ssh
//! localhost`), and after the session's process was killed, a process that has left the tree,
//! cleared its environment and removed the mark of its run. On systems without `/proc` only the
//! caller's own environment is known.

use hookwright_process::{AncestorProcess, Ancestry, MARKER};

use crate::lease::LeaseOwner;

/// The variable that names the session of an agent or a hook.
pub const SESSION: &str = "HOOKWRIGHT_SESSION";

/// The variable that names the project of that session.
pub const PROJECT: &str = "HOOKWRIGHT_PROJECT";

/// Programs that only start another one on behalf of an agent.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"];

/// A process that makes a request.
#[derive(Debug)]
pub struct Caller {
    ancestry: Ancestry,
}

/// The process that asked a person, and its session.
#[derive(Debug)]
pub struct AskingSession<'a> {
    /// The process that waits for the answer.
    pub holder: &'a LeaseOwner,
    /// The project's path.
    pub root: &'a str,
    /// The session, if one asks.
    pub session: Option<&'a str>,
    /// Names of agent programs that may call this program.
    pub agents: &'a [&'a str],
}

impl Caller {
    /// This process.
    pub fn this() -> Self {
        Self { ancestry: Ancestry::of_this() }
    }

    /// The process with this id.
    pub fn of(pid: u32) -> Self {
        Self { ancestry: Ancestry::of(pid) }
    }

    /// Whether the process no longer exists, so that nothing is known about it.
    pub fn is_gone(&self) -> bool {
        self.ancestry.processes().is_empty()
    }

    /// Whether the caller was started in a run and hides in which: it has the mark of a run, and
    /// nothing above it names the session or hook that started it. A process that outlived its
    /// session and cleared its environment is like that.
    pub fn hides_its_run(&self) -> bool {
        let processes = self.ancestry.processes();
        processes.first().is_some_and(AncestorProcess::has_mark_of_a_run)
            && !processes.iter().any(|process| process.variable(MARKER).is_some())
            && !processes.iter().skip(1).any(AncestorProcess::runs_our_program)
    }

    /// Whether the caller, or a process above it, was started with one of these variables.
    pub fn was_started_with_any(&self, names: &[&str]) -> bool {
        let has_any =
            |process: &AncestorProcess| names.iter().any(|it| process.variable(it).is_some());
        self.ancestry.processes().iter().any(has_any)
    }

    /// The nearest process above the caller that `is_agent` recognises.
    pub fn process_above(
        &self,
        is_agent: impl Fn(&AncestorProcess) -> bool,
    ) -> Option<AncestorProcess> {
        self.ancestry.processes().iter().skip(1).find(|process| is_agent(process)).copied()
    }

    /// How many levels above the caller the process is that runs a session. `None` if the caller is
    /// not below it.
    pub fn distance_to(&self, holder: &LeaseOwner) -> Option<usize> {
        let this = LeaseOwner::this();
        if !holder.machine.is_this() || holder.boot_id != this.boot_id {
            return None;
        }
        self.ancestry.distance_to(holder.pid, holder.start_time?)
    }

    /// The session of the process just below the one at this distance: the process that runs the
    /// session started it under this name.
    pub fn session_below(&self, distance: usize) -> Option<String> {
        let below = self.ancestry.processes().get(distance.checked_sub(1)?)?;
        below.variable(SESSION)?.into_string().ok()
    }

    /// Names of sessions of the project with this path in which the caller, or a process above it,
    /// was started: nearest first, each once.
    pub fn named_sessions(&self, root: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for process in self.ancestry.processes() {
            let name = process.variable(SESSION).and_then(|name| name.into_string().ok());
            let Some(name) = name.filter(|name| !name.is_empty()) else { continue };
            let is_elsewhere = process.variable(PROJECT).is_some_and(|its| its != *root);
            if !is_elsewhere && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether the caller is in the same process tree as the asker: below the asking process, below
    /// a session in which both run, below the agent that called the asking process, or started in
    /// the asking session. A caller that hides where it was started counts as inside.
    pub fn is_inside(&self, asker: &AskingSession<'_>) -> bool {
        let AskingSession { holder, root, session, agents } = asker;
        if session.is_some_and(|name| self.named_sessions(root).iter().any(|it| it == name)) {
            return true;
        }
        if self.distance_to(holder).is_some() || self.hides_its_run() {
            return true;
        }
        let asking = Ancestry::of(holder.pid);
        let is_the_asker = asking
            .processes()
            .first()
            .is_some_and(|process| Some(process.start_time) == holder.start_time);
        if !is_the_asker {
            return false;
        }
        let shared = self.ancestry.shared_with(&asking);
        let is_session = |process: &AncestorProcess| process.runs_program_of(holder.pid);
        let is_agent =
            |process: &AncestorProcess| Some(process) == agent_above(&asking, agents).as_ref();
        shared.iter().any(|process| is_session(process) || is_agent(process))
    }

    /// Whether the caller runs inside any session or hook: below this program, or started in a run,
    /// itself or a process above it, for which `counts` returns true.
    pub fn is_inside_any(&self, counts: impl Fn(&AncestorProcess) -> bool) -> bool {
        let processes = self.ancestry.processes();
        let is_marked = |process: &AncestorProcess| process.variable(MARKER).is_some();
        self.hides_its_run()
            || processes.iter().skip(1).any(AncestorProcess::runs_our_program)
            || processes.iter().any(|process| is_marked(process) && counts(process))
    }
}

/// The agent that called a process, directly or through shells.
fn agent_above(asking: &Ancestry, agents: &[&str]) -> Option<AncestorProcess> {
    let above = asking.processes().iter().skip(1);
    let mut named = above.map(|process| (process, process.name().unwrap_or_default()));
    let (process, name) = named.find(|(_, name)| !SHELLS.contains(&name.as_str()))?;
    agents.contains(&name.as_str()).then_some(*process)
}
