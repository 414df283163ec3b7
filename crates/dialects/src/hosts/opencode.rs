//! opencode as a host: our plugin in it calls `hookwright hook opencode`.
//!
//! Written from recordings of opencode 1.18.33 (`crates/dialects/tests/hosts/opencode`).

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

/// opencode.
#[derive(Debug)]
pub struct OpencodeHost;

impl Host for OpencodeHost {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn display_name(&self) -> &'static str {
        "opencode"
    }

    fn command(&self) -> &'static str {
        "hookwright hook opencode"
    }

    fn page(&self) -> &'static str {
        "docs/opencode.md"
    }

    fn program(&self) -> HostProgram {
        HostProgram {
            name: "opencode",
            package: "opencode-ai",
            measured: ProgramVersion::new(1, 18, 33),
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
        &[settings::MARK]
    }

    fn sets_for_hooks(&self, variable: &str) -> bool {
        variable.starts_with("OPENCODE_") || variable == settings::MARK
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

    fn is_own_file(&self, _file: &HostFile, text: &str) -> bool {
        settings::is_ours(text)
    }

    fn load_check(&self, file: &HostFile) -> Option<String> {
        Some(settings::load_check(&file.text))
    }

    fn cautions(&self, _of_project: bool) -> &'static [&'static str] {
        &["`opencode --pure` and OPENCODE_PURE run without plugins, so without your hooks"]
    }
}
