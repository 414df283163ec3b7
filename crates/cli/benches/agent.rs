//! The cost of the built-in agent, as ratios and differences within one run on one machine.
//!
//! The agent is the real program, and its model a server on the loopback address that holds its answers
//! back. So the lower bound (A, A') runs between two tool calls of a running session. Method, targets and
//! figures: `docs/performance.md`.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

#[path = "performance/bare_spawn.rs"]
mod bare_spawn;
#[path = "performance/compared.rs"]
#[expect(dead_code, reason = "what is compared here measures its own time")]
mod compared;

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hookwright_agent::mcp::{McpServerSettings, McpServers};
use hookwright_agent::tool::{ToolCall, ToolEnd, Touches};
use hookwright_engine::Secrets;
use hookwright_engine::variables::{Carried, ChildEnvironment, Environment, Variables};
use hookwright_events::{Event, EventName};
use hookwright_model_server::{
    ModelBehaviour, ModelScript, ModelServer, RequestTimes, ScriptedTurn, StreamGate,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use bare_spawn::BareSpawn;
use compared::compare_times;

/// Tool calls of one session. The conversation grows with each, so sessions stay short.
const CALLS_OF_A_SESSION: usize = 40;

/// A benchmark whose agent does not go on has to stop.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Bytes that the loud tool prints.
const LOUD_BYTES: usize = 100_000_000;

/// A part of the benchmark, which takes so many rounds.
type Part = fn(&Place, usize);

/// The parts by their names, each with its rounds.
const PARTS: [(&str, Part, usize); 9] = [
    ("no-hooks", |place, rounds| native_hooks(place, 0, rounds), 400),
    ("one-hook", |place, rounds| native_hooks(place, 1, rounds), 300),
    ("twenty-hooks", |place, rounds| native_hooks(place, 20, rounds), 60),
    ("claude", twenty_of_claude, 100),
    ("loop", in_a_pipeline, 300),
    ("mcp", call_of_a_server, 400),
    ("start", start_to_first_request, 100),
    ("subagents", subagents_at_once, 30),
    ("memory", |place, _| memory_of_a_loud_tool(place), 1),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = arguments.iter().any(|argument| argument == "--test");
    // `cargo bench --bench agent -- one-hook loop` measures these parts alone.
    let named: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let home = tempfile::tempdir().unwrap();
    let place = Place::new(home.path());
    for (name, part, rounds) in PARTS {
        if named.is_empty() || named.iter().any(|wanted| *wanted == name) {
            part(&place, if is_test { 3 } else { rounds });
        }
    }
}

/// A tool call with native hooks before it, one after the other, beside the same commands started bare.
fn native_hooks(place: &Place, hooks: usize, rounds: usize) {
    if hooks > 0 {
        let list = vec!["{command: 'true'}"; hooks].join(", ");
        place.hooks("hookwright.yaml", &format!("hooks: {{tool:pre_execute: [{list}]}}\n"));
    }
    let bare = place.bare_hook();
    let mut floor = || {
        let start = Instant::now();
        (0..=hooks).for_each(|_| bare.run());
        start.elapsed().as_secs_f64()
    };
    let what = format!("a tool call with {hooks} native hooks, beside the same bare spawns");
    let mut calls = Calls::new(place);
    compare_times(rounds, &mut floor, &mut || calls.next()).print(&what, "at most 1.10");
    // A tool call ends with a request, which takes its time too.
    let requests = BareRequests::new();
    let body = RefCell::new(calls.last_request());
    compare_times(rounds, &mut || floor() + requests.send(&body.borrow()), &mut || {
        let took = calls.next();
        *body.borrow_mut() = calls.last_request();
        took
    })
    .print(&format!("{what} and a bare request of the same size"), "at most 1.10");
    drop(calls);
    place.remove("hookwright.yaml");
}

/// A tool call with hooks of Claude Code's settings, which run at once.
fn twenty_of_claude(place: &Place, rounds: usize) {
    // Equal commands would run once.
    let hooks: Vec<Value> = (0..20)
        .map(|number| json!({ "type": "command", "command": format!("true {number}") }))
        .collect();
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "", "hooks": hooks }] } });
    place.hooks(".claude/settings.json", &settings.to_string());
    let bare = place.bare_hook();
    let mut floor = || {
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| bare.run());
            }
        });
        bare.run();
        start.elapsed().as_secs_f64()
    };
    let mut calls = Calls::new(place);
    compare_times(rounds, &mut floor, &mut || calls.next()).print(
        "a tool call with 20 hooks of Claude Code's settings at once, beside the same bare spawns",
        "at most 1.25",
    );
    drop(calls);
    place.remove(".claude/settings.json");
}

/// A tool call with a native hook in a turn of a loop, beside the same call in `agent`.
fn in_a_pipeline(place: &Place, rounds: usize) {
    place.hooks("hookwright.yaml", "hooks: {tool:pre_execute: [{command: 'true'}]}\n");
    place.file(
        "loop.yaml",
        "agent: {type: builtin, model: test-model, permission_mode: bypassPermissions}\n\
         prompt: work\nmax_iterations: 1\n",
    );
    let mut alone = Calls::new(place);
    let mut in_loop = Calls { host: Host::Loop, ..Calls::new(place) };
    compare_times(rounds, &mut || alone.next(), &mut || in_loop.next()).print(
        "a tool call with a native hook in a turn of a loop, beside the same in `agent`",
        "at most 1.10",
    );
    drop((alone, in_loop));
    place.remove("hookwright.yaml");
    place.remove("loop.yaml");
}

/// A call of an MCP server's tool, beside the same request to the same server over bare pipes.
fn call_of_a_server(place: &Place, rounds: usize) {
    const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/tests/mcp_server.sh");
    let mut bare = Command::new("bash");
    bare.arg(SCRIPT).current_dir(&place.project).env_clear().envs(place.environment());
    let mut bare = bare.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (bare.stdin.take().unwrap(), bare.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let mut line = String::new();
    let mut number = 0;
    let mut floor = || {
        number += 1;
        let request = json!({
            "jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {
                "_meta": { "progressToken": number }, "name": "echo",
                "arguments": { "text": "hello" },
            },
        });
        line.clear();
        let start = Instant::now();
        input.write_all(format!("{request}\n").as_bytes()).unwrap();
        output.read_line(&mut line).unwrap();
        let took = start.elapsed().as_secs_f64();
        assert!(line.contains("said: hello"), "{line}");
        took
    };
    let settings = McpServerSettings {
        name: "srv".to_owned(),
        program: "bash".to_owned(),
        args: vec![SCRIPT.to_owned()],
        shared_env: place.environment().into(),
        env: Vec::new(),
        working_dir: place.project.clone(),
        timeout: SILENCE_MAX,
        start_timeout: SILENCE_MAX,
        run_id: format!("mcp-bench-{}", std::process::id()),
        secrets: Secrets::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = runtime.block_on(McpServers::start(vec![settings], Arc::new(|_| {})));
    let echo = started.tools.iter().find(|tool| tool.spec().name == "mcp__srv__echo").unwrap();
    let Value::Object(hello) = json!({ "text": "hello" }) else { unreachable!("it is an object") };
    let cancel = CancellationToken::new();
    let mut thing = || {
        let call = ToolCall {
            id: "toolu_1",
            input: &hello,
            judged: &Touches::Other,
            run_id: "bench",
            cancel: &cancel,
        };
        let start = Instant::now();
        let end = runtime.block_on(echo.run(call));
        let took = start.elapsed().as_secs_f64();
        assert!(matches!(end, ToolEnd::Ran { .. }), "{end:?}");
        took
    };
    compare_times(rounds, &mut floor, &mut thing).print(
        "a call of an MCP server's tool, beside the same request over bare pipes",
        "at most 1.25",
    );
    runtime.block_on(started.servers.end());
    drop(input);
    bare.wait().unwrap();
}

/// From the start of the program to the first request.
fn start_to_first_request(place: &Place, rounds: usize) {
    let mut floor = || {
        let start = Instant::now();
        let mut version = place.hookwright(&["--version"]);
        assert!(version.stdout(Stdio::null()).status().unwrap().success());
        start.elapsed().as_secs_f64()
    };
    let mut thing = || {
        let server = ModelServer::start(script("[{content: [{type: text, text: done}]}]")).unwrap();
        let start = Instant::now();
        let mut agent = place.agent(&server);
        assert!(agent.wait().unwrap().success());
        let arrived = server.request_times()[0].arrived;
        arrived.duration_since(start).as_secs_f64()
    };
    compare_times(rounds, &mut floor, &mut thing)
        .print("from the start to the first request, beside `--version`", "at most 20 ms more");
}

/// Four subagents that wait at the same time, beside one that waits as long.
fn subagents_at_once(place: &Place, rounds: usize) {
    compare_times(rounds, &mut || subagents(place, 1), &mut || subagents(place, 4))
        .print("four subagents of one `sleep 0.2` each, beside one of them", "at most 1.25");
}

/// The seconds from the answer that starts the subagents to the request with their results.
fn subagents(place: &Place, number: usize) -> f64 {
    let prompt = |number: usize| format!("Wait, number {number}.");
    let call = |number: usize| {
        json!({ "type": "tool_use", "name": "task",
            "input": { "description": "wait", "prompt": prompt(number) } })
    };
    let done = json!({ "content": [{ "type": "text", "text": "done" }] });
    let waits = json!([{ "content": [bash("sleep 0.2")] }, done]);
    let calls: Vec<Value> = (0..number).map(call).collect();
    let conversations: Vec<Value> =
        (0..number).map(|number| json!({ "prompt": prompt(number), "turns": waits })).collect();
    let script = json!({ "turns": [{ "content": calls }, done], "conversations": conversations });
    let script = ModelScript::parse(&script.to_string()).unwrap();
    let server = ModelServer::start(ModelBehaviour::Script(script)).unwrap();
    assert!(place.agent(&server).wait().unwrap().success());
    // The main agent asks first and last; in between each subagent asks twice.
    let times = server.request_times();
    assert_eq!(times.len(), 2 * number + 2);
    let last = times.last().unwrap();
    last.arrived.duration_since(times[0].answered.unwrap()).as_secs_f64()
}

/// The most memory that the agent has used when a tool has printed 100 MB.
fn memory_of_a_loud_tool(place: &Place) {
    let turns = json!([
        { "content": [bash(&format!("head -c {LOUD_BYTES} /dev/zero | tr '\\0' x"))] },
        { "content": [{ "type": "text", "text": "done" }] },
    ]);
    let (server, gate) = ModelServer::start_held(script(&turns.to_string())).unwrap();
    let mut agent = place.agent(&server);
    gate.allow(events_of(&turns[0]));
    wait_for_request(&server, 2);
    let status = fs::read_to_string(format!("/proc/{}/status", agent.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    gate.release();
    assert!(agent.wait().unwrap().success());
    println!("memory of the agent after a tool has printed 100 MB");
    println!("  {:.1} MiB (target: under 64 MiB)", kib / 1024.0);
}

/// Tool calls, one at a time, in as many sessions as are needed.
struct Calls<'a> {
    place: &'a Place,
    host: Host,
    session: Option<Session>,
}

/// What the agent works in.
#[derive(Clone, Copy)]
enum Host {
    Agent,
    Loop,
}

/// A session that waits for the model.
struct Session {
    server: ModelServer,
    gate: StreamGate,
    agent: Child,
    done: usize,
}

impl<'a> Calls<'a> {
    fn new(place: &'a Place) -> Self {
        Self { place, host: Host::Agent, session: None }
    }

    /// Lets the model call the tool; the seconds from the end of its answer to the next request.
    fn next(&mut self) -> f64 {
        let call = json!({ "content": [bash("true")] });
        if self.session.as_ref().is_some_and(|session| session.done == CALLS_OF_A_SESSION) {
            self.session = None;
        }
        let (place, host) = (self.place, self.host);
        let session = self.session.get_or_insert_with(|| Session::start(place, host, &call));
        gate_opens(session, &call)
    }

    /// The body of the last request.
    fn last_request(&mut self) -> Vec<u8> {
        let Some(session) = &self.session else { return b"{}".to_vec() };
        // The server notes the time of a request before the request itself.
        let requests = loop {
            let requests = session.server.requests();
            if !requests.is_empty() {
                break requests;
            }
            thread::yield_now();
        };
        session.server.forget_requests();
        requests.last().unwrap().body.to_string().into_bytes()
    }
}

/// Requests over one connection to a server of its own, by system calls alone.
struct BareRequests {
    server: ModelServer,
    connection: TcpStream,
    sent: Cell<usize>,
}

impl BareRequests {
    fn new() -> Self {
        let turns = r#"[{ content: [{ type: text, text: "done" }] }]"#;
        let server = ModelServer::start(script(turns)).unwrap();
        let address = server.url().strip_prefix("http://").unwrap().to_owned();
        let connection = TcpStream::connect(address).unwrap();
        connection.set_nodelay(true).unwrap();
        Self { server, connection, sent: Cell::new(0) }
    }

    /// The seconds from its first byte to its arrival.
    fn send(&self, body: &[u8]) -> f64 {
        let length = body.len();
        let mut request = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: sk-test-012345\r\n\
             anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n\
             accept: text/event-stream\r\ncontent-length: {length}\r\n\r\n"
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.sent.set(self.sent.get() + 1);
        let start = Instant::now();
        (&self.connection).write_all(&request).unwrap();
        let times = wait_for_request(&self.server, self.sent.get());
        // Its answer, so that the next one begins with the connection at rest.
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        while !answer.ends_with(b"\r\n0\r\n\r\n") {
            let bytes = (&self.connection).read(&mut piece).unwrap();
            answer.extend_from_slice(&piece[..bytes]);
            assert!(bytes > 0, "{}", String::from_utf8_lossy(&answer));
        }
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        self.server.forget_requests();
        times.last().unwrap().arrived.duration_since(start).as_secs_f64()
    }
}

fn gate_opens(session: &mut Session, call: &Value) -> f64 {
    session.gate.allow(events_of(call));
    session.done += 1;
    let times = wait_for_request(&session.server, session.done + 1);
    let answered = times[session.done - 1].answered.unwrap();
    times[session.done].arrived.duration_since(answered).as_secs_f64()
}

impl Session {
    fn start(place: &Place, host: Host, call: &Value) -> Self {
        let mut turns = vec![call.clone(); CALLS_OF_A_SESSION];
        turns.push(json!({ "content": [{ "type": "text", "text": "done" }] }));
        let manner = script(&Value::Array(turns).to_string());
        let (server, gate) = ModelServer::start_held(manner).unwrap();
        let agent = match host {
            Host::Agent => place.agent(&server),
            Host::Loop => place.run_loop(&server),
        };
        wait_for_request(&server, 1);
        Self { server, gate, agent, done: 0 }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It waits for the model, and has nothing else to do.
        self.agent.kill().unwrap();
        self.agent.wait().unwrap();
    }
}

/// Waits until so many requests have arrived. It sleeps meanwhile: a thread that looks again and again
/// would take time from the agent.
fn wait_for_request(server: &ModelServer, number: usize) -> Vec<RequestTimes> {
    let arrived = server.wait_for_requests(number, SILENCE_MAX);
    arrived.unwrap_or_else(|| panic!("request {number} does not come"))
}

fn script(turns: &str) -> ModelBehaviour {
    ModelBehaviour::Script(ModelScript::parse(&format!("turns: {turns}")).unwrap())
}

fn bash(command: &str) -> Value {
    json!({ "type": "tool_use", "name": "bash", "input": { "command": command } })
}

/// The number of events of a turn's answer.
fn events_of(turn: &Value) -> usize {
    let parsed = ModelScript::parse(&json!({ "turns": [turn] }).to_string()).unwrap();
    match parsed.turn(1) {
        ScriptedTurn::Answer(answer) => answer.events(1, "test-model").len(),
        ScriptedTurn::Error(_) | ScriptedTurn::Reply(_) => 0,
    }
}

/// A home directory with a project.
struct Place {
    home: PathBuf,
    project: PathBuf,
    program: PathBuf,
}

impl Place {
    fn new(home: &Path) -> Self {
        let home = fs::canonicalize(home).unwrap();
        let project = home.join("project");
        fs::create_dir(&project).unwrap();
        // A copy, as installed: the system maps a file that a linker has just written more slowly.
        let program = home.join("hookwright");
        let built = Path::new(env!("CARGO_BIN_EXE_hookwright"));
        let copied = Command::new("cp").args([built, &program]).status();
        assert!(copied.unwrap().success());
        Self { home, project, program }
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap();
        vec![("PATH".into(), path), ("HOME".into(), self.home.clone().into())]
    }

    fn hookwright(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.project).env_clear().envs(self.environment());
        command.stdin(Stdio::null());
        command
    }

    /// Writes a file with hooks, and trusts it.
    fn hooks(&self, name: &str, text: &str) {
        self.file(name, text);
        let trusted = self.hookwright(&["trust", "--yes"]).stdout(Stdio::null()).status();
        assert!(trusted.unwrap().success());
    }

    /// Writes a file of the project.
    fn file(&self, name: &str, text: &str) {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Removes a file of the project, if it is there.
    fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.project.join(name));
    }

    /// The agent in a session with this model.
    fn agent(&self, server: &ModelServer) -> Child {
        let mode = ["--permission-mode", "bypassPermissions"];
        let mut command = self.hookwright(&["agent", "-p", "work", "--model", "test-model"]);
        command.args(mode);
        Self::start(command, server)
    }

    /// The loop of `loop.yaml` with this model.
    fn run_loop(&self, server: &ModelServer) -> Child {
        Self::start(self.hookwright(&["run", "loop.yaml"]), server)
    }

    fn start(mut command: Command, server: &ModelServer) -> Child {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "sk-test-012345");
        command.spawn().unwrap()
    }

    /// The command of a hook, with a hook's input and environment.
    fn bare_hook(&self) -> BareSpawn {
        let data = json!({
            "session_id": "0e98f192-e478-454c-8d26-2f247dd22f2a", "transcript_path": "/t",
            "cwd": self.project, "permission_mode": "bypassPermissions", "tool_name": "bash",
            "tool_input": { "command": "true" }, "tool_use_id": "toolu_1_1",
        });
        let input = format!("{data}\n");
        let Value::Object(data) = data else { unreachable!("it is an object") };
        let event = Event::new(EventName::TOOL_PRE_EXECUTE, data);
        let environment = Environment::new(self.environment());
        let carried = Carried::default();
        let variables = Variables { event: &event, carried: &carried, environment: &environment };
        let child = ChildEnvironment::new(&variables, &[], &[], &[]);
        let all: Vec<_> = child.inherited.iter().cloned().chain(child.strings).collect();
        let bash = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join("bash"))
            .find(|path| path.exists())
            .unwrap();
        BareSpawn::new(&bash, &["-c", "true"], &all, &self.project, &input)
    }
}
