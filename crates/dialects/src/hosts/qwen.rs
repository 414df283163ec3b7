//! Qwen Code as a host: its settings call `hookwright hook qwen`.
//!
//! Written from recordings of Qwen Code 0.24.4 (`crates/dialects/tests/hosts/qwen`).

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use super::limits::LEAST_PATIENCE;
use super::{Host, HostDifferences, HostProgram, OffSwitch, ProgramVersion, StartFolder};

/// Qwen Code.
pub static HOST: Host = Host {
    name: "qwen",
    display_name: "Qwen Code",
    command: "hookwright hook qwen",
    page: "docs/qwen.md",
    program: HostProgram {
        name: "qwen",
        package: "@qwen-code/qwen-code",
        measured: ProgramVersion::new(0, 24, 4),
        missing_before: None,
    },
    capabilities: capabilities::ALL,
    marks: &["QWEN_PROJECT_DIR", "QWEN_CODE_CLI"],
    own_variables: &["QWEN_*", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    start_folder: StartFolder::Variables(&["QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"]),
    agents: settings::AGENTS,
    offline: &offline::RUN,
    patience: |_| LEAST_PATIENCE,
    read: call::read,
    reply: reply::reply_to,
    calls_in: |host, files, _| settings::calls_in(host, files),
    files: settings::to_install,
    differences: HostDifferences {
        off_switches: &[OffSwitch { file: "settings.json", keys: &["disableAllHooks"], off: true }],
        ..HostDifferences::NONE
    },
};
