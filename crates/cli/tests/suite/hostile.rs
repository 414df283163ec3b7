//! The agent as an attacker: it runs commands as the user, writes the repository's settings,
//! deletes files and sets variables. No guard may be bypassed that way, except as
//! `docs/security.md` says.

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

/// An agent that a person started in the sandbox's project: a shell that starts another shell for
/// each hook, as Claude Code does.
pub(super) struct HostileAgent<'a> {
    sandbox: &'a Sandbox,
    /// Variables that the person had set when the agent was started, beside `HOME` and `PATH`.
    started_with: Vec<(&'a str, String)>,
    /// Variables for hooks from the repository's settings, which the agent can write.
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

    /// The answer of `hookwright hook claude` at an event, started as Claude Code does: by a shell
    /// with the settings' variables and the agent's own.
    pub(super) fn call(&self, event: &Value) -> Ran {
        let hook = "env \"$@\" /bin/sh -c '\"$program\" hook claude; exit $?'; exit $?";
        self.call_by(hook, event)
    }

    /// The same, started by this script of the agent. Its arguments are the variables of settings
    /// and agent.
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
        // A program need not read everything; only its answer counts.
        let _ = child.stdin.take().unwrap().write_all(format!("{event}\n").as_bytes());
        Ran::from(child.wait_with_output().unwrap())
    }
}

/// Claude Code's input at every event that hooks can block.
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

/// The same without messages to the user.
pub(super) fn without_messages(ran: Ran) -> Ran {
    let Ok(Value::Object(mut reply)) = serde_json::from_str(&ran.stdout) else { return ran };
    reply.remove("systemMessage");
    Ran { stdout: Value::Object(reply).to_string(), ..ran }
}
