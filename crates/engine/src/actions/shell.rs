//! The shell action: a command, the event as JSON on standard input, variables in the environment.
//!
//! The command's text goes to the shell as it is. What does not fit into an environment is put into
//! files that live as long as the command.

mod missing_script;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hookwright_events::{Outcome, Output, RunEventKind};
use hookwright_process::{Captured, Ended, How, Launch, Leader, StartFailure, Stream, Watch};

use super::{Attempt, News};
use crate::answer::{self, Reading};
use crate::chain::CHAIN_VARIABLE;
use crate::hook::Shell;
use crate::limits::{KILL_GRACE, LINGER, LINGER_AT_GUARDS, OUTPUT_BYTES_MAX};
use crate::variables::{ChildEnvironment, Environment, LeftOut, PREFIX, Variables};

/// The shell that runs a command unless its hook names another.
const SHELL: &str = "bash";

/// Bytes of a first line that may still be an `async` answer; a longer one is none.
const ASYNC_LINE_BYTES_MAX: usize = 4096;

/// Runs the command to its end.
pub(super) async fn run(
    attempt: &Attempt,
    shell: &Shell,
    news: &mut dyn News,
) -> (Outcome, Duration) {
    let around = &attempt.surroundings;
    let working_dir = match &shell.working_dir {
        None => around.root.clone(),
        Some(folder) => around.root.join(folder),
    };
    let name = shell.shell.as_deref().unwrap_or(SHELL);
    let Some(program) = around.shells.find(name, &around.environment, &working_dir) else {
        let advice = if name == SHELL { "; set shell: sh" } else { "" };
        return not_started(format!("shell `{name}` not found{advice}"));
    };
    let mut environment = ChildEnvironment::new(
        &Variables {
            event: &attempt.event,
            carried: &attempt.carried,
            environment: &around.environment,
        },
        shell.command.references(),
        &shell.env,
    );
    let files = match place_left_out(shell, &mut environment) {
        Ok(files) => files,
        Err(cause) => return not_started(cause),
    };
    let chain = attempt.chain.with(&attempt.event.name, &attempt.hook.id);
    environment.set(CHAIN_VARIABLE, chain.to_text());
    environment.set("HOOKWRIGHT_HOOK", &attempt.hook.id);
    environment.set("HOOKWRIGHT_ATTEMPT", attempt.number.to_string());
    let guards = attempt.power.can_block() && attempt.terms.awaited;
    let launch = Launch {
        program,
        args: vec![OsString::from("-c"), shell.command.for_shell().into()],
        shared_env: environment.inherited,
        env: environment.strings,
        working_dir,
        stdin: attempt
            .policy
            .wire
            .input(&attempt.event, &attempt.hook.id, attempt.number)
            .into_bytes(),
        timeout: attempt.terms.timeout,
        kill_grace: shell.kill_grace.unwrap_or(KILL_GRACE),
        linger: if guards { LINGER_AT_GUARDS } else { LINGER },
        output_bytes_max: OUTPUT_BYTES_MAX,
        run_id: attempt.run_id.clone(),
    };
    let folder = launch.working_dir.clone();
    let slot = tokio::select! {
        slot = around.slots.take(attempt.terms.awaited) => slot,
        () = attempt.cancel.cancelled() => {
            return (Outcome::Interrupted { output: Output::default() }, Duration::ZERO);
        }
    };
    let mut watching = Watching {
        attempt,
        news,
        first_line: attempt.terms.awaited.then(Vec::new),
        went_async: false,
    };
    let ended = hookwright_process::run(launch, &mut watching, &attempt.cancel).await;
    drop((slot, files));
    let took = ended.duration;
    (outcome_of(ended, shell, &folder), took)
}

fn not_started(cause: String) -> (Outcome, Duration) {
    (Outcome::NotStarted { cause }, Duration::ZERO)
}

/// Puts what did not fit into files, and names them in the environment.
fn place_left_out(
    shell: &Shell,
    environment: &mut ChildEnvironment,
) -> Result<Option<tempfile::TempDir>, String> {
    let left_out = std::mem::take(&mut environment.left_out);
    if left_out.is_empty() {
        return Ok(None);
    }
    for left in &left_out {
        let prefixed = format!("{PREFIX}{}", left.name);
        if shell.command.names(&left.name) || shell.command.names(&prefixed) {
            return Err(too_large(left));
        }
    }
    let write = || -> std::io::Result<tempfile::TempDir> {
        let folder = tempfile::Builder::new().prefix("hookwright-").tempdir()?;
        for left in &left_out {
            std::fs::write(folder.path().join(&left.name), &left.value)?;
        }
        Ok(folder)
    };
    let folder =
        write().map_err(|error| format!("a value cannot be written to a file: {error}"))?;
    for left in &left_out {
        let path = folder.path().join(&left.name);
        environment.set(format!("{}_FILE", left.name), &path);
        environment.set(format!("{PREFIX}{}_FILE", left.name), &path);
    }
    Ok(Some(folder))
}

fn too_large(left: &LeftOut) -> String {
    let (shown_as, bytes) = (&left.shown_as, left.value.len());
    let why = if left.value.contains('\0') {
        "holds a NUL byte, which no environment can".to_owned()
    } else {
        format!("has {bytes} bytes, too many for an environment")
    };
    let file = if left.name == left.shown_as {
        format!(", or from the file that `${{{}_FILE}}` names", left.name)
    } else {
        String::new()
    };
    format!("`${{{shown_as}}}` {why}; read it from the JSON on standard input{file}")
}

fn outcome_of(ended: Ended, shell: &Shell, folder: &Path) -> Outcome {
    let output = Output {
        stdout: ended.stdout.text().into_owned(),
        stderr: ended.stderr.text().into_owned(),
        stdout_left_out: ended.stdout.left_out(),
        stderr_left_out: ended.stderr.left_out(),
        held: ended.output_held,
    };
    match ended.how {
        // An interpreter that cannot open its script exits with 2, which must not pass for a block.
        How::Exited { code: 2 } => match missing_script::find(shell.command.for_shell(), folder) {
            Some(script) => {
                Outcome::NotStarted { cause: format!("script `{script}` does not exist") }
            }
            None => Outcome::Exited { code: 2, output },
        },
        How::Exited { code } => Outcome::Exited { code, output },
        How::Killed { signal } => Outcome::Killed { signal, output },
        How::TimedOut { after } => {
            let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            Outcome::TimedOut { after_ms, output }
        }
        How::Cancelled => Outcome::Interrupted { output },
        How::WantedTerminal => Outcome::WantedTerminal { output },
        How::NotStarted { cause } => Outcome::NotStarted { cause: say(&cause) },
    }
}

fn say(failure: &StartFailure) -> String {
    match failure {
        StartFailure::TooBig { .. } => {
            "command and environment together are larger than the system allows".to_owned()
        }
        other => other.to_string(),
    }
}

/// Looks on while the command runs: the first line may turn it into a background one.
struct Watching<'a> {
    attempt: &'a Attempt,
    news: &'a mut dyn News,
    /// What has come of the first line; `None` once it is known not to matter.
    first_line: Option<Vec<u8>>,
    went_async: bool,
}

impl Watch for Watching<'_> {
    fn started(&mut self, leader: &Leader) {
        if self.news.wants_details() {
            self.news.tell(RunEventKind::HookRunning {
                hook: self.attempt.hook.id.clone(),
                pid: leader.pid,
                start_time: leader.start_time(),
                run_id: self.attempt.run_id.clone(),
            });
        }
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        if self.news.wants_details() {
            let (hook, text) = (self.attempt.hook.id.clone(), String::from_utf8_lossy(bytes));
            let stream = match stream {
                Stream::Stdout => "stdout",
                Stream::Stderr => "stderr",
            };
            let (stream, text) = (stream.to_owned(), text.into_owned());
            self.news.tell(RunEventKind::HookOutput { hook, stream, text });
        }
        if stream == Stream::Stderr {
            return None;
        }
        let line = self.first_line.as_mut()?;
        line.extend_from_slice(&bytes[..bytes.len().min(ASYNC_LINE_BYTES_MAX)]);
        let end = line.iter().position(|byte| *byte == b'\n');
        let text = std::str::from_utf8(&line[..end.unwrap_or(line.len())]).unwrap_or_default();
        let more_time = answer::async_for(text);
        if more_time.is_some() {
            self.went_async = true;
            self.news.went_async();
        }
        if more_time.is_some() || end.is_some() || line.len() >= ASYNC_LINE_BYTES_MAX {
            self.first_line = None;
        }
        more_time
    }

    fn enough(&mut self, stdout: &Captured) -> bool {
        let read = answer::read(&stdout.text(), stdout.is_whole(), &self.attempt.event.name);
        !self.went_async && matches!(read, Reading::Whole(_) | Reading::Among(_))
    }
}

/// Shells that were found, so that `PATH` is searched once.
#[derive(Debug, Default)]
pub(crate) struct Shells {
    found: Mutex<HashMap<String, PathBuf>>,
}

impl Shells {
    fn find(&self, name: &str, environment: &Environment, folder: &Path) -> Option<PathBuf> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = found.get(name) {
            return Some(path.clone());
        }
        let path = environment.get("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        let program = hookwright_process::find_program(OsStr::new(name), path, folder)?;
        // A relative one depends on the folder, so it is looked for each time.
        if program.is_absolute() && !name.contains('/') {
            found.insert(name.to_owned(), program.clone());
        }
        Some(program)
    }
}
