//! What to run and under which limits, and the marker of every process of a run.
//!
//! Plain data: nothing here touches the system. `start.rs` turns it into a child.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The environment variable that names the runs of a process, outermost first: `outer:inner`.
pub const MARKER: &str = "HOOKWRIGHT_RUN";

/// What to run and under which limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Absolute, or relative to `working_dir`. It is never searched in `PATH`; see
    /// [`find_program`](crate::find_program).
    pub program: PathBuf,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The part of the environment that all runs of a host share, so that it need not be copied for
    /// each.
    pub shared_env: Arc<[(OsString, OsString)]>,
    /// The rest of the environment, which overrides the shared part; nothing else is inherited.
    /// `run` adds the marker, after one that may be here already.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub working_dir: PathBuf,
    /// Written to standard input, which is then closed. The child need not read it.
    pub stdin: Vec<u8>,
    /// How long the leader may run, counted from its start.
    pub timeout: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
    /// How long to wait for the end of output after the leader's end.
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
