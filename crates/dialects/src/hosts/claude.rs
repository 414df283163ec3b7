//! Claude Code as a host: its settings call `hookwright hook claude`.
//!
//! Other agents that send Claude Code's events and understand its answers may call it too. The
//! format of its settings and hooks is in `formats/claude`.

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hookwright_config::{ForeignFile, Loaded};
use hookwright_engine::matcher::Matcher;
use hookwright_engine::variables::Environment;
use hookwright_events::{Decision, EventName, EventSpec};

use super::{
    Capability, Host, HostAgent, HostCall, HostFile, HostProgram, HostReply, OffSwitch, OfflineRun,
    ProgramVersion, UnreadableCall,
};
use crate::claude::{self, SYSTEM};

/// Claude Code.
#[derive(Debug)]
pub struct ClaudeHost;

impl Host for ClaudeHost {
    fn name(&self) -> &'static str {
        SYSTEM
    }

    fn display_name(&self) -> &'static str {
        "Claude Code"
    }

    fn command(&self) -> &'static str {
        "hookwright hook claude"
    }

    fn page(&self) -> &'static str {
        "docs/claude-code.md"
    }

    fn program(&self) -> HostProgram {
        HostProgram {
            name: "claude",
            package: "@anthropic-ai/claude-code",
            measured: ProgramVersion::new(2, 1, 295),
            missing_before: Some("it runs the tool if a hook's program is missing or crashes"),
        }
    }

    fn read_call(&self, sent: &str) -> Result<HostCall, UnreadableCall> {
        call::read(self, sent)
    }

    fn reply(&self, call: &HostCall, decision: &Decision) -> HostReply {
        reply::reply_to(&call.event, decision)
    }

    /// Claude Code reads the reason from standard error.
    fn refuse_unread(&self, reason: &str) -> HostReply {
        HostReply { stdout: String::new(), ..HostReply::deny_to_any_host(reason) }
    }

    fn capabilities(&self) -> &'static [Capability] {
        capabilities::ALL
    }

    fn capability(&self, event: &EventName) -> Capability {
        capabilities::of_event(event)
    }

    fn patience(&self, event: &EventName) -> Duration {
        capabilities::patience(event)
    }

    fn sends(&self, event: &EventSpec) -> bool {
        event.name_in(SYSTEM).is_some()
    }

    fn project(
        &self,
        _call: &HostCall,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Option<PathBuf> {
        variable("CLAUDE_PROJECT_DIR").map(PathBuf::from)
    }

    fn marks(&self) -> &'static [&'static str] {
        &["CLAUDECODE", "CLAUDE_PROJECT_DIR"]
    }

    fn sets_for_hooks(&self, variable: &str) -> bool {
        variable.starts_with("CLAUDE") || matches!(variable, "AI_AGENT" | "TRACEPARENT")
    }

    /// Of several entries with the same command, Claude Code runs one.
    fn may_deliver_twice(&self) -> bool {
        false
    }

    fn agents(&self) -> &'static [HostAgent] {
        settings::AGENTS
    }

    fn calls_in(
        &self,
        settings: &[ForeignFile<'_>],
        environment: &Environment,
    ) -> Vec<(EventName, Matcher)> {
        // The command that reads the settings' hooks reports their faults.
        claude::read_settings(settings, environment, &mut Loaded::default())
    }

    fn files(&self, program: &str) -> Vec<HostFile> {
        let file = HostFile::settings(".claude/settings.json", &settings::to_install(program));
        vec![file.moved_by("CLAUDE_CONFIG_DIR", ".claude")]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        const MANAGED: &str = "/etc/claude-code/managed-settings.json";
        const fn switch(file: &'static str) -> OffSwitch {
            OffSwitch { file, keys: &["disableAllHooks"], off: true }
        }
        const MANAGED_ONLY: OffSwitch =
            OffSwitch { file: MANAGED, keys: &["allowManagedHooksOnly"], off: true };
        const ALL: &[OffSwitch] = &[
            switch("settings.json"),
            switch("settings.local.json"),
            switch(MANAGED),
            MANAGED_ONLY,
        ];
        ALL
    }

    fn cautions(&self, _of_project: bool) -> &'static [&'static str] {
        &["a session that already runs may write its old settings back: restart it"]
    }

    fn offline(&self) -> &'static OfflineRun {
        &offline::RUN
    }
}
