//! What to run and under which limits, and the marker every process of a run carries.
//!
//! Plain data: nothing here touches the system. `start.rs` turns it into a child.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The environment variable that names the runs a process belongs to, outermost first: `outer:inner`.
pub const MARKER: &str = "HOOKWRIGHT_RUN";

/// What to run and under which limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Absolute, or relative to `working_dir`. It is never looked for in `PATH`; see
    /// [`find_program`](crate::find_program).
    pub program: PathBuf,
    /// What follows the program's name.
    pub args: Vec<OsString>,
    /// What every run of a host has in common of its environment, so that it need not be copied for
    /// each.
    pub shared_env: Arc<[(OsString, OsString)]>,
    /// The rest of the environment, which stands on top of that; nothing else is inherited. `run`
    /// adds the marker, behind the one that may
    /// stand here already.
    pub env: Vec<(OsString, OsString)>,
    /// Where the program runs.
    pub working_dir: PathBuf,
    /// Written to standard input, which is then closed. A child that does not read it is fine.
    pub stdin: Vec<u8>,
    /// How long the leader may run, counted from its start.
    pub timeout: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
    /// After the leader's end: how long to wait for the end of output.
    pub linger: Duration,
    /// Bytes kept of each stream: the first and the last half. The middle is counted, not stored.
    pub output_bytes_max: usize,
    /// The unique name of this run, and the marker's value.
    pub run_id: String,
}

impl Launch {
    /// The marker's value for the child: a run inside a run is found by either name.
    pub(crate) fn marker(&self) -> OsString {
        let strings = self.env.iter().rev().chain(self.shared_env.iter().rev());
        let outer = strings.into_iter().find(|(name, _)| name == MARKER).map(|(_, value)| value);
        match outer {
            Some(outer) if !outer.is_empty() => {
                let mut chain = outer.clone();
                chain.push(":");
                chain.push(&self.run_id);
                chain
            }
            Some(_) | None => OsString::from(&self.run_id),
        }
    }
}
