//! Gemini CLI as a host: its settings call `hookwright hook gemini`.
//!
//! Written from recordings of Gemini CLI 0.61.0 (`crates/dialects/tests/hosts/gemini`).

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
    Capability, Host, HostAgent, HostCall, HostFile, HostProgram, HostReply, OffSwitch, OfflineRun,
    ProgramVersion, UnreadableCall,
};

/// Gemini CLI.
#[derive(Debug)]
pub struct GeminiHost;

impl Host for GeminiHost {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn display_name(&self) -> &'static str {
        "Gemini CLI"
    }

    fn command(&self) -> &'static str {
        "hookwright hook gemini"
    }

    fn page(&self) -> &'static str {
        "docs/gemini.md"
    }

    fn program(&self) -> HostProgram {
        HostProgram {
            name: "gemini",
            package: "@google/gemini-cli",
            measured: ProgramVersion::new(0, 61, 0),
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
        super::first_path(variable, &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &["GEMINI_PROJECT_DIR", "GEMINI_SESSION_ID"]
    }

    fn sets_for_hooks(&self, variable: &str) -> bool {
        variable.starts_with("GEMINI_") || variable == "CLAUDE_PROJECT_DIR"
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

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[OffSwitch { file: "settings.json", keys: &["hooksConfig", "enabled"], off: false }]
    }

    fn cautions(&self, of_project: bool) -> &'static [&'static str] {
        match of_project {
            true => {
                &["with `--skip-trust`, Gemini CLI runs no hooks of a project and says nothing"]
            }
            false => &[],
        }
    }
}
