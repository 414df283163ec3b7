//! Cline as a host: its hook programs call `hookwright hook cline`.
//!
//! Written from recordings of Cline 3.0.65 (`crates/dialects/tests/hosts/cline`).

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use super::limits::LEAST_PATIENCE;
use super::{Host, HostDifferences, HostProgram, ProgramVersion, StartFolder};

/// Cline.
pub static HOST: Host = Host {
    name: "cline",
    display_name: "Cline",
    command: "hookwright hook cline",
    page: "docs/cline.md",
    program: HostProgram {
        name: "cline",
        package: "cline",
        measured: ProgramVersion::new(3, 0, 65),
        missing_before: None,
    },
    capabilities: capabilities::ALL,
    marks: &[],
    own_variables: &["CLINE_*"],
    start_folder: StartFolder::OfCall,
    agents: settings::AGENTS,
    offline: &offline::RUN,
    patience: |_| LEAST_PATIENCE,
    read: call::read,
    reply: reply::reply_to,
    calls_in: |_, files, _| settings::calls_in(files),
    files: settings::to_install,
    differences: HostDifferences {
        refuse_unread: reply::deny,
        is_own_file: settings::is_ours,
        ..HostDifferences::NONE
    },
};
