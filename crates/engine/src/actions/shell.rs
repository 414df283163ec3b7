//! The shell action: a command, the event as JSON on standard input, variables in the environment.
//!
//! The command's text goes to the shell unchanged. Values that do not fit into an environment are
//! put into files that live as long as the command.

mod exec;
mod missing_script;
mod shells;
mod watching;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{Outcome, Output, ProcessOutcome};
use hookwright_process::{How, Launch};

pub(crate) use shells::Shells;
use watching::ShellWatch;

use super::child_news::RedactOnly;
use super::{ActionNews, HookAttempt};
use crate::chain::CHAIN_VARIABLE;
use crate::hook::Shell;
use crate::limits::{KILL_GRACE, LINGER, LINGER_AT_GUARDS, OUTPUT_BYTES_MAX};
use crate::policy::WireInput;
use crate::process_outcome::{process_outcome, say_start_failure};
use crate::template::{Filled, ValueWriting};
use crate::variables::{ChildEnvironment, Environment, LeftOut, OfDialect, PREFIX};

/// How long a shell may take to parse a command without running it.
const READING_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn run(
    attempt: &HookAttempt,
    shell: &Shell,
    news: &mut dyn ActionNews,
) -> (Outcome, Duration) {
    let around = &attempt.surroundings;
    let working_dir = working_dir(attempt, shell);
    let reader = attempt.reader();
    let input = attempt.policy.wire.input(&reader);
    let command = shell.command.filled(attempt.policy.wire, &attempt.event);
    let found = match &shell.exec {
        None => in_shell(attempt, shell, &working_dir, &command.text),
        Some(words) => exec::program(attempt, words, &working_dir, &input.variables),
    };
    let (program, args) = match found {
        Ok(found) => found,
        Err(cause) => return not_started(cause),
    };
    let set_by_author = match author_env(attempt, shell) {
        Ok(strings) => strings,
        Err(cause) => return not_started(cause),
    };
    let mut environment = ChildEnvironment::new(
        &attempt.variables(),
        shell.command.references(),
        &of_dialect(&input, shell, &command),
        &set_by_author,
    );
    let files = match place_left_out(shell, &input, &mut environment, &around.environment) {
        Ok(files) => files,
        Err(cause) => return not_started(cause),
    };
    environment.set(CHAIN_VARIABLE, attempt.chain_below().to_text());
    environment.set("HOOKWRIGHT_HOOK", &attempt.hook.id);
    environment.set("HOOKWRIGHT_ATTEMPT", attempt.number.to_string());
    let guards = attempt.power.can_block() && attempt.terms.awaited;
    let launch = Launch {
        program,
        args,
        shared_env: environment.inherited,
        env: environment.strings,
        working_dir,
        stdin: input.stdin.into_bytes(),
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
            return (Outcome::Process(ProcessOutcome::Interrupted { output: Output::default() }), Duration::ZERO);
        }
    };
    let mut watching = ShellWatch::new(attempt, news, slot);
    let (program, shared_env) = (launch.program.clone(), Arc::clone(&launch.shared_env));
    let ended = hookwright_process::run(launch, &mut watching, &attempt.cancel).await;
    drop((watching, files));
    let took = ended.duration;
    let outcome: Outcome = process_outcome(ended, say_start_failure).into();
    if !attempt.policy.looks_behind_exit_2 {
        return (outcome, took);
    }
    let outcome = with_missing_script(outcome, &command.text, &folder);
    if shell.exec.is_none() && looks_like_a_syntax_error(&outcome) {
        let reading = Launch {
            program,
            args: arguments(&command.text, &["-n", "-c"]),
            shared_env,
            env: Vec::new(),
            working_dir: folder,
            stdin: Vec::new(),
            timeout: READING_TIMEOUT,
            kill_grace: Duration::ZERO,
            linger: LINGER,
            output_bytes_max: OUTPUT_BYTES_MAX,
            run_id: format!("{}-read", attempt.run_id),
        };
        let read =
            hookwright_process::run(reading, &mut RedactOnly(&around.secrets), &attempt.cancel)
                .await;
        // The message must be the same: a shell without `-n` fails too, and so does `shopt -s
        // extglob`.
        let complaint = read.stderr.text();
        let complaint = complaint.lines().next().unwrap_or_default();
        let same = !complaint.is_empty()
            && outcome.output().is_some_and(|output| output.stderr.contains(complaint));
        if !same || !matches!(read.how, How::Exited { code } if code != 0) {
            return (outcome, took);
        }
        let cause = "the shell cannot parse the command (syntax error)".to_owned();
        return (Outcome::Process(ProcessOutcome::NotStarted { cause }), took);
    }
    (outcome, took)
}

/// The working directory: the configured one, else the dialect's, else the project root.
fn working_dir(attempt: &HookAttempt, shell: &Shell) -> PathBuf {
    let root = &attempt.surroundings.root;
    match &shell.working_dir {
        Some(folder) => root.join(folder),
        None => {
            let of_dialect = attempt.policy.wire.working_dir(&attempt.event);
            let folder = of_dialect.map(|folder| root.join(folder)).filter(|path| path.is_dir());
            folder.unwrap_or_else(|| root.clone())
        }
    }
}

/// The shell and its arguments.
fn in_shell(
    attempt: &HookAttempt,
    shell: &Shell,
    working_dir: &Path,
    text: &str,
) -> Result<(PathBuf, Vec<OsString>), String> {
    let around = &attempt.surroundings;
    let named = shell.shell.as_deref();
    let names = named.as_slice();
    let names = if names.is_empty() { attempt.policy.shells } else { names };
    let find = |name: &&str| around.shells.find(name, &around.environment, working_dir);
    match names.iter().find_map(find) {
        Some(program) => Ok((program, arguments(text, &["-c"]))),
        None => {
            let advice = if named.is_none() { "; set shell: sh" } else { "" };
            Err(format!("shell `{}` not found{advice}", names.join("` or `")))
        }
    }
}

/// What the configuration adds to the environment: the secrets that the command names, and `env`.
fn author_env(attempt: &HookAttempt, shell: &Shell) -> Result<Vec<(String, String)>, String> {
    let filling = attempt.filling();
    let secrets = filling.secrets;
    let named = secrets.names().filter(|name| shell.command.mentions(name));
    let mut strings: Vec<(String, String)> =
        named.filter_map(|name| Some((name.to_owned(), secrets.get(name)?.to_owned()))).collect();
    for (name, template) in &shell.env {
        let value = template
            .fill(&filling, ValueWriting::Plain)
            .and_then(|filled| filled.reveal(secrets))
            .map_err(|error| error.within(&format!("`env: {name}`")))?;
        if value.contains('\0') {
            return Err(format!("the value of `env: {name}` contains a NUL byte"));
        }
        strings.push((name.clone(), value));
    }
    Ok(strings)
}

/// What the hook's dialect adds to the environment: its own variables, and values of `{{x}}`.
fn of_dialect<'a>(
    input: &'a WireInput,
    shell: &Shell,
    command: &'a Filled<'_>,
) -> Vec<OfDialect<'a>> {
    let theirs =
        input.variables.iter().map(|(name, value)| OfDialect { name, shown_as: None, value });
    let placed = command.environment.iter().map(|(generated, value)| OfDialect {
        name: generated,
        shown_as: shell.command.template_of(generated).map(|name| format!("{{{{{name}}}}}")),
        value,
    });
    theirs.chain(placed).collect()
}

/// Keeps a text that begins with a dash from being read as options of the shell.
fn arguments(text: &str, before: &[&str]) -> Vec<OsString> {
    let guard = text.starts_with(['-', '+']).then_some("--");
    before.iter().copied().chain(guard).chain([text]).map(OsString::from).collect()
}

/// Shells exit with 2 for a syntax error, as a hook does that blocks on purpose. Only the shell
/// itself can tell, so it is then asked to parse the command without running it.
fn looks_like_a_syntax_error(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Process(ProcessOutcome::Exited { code: 2, output })
        if output.stdout.is_empty() && output.stderr.contains("yntax error"))
}

fn not_started(cause: String) -> (Outcome, Duration) {
    (Outcome::Process(ProcessOutcome::NotStarted { cause }), Duration::ZERO)
}

/// Puts values that did not fit into files, and names the files in the environment.
fn place_left_out(
    shell: &Shell,
    input: &WireInput,
    environment: &mut ChildEnvironment,
    host: &Environment,
) -> Result<Option<tempfile::TempDir>, String> {
    for left in &environment.left_out {
        let prefixed = format!("{PREFIX}{}", left.name);
        let placed = shell.command.template_of(&left.name).is_some();
        if placed || shell.command.names(&left.name) || shell.command.names(&prefixed) {
            return Err(too_large(left, input));
        }
    }
    let placed = environment.place_left_out(host);
    placed.map_err(|error| format!("a value cannot be written to a file: {error}"))
}

fn too_large(left: &LeftOut, input: &WireInput) -> String {
    let (shown_as, bytes) = (&left.shown_as, left.value.len());
    let is_variable = *shown_as == format!("${{{}}}", left.name);
    let why = if left.value.contains('\0') {
        "contains a NUL byte, which no environment variable can hold".to_owned()
    } else {
        format!("has {bytes} bytes, too many for an environment variable")
    };
    let stdin = (!input.stdin.is_empty()).then(|| "the JSON on standard input".to_owned());
    let file = is_variable.then(|| format!("the file that `${{{}_FILE}}` names", left.name));
    let places: Vec<String> = stdin.into_iter().chain(file).collect();
    match places.is_empty() {
        true => format!("`{shown_as}` {why}"),
        false => format!("`{shown_as}` {why}; read it from {}", places.join(", or from ")),
    }
}

/// An interpreter that cannot open its script exits with 2, which must not count as a block.
fn with_missing_script(outcome: Outcome, command: &str, folder: &Path) -> Outcome {
    let Outcome::Process(ProcessOutcome::Exited { code: 2, output }) = &outcome else {
        return outcome;
    };
    match missing_script::find(command, folder, &output.stdout, &output.stderr) {
        Some(script) => Outcome::Process(ProcessOutcome::NotStarted {
            cause: format!("script `{script}` does not exist"),
        }),
        None => outcome,
    }
}
