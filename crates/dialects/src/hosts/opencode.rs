//! opencode as a host: our plugin in it calls `hookwright hook opencode`.
//!
//! Written from recordings of opencode 1.18.33 (`crates/dialects/tests/hosts/opencode`).

mod call;
pub mod capabilities;
mod offline;
mod reply;
mod settings;

use super::limits::LEAST_PATIENCE;
use super::{Host, HostDifferences, HostProgram, ProgramVersion, StartFolder};

/// opencode.
pub static HOST: Host = Host {
    name: "opencode",
    display_name: "opencode",
    command: "hookwright hook opencode",
    page: "docs/opencode.md",
    program: HostProgram {
        name: "opencode",
        package: "opencode-ai",
        measured: ProgramVersion::new(1, 18, 33),
        missing_before: None,
    },
    capabilities: capabilities::ALL,
    marks: &[settings::MARK],
    own_variables: &["OPENCODE_*", settings::MARK],
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
        is_own_file: |_, text| settings::is_ours(text),
        load_check: |file| Some(settings::load_check(&file.text)),
        cautions: &[
            "`opencode --pure` and OPENCODE_PURE run without plugins, so without your hooks",
        ],
        ..HostDifferences::NONE
    },
};
