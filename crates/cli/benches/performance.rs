//! The cost of Hookwright, as ratios and differences within one run on one machine.
//!
//! The measured thing (B) is interleaved with its lower bound (A) and a second run of it (A').
//! Results are the medians of paired ratios and differences; a run whose A/A' is outside 0.97–1.03
//! is void and repeated. Method, targets and figures: `docs/performance.md`.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

#[path = "performance/bare_spawn.rs"]
mod bare_spawn;
#[path = "performance/compared.rs"]
mod compared;
#[path = "performance/every_host.rs"]
mod every_host;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hookwright_config::{ConfigFile, load_text};
use hookwright_engine::hook::Layer;
use hookwright_engine::policy::{Wire, WireReader};
use hookwright_engine::variables::{Carried, ChildEnvironment, Environment, Variables};
use hookwright_engine::{Answer, Engine, Firing, Hook, NativeWire, Setup};
use hookwright_events::{Event, EventName, SessionStatus, TaskId};
use hookwright_pipeline::record::SessionRecord;
use hookwright_store::{
    Commit, Expected, KeptTasks, Kind, NewTask, Put, RecordKey, SqliteStore, Store,
};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use bare_spawn::BareSpawn;
use compared::{compare, median};

const ROUNDS: usize = 600;

/// The program as installed: a copy. A linker writes its file page by page, and the system then
/// caches it in single pages, which takes longer to map than a copied file.
fn installed() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
        std::fs::create_dir_all(&folder).unwrap();
        // `connect` writes no program of another name into settings.
        let program = folder.join("hookwright");
        let _ = std::fs::remove_file(&program);
        let built = Path::new(env!("CARGO_BIN_EXE_hookwright"));
        let copied = Command::new("cp").args([built, &program]).status();
        assert!(copied.unwrap().success());
        program
    })
}

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let rounds = if std::env::args().any(|arg| arg == "--test") { 3 } else { ROUNDS };
    let folder = tempfile::tempdir().unwrap();
    if std::env::args().any(|arg| arg == INSIDE_AGENT) {
        let home = std::env::home_dir().unwrap();
        // `-- hosts` measures every host, `-- hook` Claude Code with more kinds of hooks.
        if !std::env::args().any(|arg| arg == "hook") {
            every_host::calls_of_every_host(&std::fs::canonicalize(&home).unwrap(), rounds);
        }
        if !std::env::args().any(|arg| arg == "hosts") {
            call_of_an_agent(&home, rounds);
        }
        return;
    }
    // `cargo bench --bench performance -- hook` measures that part alone; the other names work
    // alike.
    if std::env::args().any(|arg| arg == "shell") {
        return awaited_shell_hook(folder.path(), rounds);
    }
    if std::env::args().any(|arg| arg == "hook" || arg == "hosts") {
        return as_an_agent(folder.path());
    }
    if std::env::args().any(|arg| arg == "tasks") {
        return list_of_ten_thousand_tasks(rounds / 10);
    }
    if std::env::args().any(|arg| arg == "connect") {
        return connecting(tempfile::tempdir().unwrap().path(), rounds / 6);
    }
    awaited_shell_hook(folder.path(), rounds);
    whole_process(folder.path(), rounds);
    // In its own folder: a hook file above it would be found, and is not trusted.
    as_an_agent(tempfile::tempdir().unwrap().path());
    connecting(tempfile::tempdir().unwrap().path(), rounds / 6);
    dispatch_of_none(rounds);
    dispatch_of_one(rounds);
    memory_of_ten_thousand(folder.path());
    list_of_ten_thousand_sessions(folder.path(), rounds / 10);
    list_of_ten_thousand_tasks(rounds / 10);
}

fn awaited_shell_hook(folder: &Path, rounds: usize) {
    let runtime = runtime();
    let engine = engine("hooks: {tool:pre_execute: [{command: 'true'}]}", folder);
    let floor = Floor::new(folder);
    let bare = floor.bare();
    let ours = || {
        let fired = runtime.block_on(engine.fire(tool_event("bash"), Firing::default()));
        assert_eq!(fired.reports[0].exit_code, Some(0));
    };
    compare(rounds, || bare.run(), ours).print(
        "one awaited shell hook through the engine, beside a bare `posix_spawn`",
        "at most 1.10",
    );
    compare(rounds, || floor.run(), ours)
        .print("the same beside a spawn by the standard library", "at most 1.10 and 0.2 ms");
}

fn whole_process(folder: &Path, rounds: usize) {
    let floor = Floor::new(folder);
    std::fs::write(
        folder.join("hookwright.yaml"),
        "hooks: {tool:pre_execute: [{command: 'true'}]}\n",
    )
    .unwrap();
    let data = Value::Object(tool_event("bash").data).to_string();
    let compared = compare(
        rounds,
        || floor.run(),
        || {
            let status = Command::new(installed())
                .args(["fire", "tool:pre_execute", "--data", &data, "--json"])
                .current_dir(folder)
                .env_clear()
                .envs(base_environment())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
        },
    );
    compared.print(
        "`hookwright fire` of one shell hook as a whole process, beside a bare spawn",
        "at most 3 ms more",
    );
}

/// The argument that makes this program act as the agent whose hooks are measured.
const INSIDE_AGENT: &str = "inside-agent";

/// Starts a copy of this program as an agent with its own home directory: the environment in which an
/// agent was started decides where hooks are found. An agent whose parent runs the same program counts
/// as a helper of that parent, so it has to be a copy.
fn as_an_agent(home: &Path) {
    let copy = home.join("agent-program");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let mut agent = Command::new(copy);
    agent.args(std::env::args().skip(1)).arg(INSIDE_AGENT).env("HOME", home);
    assert!(agent.status().unwrap().success());
}

/// `hook claude` as an agent's settings call it, compared with an empty process that gets the same
/// input. The first two run no hooks, whose cost is measured above.
fn call_of_an_agent(home: &Path, rounds: usize) {
    let home = std::fs::canonicalize(home).unwrap();
    let folder = home.join("agent");
    std::fs::create_dir_all(&folder).unwrap();
    let event = json!({
        "session_id": "0e98f192-e478-454c-8d26-2f247dd22f2a", "transcript_path": "/t",
        "cwd": folder, "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "cargo test" }, "tool_use_id": "toolu_1",
    });
    let event = format!("{event}\n");
    let fed = |program: &Path, arguments: &[&str]| {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&folder)
            .env_clear()
            .envs(base_environment())
            .env("HOME", &home)
            .env("CLAUDE_PROJECT_DIR", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // An empty process may have ended before it gets its input.
        let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        output.stdout
    };
    let hookwright = installed();
    for (what, hooks) in [
        ("no hook file", None),
        ("a trusted file of which no hook listens", Some("hooks: {session:end: [{command: x}]}\n")),
        ("one awaited shell hook", Some("hooks: {tool:pre_execute: [{command: 'true'}]}\n")),
        (
            "one hook that nothing waits for",
            Some("hooks: {tool:pre_execute: [{await: false, command: 'true'}]}\n"),
        ),
    ] {
        if let Some(hooks) = hooks {
            std::fs::write(folder.join("hookwright.yaml"), hooks).unwrap();
            fed(hookwright, &["trust", "--yes"]);
        }
        let compared = compare(
            rounds,
            || drop(fed(Path::new("true"), &[])),
            || assert!(fed(hookwright, &["hook", "claude"]).is_empty()),
        );
        compared.print(
            &format!("`hookwright hook claude` with {what}, beside an empty process"),
            "at most 3 ms more without a hook to run",
        );
        if hooks.is_none() {
            let calls = rounds.min(50);
            let ours = page_faults(calls, || drop(fed(hookwright, &["hook", "claude"])));
            let floor = page_faults(calls, || drop(fed(Path::new("true"), &[])));
            println!("  {ours:.0} page faults, {floor:.0} of the empty process; linked: {LINKED}");
        }
    }
}

/// `connect` of an agent whose settings have 5 MB, beside the agent's own program, which is asked for
/// its version. Every round writes and syncs the file and its record anew.
fn connecting(home: &Path, rounds: usize) {
    let home = std::fs::canonicalize(home).unwrap();
    let programs = home.join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    let agent = programs.join("qwen");
    // Another process writes the program: one that is open for writing here cannot be started.
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(&agent).stdin(Stdio::piped());
    let mut child = install.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"#!/bin/sh\necho 0.24.4\n").unwrap();
    assert!(child.wait().unwrap().success());
    let settings = home.join(".qwen/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let history: Vec<String> = (0..50_000)
        .map(|n| format!("    \"an entry of a long history, number {n:>60}\""))
        .collect();
    let text = format!("{{\n  // mine\n  \"history\": [\n{}\n  ]\n}}\n", history.join(",\n"));
    let path = std::env::join_paths([programs, "/usr/bin".into(), "/bin".into()]).unwrap();
    let run = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&home).env_clear().stdout(Stdio::null());
        command.envs([("HOME", home.as_os_str()), ("PATH", &path)]);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    for (what, text) in [("5 MB", text.as_str()), ("a few lines", "{\n  \"theme\": \"dark\"\n}\n")]
    {
        let compared = compare(
            rounds.max(1),
            || run(&agent, &["--version"]),
            || {
                std::fs::write(&settings, text).unwrap();
                run(installed(), &["connect", "qwen", "--yes"]);
            },
        );
        compared.print(
            &format!(
                "`hookwright connect` with settings of {what}, beside the agent's own program"
            ),
            "at most 100 ms more",
        );
    }
}

/// How the program was linked.
const LINKED: &str = env!("HOOKWRIGHT_LINKED");

/// The average number of page faults of one call that starts a process and waits for it.
fn page_faults(calls: usize, deed: impl Fn()) -> f64 {
    // The page faults of ended children are the ninth number after the name in parentheses.
    let of_children = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let numbers = stat.rsplit(')').next().unwrap_or_default();
        numbers.split_whitespace().nth(8).and_then(|faults| faults.parse().ok()).unwrap_or(0.0)
    };
    let before: f64 = of_children();
    (0..calls).for_each(|_| deed());
    (of_children() - before) / calls as f64
}

fn dispatch_of_none(rounds: usize) {
    let runtime = runtime();
    let folder = PathBuf::from("/");
    for (what, hooks) in [
        ("all at other events", ten_thousand(|n| (format!("session:start:s{n}"), String::new()))),
        (
            "all at this event, other subjects",
            ten_thousand(|n| (format!("tool:pre_execute:t{n}"), String::new())),
        ),
        (
            "all at this event, other matchers",
            ten_thousand(|n| ("tool:pre_execute".into(), format!(", matcher: t{n}|u{n}"))),
        ),
    ] {
        let engine = engine(&hooks, &folder);
        // A host is already inside its runtime, so one entry serves a whole batch.
        let each = per_batch(rounds * 100, |calls| {
            runtime.block_on(async {
                for _ in 0..calls {
                    let fired = engine.fire(tool_event("bash"), Firing::default()).await;
                    assert!(fired.reports.is_empty());
                }
            });
        });
        let made = per_call(rounds * 100, || {
            std::hint::black_box(tool_event("bash"));
        });
        println!("dispatch that wakes none of 10,000 hooks ({what})");
        println!(
            "  {:.2} µs (target: under 1 µs); making and dropping the event itself takes {:.2} µs more",
            us(each) - us(made),
            us(made)
        );
    }
}

fn dispatch_of_one(rounds: usize) {
    let runtime = runtime();
    let folder = PathBuf::from("/");
    // The condition is false, so everything happens except the spawn.
    let hooks = ten_thousand(|n| {
        let last = if n == 9_999 { ", when: \"${TOOL_NAME} == 'other'\"" } else { "" };
        (format!("tool:pre_execute:t{n}"), last.into())
    });
    let engine = engine(&hooks, &folder);
    let dispatch = per_call(rounds * 20, || {
        let fired = runtime.block_on(engine.fire(tool_event("t9999"), Firing::default()));
        assert_eq!(fired.reports.len(), 1);
    });
    let environment = Environment::new(base_environment());
    let (event, carried) = (tool_event("bash"), Carried::default());
    let hook = some_hook();
    let prepare = per_call(rounds * 20, || {
        let variables = Variables { event: &event, carried: &carried, environment: &environment };
        std::hint::black_box(ChildEnvironment::new(&variables, &[], &[], &[]));
        std::hint::black_box(input_of(&event, &hook));
    });
    let made = per_call(rounds * 20, || {
        std::hint::black_box(tool_event("t9999"));
    });
    let decide = us(dispatch) - us(made);
    println!("dispatch that wakes one of 10,000 hooks, up to the spawn");
    println!(
        "  {:.2} µs: {decide:.2} to decide and report, {:.2} to make its environment and input (target: under 10 µs)",
        decide + us(prepare),
        us(prepare)
    );
}

fn memory_of_ten_thousand(folder: &Path) {
    let mut hooks = ten_thousand(|n| (format!("tool:pre_execute:t{n}"), String::new()));
    // The hook reads how much memory its parent, hookwright, has used.
    hooks = hooks.replace(
        "tool:pre_execute:t9999: [{command: check-t9999}]",
        "Stop: [{command: 'grep VmHWM /proc/$PPID/status'}]",
    );
    std::fs::write(folder.join("large.yaml"), hooks).unwrap();
    let output = Command::new(installed())
        .args(["fire", "Stop", "--config", "large.yaml", "--json"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let line = record["hooks"][0]["stdout"].as_str().unwrap().to_owned();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    println!("memory of a process with 10,000 hooks, read from their file");
    println!("  {:.1} MB (target: under 30 MB)", kib * 1024.0 / 1e6);
}

/// The lower bound is the same program with nothing to do.
fn list_of_ten_thousand_sessions(folder: &Path, rounds: usize) {
    let folder = std::fs::canonicalize(folder).unwrap();
    make_ten_thousand_sessions(&folder);
    let hookwright = |arguments: &[&str]| {
        let mut command = Command::new(installed());
        command.args(arguments).current_dir(&folder).env("XDG_STATE_HOME", &folder);
        assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    };
    for (what, arguments) in [
        ("the newest 10", &["sessions", "list"][..]),
        (
            "the newest 10 of all projects that failed",
            &["sessions", "list", "--all-projects", "--status", "failed"],
        ),
        ("those whose names begin so, which are the oldest", &["sessions", "list", "session-0000"]),
        ("all of them", &["sessions", "list", "--limit", "10000"]),
        ("all of them, as JSON", &["sessions", "list", "--limit", "10000", "--json"]),
        ("what runs and what could be resumed", &["status"]),
    ] {
        let compared =
            compare(rounds.max(3), || hookwright(&["--version"]), || hookwright(arguments));
        let what =
            format!("a list of 10,000 sessions, {what}, as a whole process beside `--version`");
        compared.print(&what, "under 100 ms");
    }
}

/// The lower bound is the same program with nothing to do.
fn list_of_ten_thousand_tasks(rounds: usize) {
    let kept = tempfile::tempdir().unwrap();
    let folder = std::fs::canonicalize(kept.path()).unwrap();
    make_ten_thousand_tasks(&folder);
    let hookwright = |arguments: &[&str]| {
        let mut command = Command::new(installed());
        command.args(arguments).current_dir(&folder).env("XDG_STATE_HOME", &folder);
        assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    };
    for (what, arguments) in [
        ("all that are open", &["task", "list"][..]),
        ("all that are open, as JSON", &["task", "list", "--json"]),
        ("those that are ready", &["task", "list", "--ready"]),
        ("a change of one of them", &["task", "update", "1", "--priority", "1"]),
    ] {
        let compared =
            compare(rounds.max(3), || hookwright(&["--version"]), || hookwright(arguments));
        let what = format!("a list of 10,000 tasks, {what}, as a whole process beside `--version`");
        compared.print(&what, "under 50 ms");
    }
}

fn make_ten_thousand_tasks(folder: &Path) {
    let store = Arc::new(SqliteStore::open(&folder.join("hookwright")).unwrap());
    let tasks = KeptTasks::new(Arc::clone(&store) as _, folder.to_str().unwrap());
    // The first one creates the list; the others are written as the list would write them.
    let first = tasks.add(&NewTask::new("write the parser of expressions"), 1_767_323_045_678);
    let first = first.unwrap();
    let puts = (2..=10_000).map(|number: u64| {
        let mut kept = first.clone();
        kept.task.id = TaskId(number);
        kept.task.content = format!("write the parser of expressions, part {number}");
        kept.task.priority = u8::try_from(number % 5).unwrap();
        kept.task.depends_on =
            number.is_multiple_of(3).then_some(TaskId(number - 1)).into_iter().collect();
        Put { expected: Expected::Absent, ..tasks.put_for(&kept) }
    });
    store.commit(&Commit { puts: puts.collect(), ..Commit::synced() }).unwrap();
}

fn make_ten_thousand_sessions(folder: &Path) {
    let store = SqliteStore::open(&folder.join("hookwright")).unwrap();
    let project = folder.to_str().unwrap().to_owned();
    let puts = (0..10_000).map(|number: i64| {
        let (name, is_failed) = (format!("session-{number:08}"), number % 10 == 0);
        let status = if is_failed { SessionStatus::Failed } else { SessionStatus::Completed };
        let record = SessionRecord {
            name: name.clone(),
            start_time: "2026-01-02T03:04:05.678Z".into(),
            end_time: Some("2026-01-02T04:04:05.678Z".into()),
            workspace: project.clone(),
            command: "run".into(),
            args: vec!["loops/work/loop.yaml".into()],
            status,
            provider: "scripted".into(),
            plan: "work".into(),
            stages: vec!["plan".into(), "work".into()],
            stage: 2,
            iterations: 25,
            reason: status.to_string(),
            hooks: [("success".to_owned(), 75), ("failed".to_owned(), 3)].into(),
            ..SessionRecord::default()
        };
        Put {
            kind: Kind::Session,
            key: RecordKey { project: project.clone(), name },
            expected: Expected::Absent,
            value: serde_json::to_string(&record).unwrap(),
            created_at_ms: 1_767_323_045_678 + number,
            status: status.to_string(),
            queued: None,
            moves: None,
        }
    });
    store.commit(&Commit { puts: puts.collect(), ..Commit::synced() }).unwrap();
}

/// The same shell, environment, pipes, group and input, from the standard library alone.
struct Floor {
    environment: Vec<(OsString, OsString)>,
    input: String,
    folder: PathBuf,
    bash: PathBuf,
}

/// A hook with an id of the usual length.
fn some_hook() -> Hook {
    let hook = Hook::on("tool:pre_execute", |_| async { Ok(Answer::default()) });
    hook.id("hookwright/tool:pre_execute#0").build().expect("a hook")
}

/// A hook's standard input.
fn input_of(event: &Event, hook: &Hook) -> String {
    NativeWire.input(&WireReader { event, hook, attempt: 1, root: Path::new("/") }).stdin
}

impl Floor {
    fn new(folder: &Path) -> Self {
        let environment = Environment::new(base_environment());
        let (event, carried) = (tool_event("bash"), Carried::default());
        let variables = Variables { event: &event, carried: &carried, environment: &environment };
        let bash = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join("bash"))
            .find(|path| path.exists())
            .unwrap();
        Self {
            environment: {
                let child = ChildEnvironment::new(&variables, &[], &[], &[]);
                child.inherited.iter().cloned().chain(child.strings).collect()
            },
            input: input_of(&event, &some_hook()),
            folder: folder.to_owned(),
            bash,
        }
    }

    /// The same by a direct system call.
    fn bare(&self) -> BareSpawn {
        let Self { environment, input, folder, bash } = self;
        BareSpawn::new(bash, &["-c", "true"], environment, folder, input)
    }

    /// By the standard library.
    fn run(&self) {
        let mut child = Command::new(&self.bash)
            .args(["-c", "true"])
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that has already ended is not an error, as in the engine.
        let _ = child.stdin.take().unwrap().write_all(self.input.as_bytes());
        let mut output = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        child.stderr.take().unwrap().read_to_end(&mut output).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

/// The median time of one call, over batches.
fn per_call(calls: usize, deed: impl Fn()) -> Duration {
    per_batch(calls, |calls| {
        for _ in 0..calls {
            deed();
        }
    })
}

/// The same for a function that repeats the call itself.
fn per_batch(calls: usize, deed: impl Fn(usize)) -> Duration {
    let batch = (calls / 20).max(1);
    let mut times: Vec<f64> = (0..20)
        .map(|_| {
            let start = Instant::now();
            deed(batch);
            start.elapsed().as_secs_f64() / batch as f64
        })
        .collect();
    Duration::from_secs_f64(median(&mut times))
}

fn us(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn engine(hooks: &str, root: &Path) -> Engine {
    let environment = Environment::new(base_environment());
    let name = PathBuf::from("hookwright.yaml");
    let file = ConfigFile::native(name.clone(), name, Layer::Project);
    let loaded = load_text(hooks, &file, &environment);
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    Engine::new(Setup::new(loaded.hooks, root.to_owned(), environment))
}

fn base_environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

fn tool_event(tool: &str) -> Event {
    let data = json!({
        "session": "bench", "session_id": "0190", "transcript_path": "/dev/null", "cwd": "/",
        "timestamp": "2026-01-02T03:04:05Z", "tool_name": tool, "tool_use_id": "toolu_1",
        "tool_input": { "command": "git status --short", "description": "look around" },
    });
    let Value::Object(data) = data else { unreachable!("it is an object") };
    Event::new(EventName::resolve("tool:pre_execute").unwrap(), Map::from_iter(data))
}

fn ten_thousand(hook: impl Fn(usize) -> (String, String)) -> String {
    let mut text = String::from("hooks:\n");
    let hooks: Vec<(String, String)> = (0..10_000).map(&hook).collect();
    // One key if all of them listen to the same event.
    if hooks[0].0 == hooks[1].0 {
        text.push_str(&format!("  {}:\n", hooks[0].0));
        for (number, (_, more)) in hooks.iter().enumerate() {
            text.push_str(&format!("    - {{command: check-t{number}{more}}}\n"));
        }
        return text;
    }
    for (number, (event, more)) in hooks.iter().enumerate() {
        text.push_str(&format!("  {event}: [{{command: check-t{number}{more}}}]\n"));
    }
    text
}
