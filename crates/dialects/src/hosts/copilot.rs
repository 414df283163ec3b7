//! Copilot CLI as a host: its settings call `hookwright hook copilot`.
//!
//! Written from recordings of Copilot CLI 1.0.102 (`crates/dialects/tests/hosts/copilot`).

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_engine::variables::Environment;
use hookwright_events::{Decision, EventName};

use super::{
    Capability, Host, HostAgent, HostCall, HostFile, HostProgram, HostReply, OfflineRun,
    ProgramVersion, UnreadableCall,
};

/// Copilot CLI.
#[derive(Debug)]
pub struct CopilotHost;

impl Host for CopilotHost {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn display_name(&self) -> &'static str {
        "Copilot CLI"
    }

    fn command(&self) -> &'static str {
        "hookwright hook copilot"
    }

    fn page(&self) -> &'static str {
        "docs/copilot.md"
    }

    fn program(&self) -> HostProgram {
        HostProgram {
            name: "copilot",
            package: "@github/copilot",
            measured: ProgramVersion::new(1, 0, 102),
            missing_before: None,
        }
    }

    fn read_call(&self, sent: &str) -> Result<HostCall, UnreadableCall> {
        call::read(self, sent)
    }

    fn reply(&self, call: &HostCall, decision: &Decision) -> HostReply {
        reply::reply_to(self, call, decision)
    }

    fn capabilities(&self) -> &'static [Capability] {
        capabilities::ALL
    }

    fn patience(&self, event: &EventName) -> Duration {
        capabilities::patience(event)
    }

    fn project(
        &self,
        _call: &HostCall,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        super::first_path(variable, &["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &["COPILOT_CLI", "COPILOT_PROJECT_DIR"]
    }

    fn sets_for_hooks(&self, variable: &str) -> bool {
        variable.starts_with("COPILOT_") || variable == "CLAUDE_PROJECT_DIR"
    }

    fn agents(&self) -> &'static [HostAgent] {
        settings::AGENTS
    }

    fn calls_in(
        &self,
        settings: &[ForeignFile<'_>],
        _environment: &Environment,
    ) -> Vec<(EventName, Matcher)> {
        settings::calls_in(self, settings)
    }

    fn files(&self, program: &str) -> Vec<HostFile> {
        settings::to_install(program)
    }

    fn offline(&self) -> &'static OfflineRun {
        &offline::RUN
    }

    fn also_reads(&self) -> Option<&'static str> {
        Some("claude")
    }

    fn cautions(&self, of_project: bool) -> &'static [&'static str] {
        match of_project {
            true => &["Copilot CLI reads a project's hooks only with `--trust-folder`"],
            false => &[],
        }
    }
}
