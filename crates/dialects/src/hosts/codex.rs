//! Codex as a host: its settings call `hookwright hook codex`.
//!
//! Written from recordings of Codex 0.166.0 (`crates/dialects/tests/hosts/codex`).

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;
mod trust;
mod trust_dialogue;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_engine::variables::Environment;
use hookwright_events::{Decision, EventName};

use super::{
    Capability, Host, HostAgent, HostCall, HostFile, HostProgram, HostReply, OfflineRun,
    ProgramVersion, TrustDialogue, UnreadableCall,
};
pub use trust::{CodexTrust, HookTrust};

/// Codex.
#[derive(Debug)]
pub struct CodexHost;

impl Host for CodexHost {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn display_name(&self) -> &'static str {
        "Codex"
    }

    fn command(&self) -> &'static str {
        "hookwright hook codex"
    }

    fn page(&self) -> &'static str {
        "docs/codex.md"
    }

    fn program(&self) -> HostProgram {
        HostProgram {
            name: "codex",
            package: "@openai/codex",
            measured: ProgramVersion::new(0, 166, 0),
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
        _variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["CODEX_MANAGED_BY_NPM"]
    }

    fn sets_for_hooks(&self, variable: &str) -> bool {
        variable.starts_with("CODEX_")
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

    fn trust(&self) -> Option<&'static TrustDialogue> {
        Some(&trust_dialogue::TRUST)
    }

    fn cautions(&self, of_project: bool) -> &'static [&'static str] {
        match of_project {
            true => &["Codex reads a project's hooks only in a folder that it trusts"],
            false => &[],
        }
    }
}
