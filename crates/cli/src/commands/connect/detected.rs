//! `--detect`: every agent, its version, and whether it is connected. Nothing is changed, so an agent
//! may ask too.

use hookwright_dialects::hosts::{self, Host};
use serde_json::{Value, json};

use super::Work;
use super::agent_plan::own_program;
use super::plan::{self, FileChange};
use crate::error::Failure;
use crate::exit_code;
use crate::host::runtime;
use crate::installed_agent::{InstalledAgent, versions};
use crate::text::visible_path;

impl Work<'_> {
    /// Lists every agent.
    pub(super) fn detect(&self) -> Result<u8, Failure> {
        let program = own_program(&self.path)?;
        let installed: Vec<Option<InstalledAgent>> =
            hosts::all().iter().map(|host| InstalledAgent::find(host, &self.path)).collect();
        let there: Vec<InstalledAgent> = installed.iter().flatten().cloned().collect();
        let mut versions = runtime()?.block_on(versions(&there)).into_iter();
        let mut found = Vec::new();
        for (host, installed) in hosts::all().iter().zip(installed) {
            let version = installed.as_ref().and_then(|_| versions.next()?.ok());
            let status = match &installed {
                Some(_) => self.status(host, &program),
                None => "not installed",
            };
            found.push((*host, installed, version, status));
        }
        if self.arguments.json {
            let agents = found.iter().map(|(host, installed, version, status)| {
                json!({
                    "agent": host.name,
                    "program": installed.as_ref().map(|it| it.program.to_string_lossy()),
                    "program_version": version.map(|version| version.to_string()),
                    "status": status.replace(' ', "_"),
                })
            });
            let agents: Vec<Value> = agents.collect();
            self.screen.json(&json!({ "version": 1, "agents": agents }))?;
            return Ok(exit_code::GO_ON);
        }
        for (host, installed, version, status) in found {
            let version = version.map_or_else(|| "-".to_owned(), |version| version.to_string());
            let more = match &installed {
                Some(agent) => visible_path(&agent.program),
                None => host.program.install_command(),
            };
            let name = host.name;
            self.screen.result(&format!("{name:<10}{version:<12}{status:<16}{more}\n"))?;
        }
        Ok(exit_code::GO_ON)
    }

    /// Whether an agent's files call this program.
    fn status(&self, host: &Host, program: &str) -> &'static str {
        let mut changes = Vec::new();
        for target in host.files(program) {
            let Ok(path) = self.folders.path(host, &target) else { return "unknown" };
            match plan::to_connect(host, &target, &path) {
                Ok((plan, _)) => changes.push(plan.change == FileChange::Nothing),
                Err(_) => return "unusable",
            }
        }
        match (changes.iter().all(|done| *done), changes.iter().any(|done| *done)) {
            (true, _) => "connected",
            (false, true) => "incomplete",
            (false, false) => "not connected",
        }
    }
}
