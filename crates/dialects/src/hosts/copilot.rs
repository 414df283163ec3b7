//! Copilot CLI as a host: its settings call `hookwright hook copilot`.
//!
//! Written from recordings of Copilot CLI 1.0.102 (`crates/dialects/tests/hosts/copilot`).

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use super::limits::LEAST_PATIENCE;
use super::{Host, HostDifferences, HostProgram, ProgramVersion, StartFolder};

/// Copilot CLI.
pub static HOST: Host = Host {
    name: "copilot",
    display_name: "Copilot CLI",
    command: "hookwright hook copilot",
    page: "docs/copilot.md",
    program: HostProgram {
        name: "copilot",
        package: "@github/copilot",
        measured: ProgramVersion::new(1, 0, 102),
        missing_before: None,
    },
    capabilities: capabilities::ALL,
    marks: &["COPILOT_CLI", "COPILOT_PROJECT_DIR"],
    own_variables: &["COPILOT_*", "CLAUDE_PROJECT_DIR"],
    start_folder: StartFolder::Variables(&["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"]),
    agents: settings::AGENTS,
    offline: &offline::RUN,
    patience: |_| LEAST_PATIENCE,
    read: call::read,
    reply: reply::reply_to,
    calls_in: |host, files, _| settings::calls_in(host, files),
    files: settings::to_install,
    differences: HostDifferences {
        also_reads: Some("claude"),
        project_cautions: &["Copilot CLI reads a project's hooks only with `--trust-folder`"],
        ..HostDifferences::NONE
    },
};
