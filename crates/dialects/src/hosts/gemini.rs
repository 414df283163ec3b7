//! Gemini CLI as a host: its settings call `hookwright hook gemini`.
//!
//! Written from recordings of Gemini CLI 0.61.0 (`crates/dialects/tests/hosts/gemini`).

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use super::limits::LEAST_PATIENCE;
use super::{Host, HostDifferences, HostProgram, OffSwitch, ProgramVersion, StartFolder};

/// Gemini CLI.
pub static HOST: Host = Host {
    name: "gemini",
    display_name: "Gemini CLI",
    command: "hookwright hook gemini",
    page: "docs/gemini.md",
    program: HostProgram {
        name: "gemini",
        package: "@google/gemini-cli",
        measured: ProgramVersion::new(0, 61, 0),
        missing_before: None,
    },
    capabilities: capabilities::ALL,
    marks: &["GEMINI_PROJECT_DIR", "GEMINI_SESSION_ID"],
    own_variables: &["GEMINI_*", "CLAUDE_PROJECT_DIR"],
    start_folder: StartFolder::Variables(&["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"]),
    agents: settings::AGENTS,
    offline: &offline::RUN,
    patience: |_| LEAST_PATIENCE,
    read: call::read,
    reply: reply::reply_to,
    calls_in: |host, files, _| settings::calls_in(host, files),
    files: settings::to_install,
    differences: HostDifferences {
        off_switches: &[OffSwitch {
            file: "settings.json",
            keys: &["hooksConfig", "enabled"],
            off: false,
        }],
        project_cautions: &[
            "with `--skip-trust`, Gemini CLI runs no hooks of a project and says nothing",
        ],
        ..HostDifferences::NONE
    },
};
