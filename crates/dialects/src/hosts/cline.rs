//! Cline as a host: its hook programs call `hookwright hook cline`.
//!
//! Written from recordings of Cline 3.0.65 (`crates/dialects/tests/hosts/cline`).

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

/// Cline.
#[derive(Debug)]
pub struct ClineHost;

impl Host for ClineHost {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn display_name(&self) -> &'static str {
        "Cline"
    }

    fn command(&self) -> &'static str {
        "hookwright hook cline"
    }

    fn page(&self) -> &'static str {
        "docs/cline.md"
    }

    fn program(&self) -> HostProgram {
        HostProgram {
            name: "cline",
            package: "cline",
            measured: ProgramVersion::new(3, 0, 65),
            missing_before: None,
        }
    }

    fn read_call(&self, sent: &str) -> Result<HostCall, UnreadableCall> {
        call::read(self, sent)
    }

    fn reply(&self, call: &HostCall, decision: &Decision) -> HostReply {
        reply::reply_to(self, call, decision)
    }

    fn refuse_unread(&self, reason: &str) -> HostReply {
        reply::deny(reason)
    }

    fn capabilities(&self) -> &'static [Capability] {
        capabilities::ALL
    }

    fn patience(&self, event: &EventName) -> Duration {
        capabilities::patience(event)
    }

    fn project(
        &self,
        call: &HostCall,
        _variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        call.event.text("cwd").map(PathBuf::from)
    }

    fn marks(&self) -> &'static [&'static str] {
        &[]
    }

    fn sets_for_hooks(&self, variable: &str) -> bool {
        variable.starts_with("CLINE_")
    }

    fn agents(&self) -> &'static [HostAgent] {
        settings::AGENTS
    }

    fn calls_in(
        &self,
        settings: &[ForeignFile<'_>],
        _environment: &Environment,
    ) -> Vec<(EventName, Matcher)> {
        settings::calls_in(settings)
    }

    fn files(&self, program: &str) -> Vec<HostFile> {
        settings::to_install(program)
    }

    fn offline(&self) -> &'static OfflineRun {
        &offline::RUN
    }

    fn is_own_file(&self, file: &HostFile, text: &str) -> bool {
        settings::is_ours(file, text)
    }
}
