//! A long session of the built-in agent, with hooks at each request and tool call, two MCP servers and subagents: what it holds after some turns, what it holds after all of them, and what it leaves behind.
//!
//! The model is a server on this machine that holds its answers back, so the agent waits while it is looked at.
//! `cargo bench -p hookwright --bench soak` runs a thousand turns.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer, ScriptedTurn};
use serde_json::{Value, json};

/// The MCP server of the tests.
const MCP_SERVER: &str = include_str!("../../../agent/tests/mcp_server.sh");

/// The MCP servers of the session.
const MCP_SERVERS: &[&str] = &["one", "two"];

/// What only the first message of a subagent contains.
const SUBAGENT_PROMPT: &str = "Look around for a while.";

/// One turn in so many starts a subagent.
const SUBAGENT_EVERY: usize = 10;

/// Requests of one subagent: it calls a tool, and ends.
const REQUESTS_OF_A_SUBAGENT: usize = 2;

/// A session that does nothing for so long hangs.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Connections to the model that may be open beside the one in use. A request that comes before the end of the
/// last response was read opens another one, and both are used again.
const IDLE_CONNECTIONS_MAX: usize = 4;

/// How often the server is asked whether the next request has arrived.
const POLL: Duration = Duration::from_millis(2);

/// What a session holds while it waits for the model.
#[derive(Debug)]
pub(crate) struct Held {
    /// The most memory that the agent has used so far, in KiB.
    pub(crate) memory_kib: u64,
    /// What the open descriptors of the agent lead to.
    pub(crate) descriptors: Vec<String>,
    /// Processes of the session, the agent too.
    pub(crate) processes: usize,
    /// Files in the home folder that are no transcripts.
    files: BTreeSet<PathBuf>,
    /// Bytes of all transcripts.
    pub(crate) transcript_bytes: u64,
    /// Bytes of the other files in the state folder: the store with the journals.
    pub(crate) store_bytes: u64,
}

/// What came of a long session.
#[derive(Debug)]
pub(crate) struct Soak {
    /// When it waited for the answer of the first turn that was looked at.
    pub(crate) early: Held,
    /// When it waited for its last answer.
    pub(crate) late: Held,
    /// Processes that were left when the agent had ended.
    pub(crate) processes_left: Vec<String>,
    /// Files that were there at the end and not at the first look.
    pub(crate) files_left: Vec<PathBuf>,
}

impl Soak {
    /// Runs a session of so many turns, and looks at it for the first time at turn `early`.
    pub(crate) fn run(turns: usize, early: usize) -> Self {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let place = SoakPlace::new(&home);
        let script = SoakScript::new(turns);
        let (server, gate) =
            ModelServer::start_held(ModelBehaviour::Script(script.parsed())).unwrap();
        let mut agent = place.agent(&server, turns);
        gate.allow(script.events_before(early));
        wait_for_request(&server, &mut agent, script.requests_before(early) + 1);
        assert_tools(&server);
        let early_held = place.held(agent.id());
        gate.allow(script.events_before(turns) - script.events_before(early));
        wait_for_request(&server, &mut agent, script.requests_before(turns) + 1);
        let late = place.held(agent.id());
        gate.release();
        let output = agent.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {said}", output.status);
        assert_eq!(said, "Done.\n");
        let processes_left = place.processes();
        let files_left = place.files().difference(&early_held.files).cloned().collect();
        Self { early: early_held, late, processes_left, files_left }
    }

    /// Panics if the session grew or left something, memory aside.
    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.processes_left, Vec::<String>::new(), "processes are left");
        assert_eq!(self.files_left, Vec::<PathBuf>::new(), "files are left");
        let (early, late) = (&self.early, &self.late);
        assert_eq!(early.processes, 1 + MCP_SERVERS.len(), "the agent and its servers");
        assert_eq!(late.processes, early.processes, "processes stay beside the agent");
        let (before, now) = (&early.descriptors, &late.descriptors);
        let of_kind = |all: &[String], is_socket: bool| {
            all.iter().filter(|target| target.starts_with("socket:") == is_socket).count()
        };
        let told = || format!("descriptors stay open: {now:#?}, before {before:#?}");
        assert!(of_kind(now, false) <= of_kind(before, false), "{}", told());
        assert!(of_kind(now, true) <= of_kind(before, true) + IDLE_CONNECTIONS_MAX, "{}", told());
    }
}

#[test]
fn a_long_session_keeps_what_it_holds_and_leaves_nothing_behind() {
    // Each message and each step is written once, so that the conversation's length makes no difference.
    const BYTES_A_TURN_MAX: u64 = 64 * 1024;
    let (turns, early) = (40, 20);
    let soak = Soak::run(turns, early);
    soak.assert_nothing_is_left();
    let bytes = |held: &Held| held.transcript_bytes + held.store_bytes;
    let grown = bytes(&soak.late).saturating_sub(bytes(&soak.early)) / (turns - early) as u64;
    assert!(grown < BYTES_A_TURN_MAX, "a turn adds {grown} bytes: {soak:?}");
    assert!(soak.late.memory_kib < 2 * soak.early.memory_kib, "{soak:?}");
}

/// The turns of the model.
struct SoakScript {
    main: Vec<Value>,
    subagent: Vec<Value>,
}

impl SoakScript {
    fn new(turns: usize) -> Self {
        let call = |name: &str, input: Value| {
            json!({ "content": [{ "type": "tool_use",
            "name": name, "input": input }] })
        };
        let bash = || call("bash", json!({ "command": "true" }));
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let turn = |number: usize| match number % SUBAGENT_EVERY {
            0 => call("task", json!({ "description": "look", "prompt": SUBAGENT_PROMPT })),
            place if place % 3 != 0 && !MCP_SERVERS.is_empty() => {
                let server = MCP_SERVERS[number % MCP_SERVERS.len()];
                let name = format!("mcp__{server}__echo");
                call(&name, json!({ "text": format!("turn {number}") }))
            }
            _ => bash(),
        };
        let mut main: Vec<Value> = (1..turns).map(turn).collect();
        main.push(text("Done."));
        let subagents = turns / SUBAGENT_EVERY;
        let subagent = (0..subagents).flat_map(|_| [bash(), text("Seen.")]).collect();
        Self { main, subagent }
    }

    fn parsed(&self) -> ModelScript {
        let conversations = json!([{ "prompt": SUBAGENT_PROMPT, "turns": self.subagent }]);
        let script = json!({ "turns": self.main, "conversations": conversations });
        ModelScript::parse(&script.to_string()).unwrap()
    }

    /// Subagents that have ended before turn `number` of the main agent.
    fn subagents_before(number: usize) -> usize {
        (number - 1) / SUBAGENT_EVERY
    }

    fn requests_before(&self, number: usize) -> usize {
        number - 1 + Self::subagents_before(number) * REQUESTS_OF_A_SUBAGENT
    }

    /// Events of all answers before turn `number` of the main agent.
    fn events_before(&self, number: usize) -> usize {
        let subagents = Self::subagents_before(number) * REQUESTS_OF_A_SUBAGENT;
        let turns = self.main[..number - 1].iter().chain(&self.subagent[..subagents]);
        turns.map(events_of).sum()
    }
}

fn events_of(turn: &Value) -> usize {
    let parsed = ModelScript::parse(&json!({ "turns": [turn] }).to_string()).unwrap();
    match parsed.turn(1) {
        ScriptedTurn::Answer(answer) => answer.events(1, "test-model").len(),
        ScriptedTurn::Error(_) | ScriptedTurn::Reply(_) => 0,
    }
}

/// A home folder with a project whose hooks are trusted.
struct SoakPlace {
    home: PathBuf,
}

impl SoakPlace {
    fn new(home: &Path) -> Self {
        let place = Self { home: home.to_owned() };
        for folder in ["project", "tmp"] {
            fs::create_dir(home.join(folder)).unwrap();
        }
        fs::write(home.join("mcp_server.sh"), MCP_SERVER).unwrap();
        let server = |name: &str| {
            format!("  {name}: {{command: bash, args: [{}]}}\n", {
                let path = home.join("mcp_server.sh");
                path.display().to_string()
            })
        };
        let hook = |event: &str| format!("  {event}: [{{command: 'true', await: true}}]\n");
        let events = ["llm:pre_request", "tool:pre_execute", "tool:post_execute", "agent:stop"];
        let hooks: String = events.map(hook).concat();
        let servers: String = MCP_SERVERS.iter().copied().map(server).collect();
        let servers = match servers.is_empty() {
            true => String::new(),
            false => format!("mcp_servers:\n{servers}"),
        };
        let text = format!("version: 1\nhooks:\n{hooks}{servers}");
        fs::write(home.join("project/hookwright.yaml"), text).unwrap();
        let trusted = place.hookwright(&["trust", "--yes"]).stdout(Stdio::null()).status();
        assert!(trusted.unwrap().success(), "the hooks can be trusted");
        place
    }

    fn hookwright(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookwright"));
        command.args(arguments).current_dir(self.home.join("project")).env_clear();
        command.env("HOME", &self.home).env("TMPDIR", self.home.join("tmp"));
        command.env("PATH", std::env::var_os("PATH").unwrap()).stdin(Stdio::null());
        command
    }

    fn agent(&self, server: &ModelServer, turns: usize) -> Child {
        let turns_max = (turns * 2).to_string();
        let mut command = self.hookwright(&["agent", "-p", "work", "--model", "test-model"]);
        command.args(["--permission-mode", "bypassPermissions", "--max-turns", &turns_max]);
        command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "sk-test-012345");
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn held(&self, agent: u32) -> Held {
        let status = fs::read_to_string(format!("/proc/{agent}/status")).unwrap();
        let memory = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        let memory_kib = memory.split_whitespace().nth(1).unwrap().parse().unwrap();
        let descriptors = fs::read_dir(format!("/proc/{agent}/fd")).unwrap().flatten();
        let targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
        let mut descriptors: Vec<String> =
            targets.map(|target| target.to_string_lossy().into_owned()).collect();
        descriptors.sort();
        let state = self.home.join(".local/state/hookwright");
        let transcript_bytes = bytes_below(&state.join("transcripts"));
        Held {
            memory_kib,
            descriptors,
            processes: self.processes().len(),
            files: self.files(),
            transcript_bytes,
            store_bytes: bytes_below(&state) - transcript_bytes,
        }
    }

    /// Commands of the processes that have this home folder.
    fn processes(&self) -> Vec<String> {
        let wanted = format!("HOME={}", self.home.display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes()) {
                let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(String::from_utf8_lossy(&command).replace('\0', " "));
            }
        }
        found
    }

    fn files(&self) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        files_below(&self.home, &mut files);
        files.retain(|path| !path.to_string_lossy().contains("/transcripts/"));
        files
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let mut files = BTreeSet::new();
    files_below(folder, &mut files);
    files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum()
}

fn files_below(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), files),
            _ => drop(files.insert(entry.path())),
        }
    }
}

/// The tools of the MCP servers and of subagents are there: without them, the session would prove nothing.
fn assert_tools(server: &ModelServer) {
    let requests = server.requests();
    let tools = requests.last().map(|request| request.body["tools"].to_string()).unwrap();
    let of_servers = MCP_SERVERS.iter().map(|server| format!("mcp__{server}__echo"));
    for tool in of_servers.chain(["task".to_owned()]) {
        assert!(
            tools.contains(&format!("\"name\":\"{tool}\"")),
            "there is no tool {tool}: {tools}"
        );
    }
}

/// Waits until so many requests have arrived, while they do arrive.
fn wait_for_request(server: &ModelServer, agent: &mut Child, number: usize) {
    let (mut seen, mut changed) = (0, Instant::now());
    while seen < number {
        let now = server.request_times().len();
        if now > seen {
            (seen, changed) = (now, Instant::now());
            if now < number {
                // The last one is looked at.
                server.forget_requests();
            }
        }
        let has_ended = agent.try_wait().unwrap();
        assert!(has_ended.is_none(), "the agent ended after {seen} requests: {has_ended:?}");
        assert!(changed.elapsed() < SILENCE_MAX, "request {number} does not come: {seen} came");
        thread::sleep(POLL);
    }
    // It is kept a moment after its time.
    while server.requests().is_empty() {
        assert!(changed.elapsed() < SILENCE_MAX, "request {number} is not kept");
        thread::sleep(POLL);
    }
}
