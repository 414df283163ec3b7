//! Checks that a plugin loads before it is written: an agent that cannot load one says nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts::{Host, HostFile};
use hookwright_process::{How, Launch, find_program};
use tokio_util::sync::CancellationToken;

use super::limits::{KILL_GRACE, PLUGIN_WAIT_MAX, STDERR_BYTES_MAX};
use crate::error::{ConnectFailure, Failure};
use crate::host::runtime;

/// The program that loads it.
const NODE: &str = "node";

/// Whether the plugin was checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PluginCheck {
    /// The file is no plugin, or it loads.
    Passed,
    /// Node is not installed.
    NoNode,
}

/// Loads the file as the agent would, if it is a plugin.
pub(super) fn check(host: &Host, file: &HostFile, path: &OsStr) -> Result<PluginCheck, Failure> {
    let Some(script) = host.load_check(file) else { return Ok(PluginCheck::Passed) };
    let Some(node) = find_program(OsStr::new(NODE), path, Path::new("/")) else {
        return Ok(PluginCheck::NoNode);
    };
    let launch = Launch {
        program: node,
        args: ["--input-type=module", "-"].map(OsString::from).into(),
        // Options of Node could load something else first.
        shared_env: std::env::vars_os().filter(|(name, _)| name != "NODE_OPTIONS").collect(),
        env: Vec::new(),
        working_dir: PathBuf::from("/"),
        stdin: script.into_bytes(),
        timeout: PLUGIN_WAIT_MAX,
        kill_grace: KILL_GRACE,
        linger: KILL_GRACE,
        output_bytes_max: STDERR_BYTES_MAX,
        run_id: format!("plugin-{}", std::process::id()),
    };
    let cancel = CancellationToken::new();
    let ended = runtime()?.block_on(hookwright_process::run(launch, &mut (), &cancel));
    let cause = match ended.how {
        How::Exited { code: 0 } => return Ok(PluginCheck::Passed),
        How::TimedOut { .. } => "it did not load in time".to_owned(),
        How::NotStarted { cause } => cause.to_string(),
        How::Exited { .. } | How::Killed { .. } | How::Cancelled | How::WantedTerminal => {
            let said = ended.stderr.text();
            let line = said.lines().find(|line| line.contains("Error"));
            line.unwrap_or("it does not load").to_owned()
        }
    };
    let agent = host.display_name;
    Err(Failure::Connect(ConnectFailure::PluginFails { agent, cause }))
}
