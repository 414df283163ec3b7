//! [`run_setup`]: the command that recreates what git ignores in a new work tree.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::Secrets;
use hookwright_engine::limits::{KILL_GRACE, LINGER, OUTPUT_BYTES_MAX};
use hookwright_process::{Captured, How, Launch, OutputFilter, Stream, Watch};
use tokio_util::sync::CancellationToken;

use crate::limits::TREE_SETUP_TIMEOUT;

/// Why a work tree could not be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The command failed.
    #[error("`{command}` failed with exit code {code}{}", last_line(output))]
    Failed {
        /// The command.
        command: String,
        /// The exit code.
        code: i32,
        /// The last line that it printed.
        output: String,
    },
    /// It took too long.
    #[error("`{command}` took more than {} s", after.as_secs())]
    TookTooLong {
        /// The command.
        command: String,
        /// The limit.
        after: Duration,
    },
    /// It did not run, or did not end by itself.
    #[error("`{command}` {cause}")]
    NotRun {
        /// The command.
        command: String,
        /// Why.
        cause: String,
    },
}

/// Runs a shell command in a new work tree. `shows` gets its output as it comes, without secrets.
pub async fn run_setup(
    command: &str,
    folder: &Path,
    environment: &Arc<[(OsString, OsString)]>,
    secrets: &Secrets,
    shows: &mut (dyn FnMut(&str) + Send),
    cancel: &CancellationToken,
) -> Result<(), SetupError> {
    let launch = Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        shared_env: Arc::clone(environment),
        env: Vec::new(),
        working_dir: folder.to_owned(),
        stdin: Vec::new(),
        timeout: TREE_SETUP_TIMEOUT,
        kill_grace: KILL_GRACE,
        linger: LINGER,
        output_bytes_max: OUTPUT_BYTES_MAX,
        run_id: format!("setup-{}", std::process::id()),
    };
    let mut watch = ShowOutput { secrets, shows };
    let ended = hookwright_process::run(launch, &mut watch, cancel).await;
    let command = command.to_owned();
    let not_run = |cause: String| Err(SetupError::NotRun { command: command.clone(), cause });
    match ended.how {
        How::Exited { code: 0 } => Ok(()),
        How::Exited { code } => {
            let last = |output: &Captured| {
                let text = output.text();
                let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                lines.next_back().map(str::to_owned)
            };
            let output = last(&ended.stderr).or_else(|| last(&ended.stdout)).unwrap_or_default();
            Err(SetupError::Failed { command, code, output })
        }
        How::TimedOut { after } => Err(SetupError::TookTooLong { command, after }),
        How::Killed { signal } => not_run(format!("was killed by signal {signal}")),
        How::Cancelled => not_run("was interrupted".to_owned()),
        How::WantedTerminal => not_run("was stopped: it tried to read the terminal".to_owned()),
        How::NotStarted { cause } => not_run(format!("could not be started: {cause}")),
    }
}

fn last_line(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!(": {output}") }
}

struct ShowOutput<'a> {
    secrets: &'a Secrets,
    shows: &'a mut (dyn FnMut(&str) + Send),
}

impl Watch for ShowOutput<'_> {
    fn filter(&mut self, _stream: Stream) -> Option<Box<dyn OutputFilter>> {
        self.secrets.filter()
    }

    fn output(&mut self, _stream: Stream, bytes: &[u8]) -> Option<Duration> {
        (self.shows)(&String::from_utf8_lossy(bytes));
        None
    }
}
