//! Qwen Code as a host: its settings call `hookwright hook qwen`.
//!
//! Written from recordings of Qwen Code 0.24.4 (`crates/dialects/tests/hosts/qwen`).

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

/// Qwen Code.
#[derive(Debug)]
pub struct QwenHost;

impl Host for QwenHost {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn display_name(&self) -> &'static str {
        "Qwen Code"
    }

    fn command(&self) -> &'static str {
        "hookwright hook qwen"
    }

    fn page(&self) -> &'static str {
        "docs/qwen.md"
    }

    fn program(&self) -> HostProgram {
        HostProgram {
            name: "qwen",
            package: "@qwen-code/qwen-code",
            measured: ProgramVersion::new(0, 24, 4),
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
        super::first_path(variable, &["QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &["QWEN_PROJECT_DIR", "QWEN_CODE_CLI"]
    }

    fn sets_for_hooks(&self, variable: &str) -> bool {
        variable.starts_with("QWEN_")
            || matches!(variable, "GEMINI_PROJECT_DIR" | "CLAUDE_PROJECT_DIR")
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
        &[OffSwitch { file: "settings.json", keys: &["disableAllHooks"], off: true }]
    }
}
