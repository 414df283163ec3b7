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

use super::{Host, HostDifferences, HostProgram, ProgramVersion, StartFolder};
pub use trust::{CodexTrust, HookTrust};

/// Codex.
pub static HOST: Host = Host {
    name: "codex",
    display_name: "Codex",
    command: "hookwright hook codex",
    page: "docs/codex.md",
    program: HostProgram {
        name: "codex",
        package: "@openai/codex",
        measured: ProgramVersion::new(0, 166, 0),
        missing_before: None,
    },
    capabilities: capabilities::ALL,
    marks: &["CODEX_MANAGED_BY_NPM"],
    own_variables: &["CODEX_*"],
    start_folder: StartFolder::Unsaid,
    agents: settings::AGENTS,
    offline: &offline::RUN,
    patience: capabilities::patience,
    read: call::read,
    reply: reply::reply_to,
    calls_in: |host, files, _| settings::calls_in(host, files),
    files: settings::to_install,
    differences: HostDifferences {
        trust: Some(&trust_dialogue::TRUST),
        project_cautions: &["Codex reads a project's hooks only in a folder that it trusts"],
        ..HostDifferences::NONE
    },
};
