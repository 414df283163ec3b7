//! The agent as an attacker: it runs commands as the user, writes the repository's settings, deletes
//! files and sets variables. No guard may pass because of that, except as `docs/security.md` says.

mod approvals;
mod environment;
mod files;
mod libraries;
mod tasks;
mod trust;

use std::io::Write;
use std::process::{Command, Stdio};

use hookwright_events::{EventName, Power};
use serde_json::Value;

use crate::hook_claude::{events, sent};
use crate::support::{Ran, Sandbox};

/// An agent that a person started in the sandbox's project. It is a shell that starts another shell
/// for each hook, as Claude Code does.
pub(super) struct HostileAgent<'a> {
    sandbox: &'a Sandbox,
    /// What the person had set when the agent was started, beside `HOME` and `PATH`.
    started_with: Vec<(&'a str, String)>,
    /// What the repository's settings, which the agent can write, set for hooks.
    settings: Vec<(&'a str, String)>,
}

impl<'a> HostileAgent<'a> {
    pub(super) fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, started_with: Vec::new(), settings: Vec::new() }
    }

    /// The person had set this variable when the agent was started.
    pub(super) fn started_with(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.started_with.push((name, value.into()));
        self
    }

    /// The settings set this variable for hooks.
    pub(super) fn setting(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    /// What `hookwright hook claude` answers at an event, started as Claude Code starts it: by a shell
    /// that has what the settings set and the agent's own variables.
    pub(super) fn call(&self, event: &Value) -> Ran {
        let hook = "env \"$@\" /bin/sh -c '\"$program\" hook claude; exit $?'; exit $?";
        self.call_by(hook, event)
    }

    /// The same, started by this script of the agent. Its arguments are what settings and agent set.
    pub(super) fn call_by(&self, script: &str, event: &Value) -> Ran {
        let project = self.sandbox.path(".");
        let settings = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        let mut command = Command::new("bash");
        command.args(["-c", script, "agent"]).args(settings).arg("CLAUDECODE=1");
        command.arg(format!("CLAUDE_PROJECT_DIR={}", project.display()));
        let own = self.sandbox.command(&[]);
        command.env_clear().env("program", env!("CARGO_BIN_EXE_hookwright"));
        command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.envs(self.started_with.iter().map(|(name, value)| (name, value)));
        command.current_dir(&project);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read everything has its reasons; what it answers is what counts.
        let _ = child.stdin.take().unwrap().write_all(format!("{event}\n").as_bytes());
        Ran::from(child.wait_with_output().unwrap())
    }
}

/// What Claude Code sends at every event at which hooks can keep something from happening.
pub(super) fn guard_points() -> Vec<Value> {
    let names = events();
    let blocks = |name: &String| {
        let known = EventName::resolve(name);
        known.is_some_and(|event| event.power() == Power::Blocks)
    };
    let points: Vec<Value> = names.iter().filter(|name| blocks(name)).map(|n| sent(n)).collect();
    assert!(points.len() >= 4, "{}", points.len());
    points
}

/// The same with every message to the user taken out: what is done, not what is said beside it.
pub(super) fn without_messages(ran: Ran) -> Ran {
    let Ok(Value::Object(mut reply)) = serde_json::from_str(&ran.stdout) else { return ran };
    reply.remove("systemMessage");
    Ran { stdout: Value::Object(reply).to_string(), ..ran }
}
