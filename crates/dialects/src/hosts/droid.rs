//! Droid as a host: its settings call `hookwright hook droid`.
//!
//! Written from recordings of Droid 0.215.0 (`crates/dialects/tests/hosts/droid`).

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use super::limits::LEAST_PATIENCE;
use super::{Host, HostDifferences, HostProgram, OffSwitch, ProgramVersion, StartFolder};

/// Droid.
pub static HOST: Host = Host {
    name: "droid",
    display_name: "Droid",
    command: "hookwright hook droid",
    page: "docs/droid.md",
    program: HostProgram {
        name: "droid",
        package: "droid",
        measured: ProgramVersion::new(0, 215, 0),
        missing_before: None,
    },
    capabilities: capabilities::ALL,
    marks: &["FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"],
    own_variables: &["FACTORY_*", "DROID_*", "CLAUDE_*"],
    start_folder: StartFolder::Variables(&["FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"]),
    agents: settings::AGENTS,
    offline: &offline::RUN,
    patience: |_| LEAST_PATIENCE,
    read: call::read,
    reply: reply::reply_to,
    calls_in: |host, files, _| settings::calls_in(host, files),
    files: settings::to_install,
    differences: HostDifferences {
        off_switches: &[OffSwitch { file: "settings.json", keys: &["hooksDisabled"], off: true }],
        ..HostDifferences::NONE
    },
};
