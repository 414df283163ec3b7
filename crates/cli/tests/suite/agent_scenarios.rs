//! Scenarios of the built-in agent: folders in `tests/agent`, each with one promise.
//!
//! | file | holds |
//! |---|---|
//! | `about.md` | the promise, in its first line |
//! | `project/`, `home/` | files of the project and of the home folder |
//! | `model.yaml` | the model's turns; a real server sends them |
//! | `scenario.yaml` | how the agent is run: [`Scenario`] |
//! | `expected/` | what came of it; `HOOKWRIGHT_UPDATE=1` writes it |
//!
//! `HOOKWRIGHT_SCENARIO=NAME` runs the folders whose names contain NAME. In hooks, the program
//! `record NAME [VARIABLE…]` appends what it reads, and these variables, to `~/hooks.jsonl`.
//! `mcp-server [HOW…]` is an MCP server. A process whose id is in `~/*.pid` must have ended with the
//! agent.

mod normal;
mod requests;
mod subagents;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;
use similar::TextDiff;

use self::normal::Normal;
use self::requests::requests;
use self::subagents::SubagentTranscripts;
use crate::support::Sandbox;

/// The key that the agent has. It must not appear anywhere, nor in any file of the state folder: the
/// store, the journals, the records, the transcripts.
const KEY: &str = "sk-scenario-0123456789";

/// A scenario that takes longer hangs.
const SCENARIO_TIME_MAX: Duration = Duration::from_secs(120);

/// Contents of a longer file are not kept, only its size.
const FILE_BYTES_MAX: usize = 16 * 1024;

/// Every event and every field of an answer has a scenario, so there are at least so many.
const SCENARIOS_MIN: usize = 150;

/// Scenarios that run at once.
const AT_ONCE: usize = 4;

/// The program `record`.
const RECORD: &str = r#"#!/bin/sh
name=$1; shift
exec jq -c --arg name "$name" \
  '{hook: $name, stdin: .} + (if $ARGS.positional == [] then {} else
    {env: ([$ARGS.positional[] as $v | {($v): $ENV[$v]}] | add)} end)' \
  --args "$@" >> "$HOME/hooks.jsonl"
"#;

/// The program `mcp-server`; its arguments say how it misbehaves.
const MCP_SERVER: &str = include_str!("../../../agent/tests/mcp_server.sh");

/// `scenario.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// What comes behind `hookwright agent`.
    args: Vec<String>,
    /// Variables; null removes one. `$HOME`, `$SERVER` and `$HOST` (the server's address and port) in
    /// values are replaced.
    #[serde(default)]
    env: BTreeMap<String, Option<String>>,
    /// Standard input.
    stdin: Option<String>,
    /// Whether `hookwright trust --yes` runs first.
    #[serde(default = "yes")]
    trust: bool,
    /// Whether the model plays `model.yaml` without a server.
    #[serde(default)]
    scripted: bool,
    /// Whether the server is set up for chat completions.
    #[serde(default)]
    chat: bool,
    /// Runs in a terminal, and this is typed.
    terminal: Option<String>,
    /// Is interrupted when this file of the project exists.
    interrupt_when: Option<String>,
    /// The most bytes of any file that is written, as if the disk were full then.
    file_bytes_max: Option<u32>,
    /// A shell command that prepares the project.
    prepare: Option<String>,
    /// Whether the pieces of answers are kept in `stdout`.
    #[serde(default)]
    stream_events: bool,
    /// Whether the progress of hooks is kept in `stdout`. On a busy machine every hook may take long.
    #[serde(default)]
    hook_progress: bool,
    /// Whether the order of lines in `hooks.jsonl` is left open.
    #[serde(default)]
    sort_hooks: bool,
    /// What is compared beside the exit code; all of it without this.
    compare: Option<Vec<Part>>,
}

/// A part of what came of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Requests,
    Stdout,
    Stderr,
    Hooks,
    Transcript,
    Subagents,
    Files,
}

fn yes() -> bool {
    true
}

impl Part {
    const ALL: [Self; 7] = [
        Self::Requests,
        Self::Stdout,
        Self::Stderr,
        Self::Hooks,
        Self::Transcript,
        Self::Subagents,
        Self::Files,
    ];

    fn file(self) -> &'static str {
        match self {
            Part::Requests => "requests.json",
            Part::Stdout => "stdout",
            Part::Stderr => "stderr",
            Part::Hooks => "hooks.jsonl",
            Part::Transcript => "transcript.jsonl",
            Part::Subagents => "subagents.jsonl",
            Part::Files => "files",
        }
    }
}

#[test]
fn every_scenario_keeps_its_promise() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agent");
    let wanted = std::env::var("HOOKWRIGHT_SCENARIO").unwrap_or_default();
    let folders = fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> =
        folders.filter(|path| path.is_dir() && name(path).contains(&wanted)).collect();
    folders.sort();
    assert!(!folders.is_empty(), "no scenario is called {wanted}");
    let count = folders.len();
    assert!(!wanted.is_empty() || count >= SCENARIOS_MIN, "{count} scenarios");
    let (left, faults) = (Mutex::new(folders.into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(folder) = next(&left) {
                    let result = std::panic::catch_unwind(|| run(&folder));
                    let fault = match result {
                        Ok(Ok(())) => continue,
                        Ok(Err(fault)) => fault,
                        Err(panic) => panicked(&*panic),
                    };
                    faults.lock().unwrap().push(format!("{}: {fault}", name(&folder)));
                }
            });
        }
    });
    let mut faults = faults.into_inner().unwrap();
    faults.sort();
    assert!(faults.is_empty(), "{} of {count} failed\n{}", faults.len(), faults.join("\n"));
}

fn next(folders: &Mutex<std::vec::IntoIter<PathBuf>>) -> Option<PathBuf> {
    folders.lock().unwrap().next()
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

/// Runs a scenario and compares what came of it.
fn run(folder: &Path) -> Result<(), String> {
    let read =
        |file: &str| fs::read_to_string(folder.join(file)).map_err(|e| format!("{file}: {e}"));
    let about = read("about.md")?;
    if about.lines().next().unwrap_or_default().trim().is_empty() {
        return Err("about.md: the first line is the promise, and there is none".to_owned());
    }
    let scenario: Scenario = serde_saphyr::from_str(&read("scenario.yaml")?)
        .map_err(|error| format!("scenario.yaml: {error}"))?;
    let script = fs::read_to_string(folder.join("model.yaml")).unwrap_or_default();
    let parsed = if script.is_empty() {
        ModelScript::default()
    } else {
        ModelScript::parse(&script).map_err(|error| format!("model.yaml: {error}"))?
    };
    let server =
        ModelServer::start(ModelBehaviour::Script(parsed)).map_err(|error| error.to_string())?;
    let sandbox = prepared(folder, &scenario, &server);
    if scenario.trust {
        sandbox.run(&["trust", "--yes"]);
    }
    let (code, stdout, stderr) = agent(&sandbox, &scenario)?;
    if let Some(left) = process_left(&home(&sandbox)) {
        return Err(format!("the process of {} still runs", left.display()));
    }
    let transcript = transcript(&sandbox)?;
    let session = transcript.as_ref().map(|(session, _)| session.clone());
    let subagents = match &session {
        Some(session) => SubagentTranscripts::read(&transcripts(&sandbox).join(session))?,
        None => SubagentTranscripts::default(),
    };
    let normal = Normal {
        home: home(&sandbox).display().to_string(),
        session,
        name: session_name(&sandbox),
        server: server.url(),
        agents: subagents.ids(),
        stream_events: scenario.stream_events,
        hook_progress: scenario.hook_progress,
    };
    let recorded = fs::read_to_string(home(&sandbox).join("hooks.jsonl")).unwrap_or_default();
    let mut hooks = normal.lines(&recorded);
    if scenario.sort_hooks {
        let mut lines: Vec<&str> = hooks.lines().collect();
        lines.sort_unstable();
        hooks = lines.iter().map(|line| format!("{line}\n")).collect();
    }
    let actual = |part| match part {
        Part::Requests => requests(&server).map(|text| normal.text(&text)),
        Part::Stdout => Ok(normal.lines(&stdout)),
        Part::Stderr => Ok(normal.lines(&stderr)),
        Part::Hooks => Ok(hooks.clone()),
        Part::Transcript => {
            Ok(transcript.as_ref().map_or_else(String::new, |(_, text)| normal.lines(text)))
        }
        Part::Subagents => Ok(normal.lines(&subagents.text())),
        Part::Files => Ok(normal.text(&changed_files(folder, &sandbox))),
    };
    let mut parts = vec![("exit_code", format!("{code}\n"))];
    for part in Part::ALL {
        let text = actual(part)?;
        if text.contains(KEY) {
            return Err(format!("{} contains the key", part.file()));
        }
        if scenario.compare.as_ref().is_none_or(|wanted| wanted.contains(&part)) {
            parts.push((part.file(), text));
        }
    }
    let mut kept = BTreeMap::new();
    files_below(&home(&sandbox).join(".local/state"), Path::new(""), &mut kept);
    let has_key = |content: &[u8]| content.windows(KEY.len()).any(|part| part == KEY.as_bytes());
    if let Some((path, _)) = kept.iter().find(|(_, content)| has_key(content)) {
        return Err(format!("{} of the state folder contains the key", path.display()));
    }
    compare(&folder.join("expected"), &parts)
}

/// The generated name of the session, if there is one.
fn session_name(sandbox: &Sandbox) -> Option<String> {
    let listed = sandbox.run(&["sessions", "list", "--json"]);
    let list: Value = serde_json::from_str(&listed.stdout).ok()?;
    list["sessions"][0]["name"].as_str().map(str::to_owned)
}

/// The sandbox of a scenario, with its files and variables.
fn prepared(folder: &Path, scenario: &Scenario, server: &ModelServer) -> Sandbox {
    let sandbox =
        Sandbox::new().program("../bin/record", RECORD).program("../bin/mcp-server", MCP_SERVER);
    let home = home(&sandbox);
    for (from, to) in [("project", sandbox.path(".")), ("home", home.clone())] {
        let from = folder.join(from);
        if from.is_dir() {
            // Another process writes them, see `Sandbox::program`.
            let copied = Command::new("cp").arg("-R").arg(from.join(".")).arg(to).status().unwrap();
            assert!(copied.success(), "cannot copy {}", from.display());
        }
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut sandbox = sandbox.set("PATH", &format!("{}/bin:{path}", home.display()));
    if scenario.scripted {
        fs::copy(folder.join("model.yaml"), home.join("model.yaml")).unwrap();
    } else {
        let given = match scenario.chat {
            true => [
                ("OPENAI_BASE_URL", format!("{}/v1", server.url())),
                ("OPENAI_API_KEY", KEY.to_owned()),
            ],
            false => [("ANTHROPIC_BASE_URL", server.url()), ("ANTHROPIC_API_KEY", KEY.to_owned())],
        };
        for (name, value) in given {
            if !scenario.env.contains_key(name) {
                sandbox = sandbox.set(name, &value);
            }
        }
    }
    for (name, value) in &scenario.env {
        if let Some(value) = value {
            let value = value.replace("$HOME", &home.to_string_lossy());
            let value = value.replace("$SERVER", &server.url());
            let host = server.url().replace("http://", "");
            sandbox = sandbox.set(name, &value.replace("$HOST", &host));
        }
    }
    if let Some(prepare) = &scenario.prepare {
        let mut shell = Command::new("sh");
        shell.args(["-ec", prepare]).current_dir(sandbox.path(".")).env("HOME", &home);
        let done = shell.output().unwrap();
        assert!(done.status.success(), "prepare: {}", String::from_utf8_lossy(&done.stderr));
    }
    sandbox
}

fn home(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("..").canonicalize().unwrap()
}

/// A file `*.pid` whose process has not ended.
fn process_left(home: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(home).unwrap().map(|file| file.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|ending| ending == "pid"));
    files.find(|path| {
        let pid = fs::read_to_string(path).unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    })
}

/// Runs the agent: its exit code and what it prints.
fn agent(sandbox: &Sandbox, scenario: &Scenario) -> Result<(i32, String, String), String> {
    let mut arguments = vec!["agent".to_owned()];
    arguments.extend(scenario.args.iter().cloned());
    if scenario.scripted {
        let script = home(sandbox).join("model.yaml");
        arguments.extend(["--model".to_owned(), format!("scripted:{}", script.display())]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = sandbox.command(&arguments);
    if scenario.terminal.is_some() {
        command = in_terminal(&command);
    }
    if let Some(bytes) = scenario.file_bytes_max {
        command = with_short_files(&command, bytes);
    }
    let typed = scenario.terminal.as_ref().or(scenario.stdin.as_ref());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if typed.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let id = child.id();
    if let Some(typed) = typed {
        // An agent that does not read it has ended.
        drop(child.stdin.take().unwrap().write_all(typed.as_bytes()));
    }
    if let Some(file) = &scenario.interrupt_when {
        interrupt_when(&sandbox.path(file), &mut child)?;
    }
    let (done, is_done) = channel::<()>();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(SCENARIO_TIME_MAX) == Err(RecvTimeoutError::Timeout) {
                signal(id, Signal::KILL);
            }
        });
        let output = child.wait_with_output();
        drop(done);
        output
    });
    let output = output.map_err(|error| error.to_string())?;
    let code = output.status.code().ok_or("it was killed: it did not end in time")?;
    let text = |bytes| String::from_utf8(bytes).map_err(|_| "the output is not UTF-8".to_owned());
    Ok((code, text(output.stdout)?, text(output.stderr)?))
}

/// The command with a limit on the size of files. It gets an error, not a signal, like on a full disk.
fn with_short_files(command: &Command, bytes: u32) -> Command {
    let mut limited = Command::new("sh");
    // The shell counts blocks of 512 bytes.
    limited.args(["-c", r#"trap '' XFSZ; ulimit -f "$0"; exec "$@""#, &(bytes / 512).to_string()]);
    limited.arg(command.get_program()).args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(command.get_current_dir().unwrap());
    limited
}

/// The command with a terminal of its own; `script` gives it one.
pub(crate) fn in_terminal(command: &Command) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
    let line = words.collect::<Vec<_>>().join(" ");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env_clear().env("TERM", "dumb");
    script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    script.current_dir(command.get_current_dir().unwrap());
    script
}

fn interrupt_when(file: &Path, child: &mut Child) -> Result<(), String> {
    let began = Instant::now();
    while !file.exists() {
        let ended = child.try_wait().map_err(|error| error.to_string())?;
        if ended.is_some() || began.elapsed() > SCENARIO_TIME_MAX {
            return Err(format!("{} was never there", file.display()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(child.id(), Signal::INT);
    Ok(())
}

fn signal(id: u32, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    // A process that has ended meanwhile needs no signal.
    let _ = kill_process(id, signal);
}

fn transcripts(sandbox: &Sandbox) -> PathBuf {
    home(sandbox).join(".local/state/hookwright/transcripts")
}

/// Checks that every line of a transcript is whole.
fn check_lines(text: &str) -> Result<(), String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line of a transcript is half".to_owned());
    }
    for line in text.lines() {
        serde_json::from_str::<Value>(line).map_err(|error| format!("transcript: {error}"))?;
    }
    Ok(())
}

/// The session's id and its transcript, whose lines are whole.
fn transcript(sandbox: &Sandbox) -> Result<Option<(String, String)>, String> {
    let Ok(files) = fs::read_dir(transcripts(sandbox)) else { return Ok(None) };
    let files = files.map(|file| file.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    let [file] = &files[..] else { return Err(format!("{} transcripts", files.len())) };
    let text = fs::read_to_string(file).map_err(|error| format!("transcript: {error}"))?;
    check_lines(&text)?;
    Ok(Some((file.file_stem().unwrap().to_string_lossy().into_owned(), text)))
}

/// Files of the project that are not as the scenario has them.
fn changed_files(folder: &Path, sandbox: &Sandbox) -> String {
    let mut found = BTreeMap::new();
    files_below(&sandbox.path("."), Path::new(""), &mut found);
    let mut given = BTreeMap::new();
    files_below(&folder.join("project"), Path::new(""), &mut given);
    let mut text = String::new();
    for (path, content) in &found {
        if given.get(path) != Some(content) {
            let shown = match content {
                content if content.len() > FILE_BYTES_MAX => format!("({} bytes)", content.len()),
                content => String::from_utf8_lossy(content).into_owned(),
            };
            text.push_str(&format!("== {}\n{shown}\n", path.display()));
        }
    }
    for path in given.keys().filter(|path| !found.contains_key(*path)) {
        text.push_str(&format!("== {}\n(deleted)\n", path.display()));
    }
    text
}

fn files_below(root: &Path, inside: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(root.join(inside)) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let path = inside.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && path != Path::new(".git") {
            files_below(root, &path, found);
        } else if kind.is_file() {
            found.insert(path, fs::read(entry.path()).unwrap_or_default());
        }
    }
}

/// Compares with the files in `expected`, or writes them.
fn compare(expected: &Path, parts: &[(&str, String)]) -> Result<(), String> {
    let mut faults = Vec::new();
    let is_update = std::env::var_os("HOOKWRIGHT_UPDATE").is_some();
    if is_update {
        drop(fs::remove_dir_all(expected));
        fs::create_dir_all(expected).unwrap();
    } else if !expected.join("exit_code").exists() {
        return Err("expected/ is missing; HOOKWRIGHT_UPDATE=1 writes it".to_owned());
    }
    for (file, actual) in parts {
        let path = expected.join(file);
        let known = fs::read_to_string(&path).unwrap_or_default();
        if is_update && actual.is_empty() {
            continue;
        }
        if is_update {
            fs::write(&path, actual).unwrap();
        } else if known != *actual {
            let diff = TextDiff::from_lines(&known, actual);
            faults.push(format!("expected/{file} differs\n{}", diff.unified_diff()));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}
