//! Claude Code as a host: its settings call `hookwright hook claude`.
//!
//! Other agents that send Claude Code's events and understand its answers may call it too. The
//! format of its settings and hooks is in `formats/claude`.

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use hookwright_config::Loaded;

use super::{
    Host, HostDifferences, HostFile, HostProgram, HostReply, OffSwitch, ProgramVersion, StartFolder,
};
use crate::claude::{self, SYSTEM};

/// Claude Code.
pub static HOST: Host = Host {
    name: SYSTEM,
    display_name: "Claude Code",
    command: "hookwright hook claude",
    page: "docs/claude-code.md",
    program: HostProgram {
        name: "claude",
        package: "@anthropic-ai/claude-code",
        measured: ProgramVersion::new(2, 1, 295),
        missing_before: Some("it runs the tool if a hook's program is missing or crashes"),
    },
    capabilities: capabilities::ALL,
    marks: &["CLAUDECODE", "CLAUDE_PROJECT_DIR"],
    own_variables: &["CLAUDE*", "AI_AGENT", "TRACEPARENT"],
    start_folder: StartFolder::Variables(&["CLAUDE_PROJECT_DIR"]),
    agents: settings::AGENTS,
    offline: &offline::RUN,
    patience: capabilities::patience,
    read: call::read,
    reply: |_, call, decision| reply::reply_to(&call.event, decision),
    calls_in: |_, files, environment| {
        // The command that reads the settings' hooks reports their faults.
        claude::read_settings(files, environment, &mut Loaded::default())
    },
    files: |program| {
        let file = HostFile::settings(".claude/settings.json", &settings::to_install(program));
        vec![file.moved_by("CLAUDE_CONFIG_DIR", ".claude")]
    },
    differences: HostDifferences {
        // Claude Code reads the reason from standard error.
        refuse_unread: |reason| HostReply {
            stdout: String::new(),
            ..HostReply::deny_to_any_host(reason)
        },
        capability: |_, event| capabilities::of_event(event),
        sends: |_, event| event.name_in(SYSTEM).is_some(),
        // Of several entries with the same command, Claude Code runs one.
        may_deliver_twice: false,
        off_switches: &[
            all_hooks_off("settings.json"),
            all_hooks_off("settings.local.json"),
            all_hooks_off(MANAGED),
            OffSwitch { file: MANAGED, keys: &["allowManagedHooksOnly"], off: true },
        ],
        cautions: &["a session that already runs may write its old settings back: restart it"],
        ..HostDifferences::NONE
    },
};

/// The settings of the machine's administrator.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

const fn all_hooks_off(file: &'static str) -> OffSwitch {
    OffSwitch { file, keys: &["disableAllHooks"], off: true }
}
