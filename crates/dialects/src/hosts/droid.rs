//! Droid as a host: its settings call `hookwright hook droid`.
//!
//! Written from recordings of Droid 0.215.0 (`crates/dialects/tests/hosts/droid`).

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

/// Droid.
#[derive(Debug)]
pub struct DroidHost;

impl Host for DroidHost {
    fn name(&self) -> &'static str {
        "droid"
    }

    fn display_name(&self) -> &'static str {
        "Droid"
    }

    fn command(&self) -> &'static str {
        "hookwright hook droid"
    }

    fn page(&self) -> &'static str {
        "docs/droid.md"
    }

    fn program(&self) -> HostProgram {
        HostProgram {
            name: "droid",
            package: "droid",
            measured: ProgramVersion::new(0, 215, 0),
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
        super::first_path(variable, &["FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"])
    }

    fn marks(&self) -> &'static [&'static str] {
        &["FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"]
    }

    fn sets_for_hooks(&self, variable: &str) -> bool {
        ["FACTORY_", "DROID_", "CLAUDE_"].iter().any(|begin| variable.starts_with(begin))
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
        &[OffSwitch { file: "settings.json", keys: &["hooksDisabled"], off: true }]
    }
}
