//! Runs shell text for one turn. The command agent and the action `run` of a script share this;
//! presets share the start of a program.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::process_outcome::{process_outcome, say_start_failure};
use hookwright_events::ProcessOutcome;
use hookwright_process::{Ended, Launch, Leader, StartFailure, Stream, Watch, find_program};
use tokio_util::sync::CancellationToken;

use crate::agent::{AgentWatch, Turn, TurnEnd};
use crate::limits::{AGENT_KILL_GRACE, AGENT_LINGER, AGENT_OUTPUT_BYTES_MAX};

/// The shells to run it with; the first one that exists is used.
const SHELLS: &[&str] = &["bash", "sh"];

/// Where shells are searched for if the environment has no `PATH`.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What to run.
pub struct ShellRun<'a> {
    /// For the shell, as it is.
    pub text: &'a str,
    /// What the text finds as `$1`.
    pub argument: Option<String>,
    /// Standard input.
    pub stdin: Vec<u8>,
    /// The longest duration of the run.
    pub timeout: Duration,
}

/// Runs it to its end, in the turn's folder and environment.
pub async fn run(
    turn: &Turn,
    what: ShellRun<'_>,
    watch: &mut dyn AgentWatch,
    cancel: &CancellationToken,
) -> TurnEnd {
    let Some((name, program)) = shell(turn) else {
        return not_started("neither `bash` nor `sh` was found in PATH".to_owned());
    };
    let has_argument = what.argument.is_some();
    let args = arguments(name, what.text, what.argument);
    let launch = Launch { timeout: what.timeout, ..launch(turn, program, args, what.stdin) };
    let ended = hookwright_process::run(launch, &mut Passing(watch), cancel).await;
    TurnEnd { took: ended.duration, outcome: outcome_of(ended, has_argument), report: None }
}

/// A program in the turn's folder and environment.
pub(crate) fn launch(turn: &Turn, program: PathBuf, args: Vec<OsString>, stdin: Vec<u8>) -> Launch {
    Launch {
        program,
        args,
        shared_env: Arc::clone(&turn.shared_env),
        env: turn.env.clone(),
        working_dir: turn.working_dir.clone(),
        stdin,
        timeout: turn.timeout,
        kill_grace: AGENT_KILL_GRACE,
        linger: AGENT_LINGER,
        output_bytes_max: AGENT_OUTPUT_BYTES_MAX,
        run_id: turn.run_id.clone(),
    }
}

pub(crate) fn not_started(cause: String) -> TurnEnd {
    TurnEnd { outcome: ProcessOutcome::NotStarted { cause }, took: Duration::ZERO, report: None }
}

fn shell(turn: &Turn) -> Option<(&'static str, PathBuf)> {
    SHELLS.iter().find_map(|name| Some((*name, program(turn, name)?)))
}

/// The path of this program in the turn's environment.
pub(crate) fn program(turn: &Turn, name: &str) -> Option<PathBuf> {
    let path = turn.env("PATH").unwrap_or(OsStr::new(PATH));
    find_program(OsStr::new(name), path, &turn.working_dir)
}

/// Keeps a text that begins with a dash from being read as options of the shell. The argument comes
/// after `$0`, so that no shell reads it as an option either.
fn arguments(shell: &str, text: &str, argument: Option<String>) -> Vec<OsString> {
    let guard = text.starts_with(['-', '+']).then_some("--");
    let mut arguments: Vec<OsString> =
        ["-c"].into_iter().chain(guard).chain([text]).map(OsString::from).collect();
    if let Some(argument) = argument {
        arguments.extend([OsString::from(shell), OsString::from(argument)]);
    }
    arguments
}

/// How an agent's process ended.
pub(super) fn outcome_of(ended: Ended, has_argument: bool) -> ProcessOutcome {
    process_outcome(ended, |failure| match failure {
        StartFailure::TooBig { .. } if has_argument => {
            "prompt and environment together are larger than the system allows; use prompt: stdin"
                .to_owned()
        }
        failure => say_start_failure(failure),
    })
}

/// Passes on what the process does.
struct Passing<'a>(&'a mut dyn AgentWatch);

impl Watch for Passing<'_> {
    fn started(&mut self, leader: &Leader) {
        self.0.running(leader);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        self.0.output(stream, bytes);
        None
    }
}
