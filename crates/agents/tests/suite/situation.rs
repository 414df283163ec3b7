//! Shared by the tests: a folder with a turn in it, a watch that records everything, bounded waits.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hookwright_agents::command::{CommandAgent, PromptBy};
use hookwright_agents::scripted::ScriptedAgent;
use hookwright_agents::{Agent, AgentWatch, Turn, TurnEnd, TurnEvents, TurnPorts};
use hookwright_engine::ports::Promise;
use hookwright_events::{Decision, EventName, Output, ProcessOutcome};
use hookwright_process::{IgnoredSignals, Leader, Stream};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than any of these tests takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// The longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(120);

/// A work tree, and a turn to run in it.
pub(crate) struct Situation {
    folder: TempDir,
    pub(crate) turn: Turn,
}

impl Situation {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Children must not inherit signals that the tests were started to ignore, as with nohup.
        IgnoredSignals::read().catch().expect("signals can be caught");
        let folder = tempfile::tempdir().expect("a folder");
        let working_dir = folder.path().join("project");
        fs::create_dir(&working_dir).expect("a folder");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path: (OsString, OsString) = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        let turn = Turn {
            prompt: vec!["do it".to_owned()],
            shared_env: Arc::new([path]),
            env: Vec::new(),
            status_file: folder.path().join("session/status.json"),
            working_dir,
            stage: "work".to_owned(),
            iteration: 1,
            is_final_delivery: false,
            attempt: 1,
            timeout: LONG,
            run_id: format!("agents-{}-{number}", std::process::id()),
        };
        Self { folder, turn }
    }

    /// What lies around the work tree.
    pub(crate) fn outside(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn told(mut self, prompt: &str) -> Self {
        self.turn.prompt = vec![prompt.to_owned()];
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.turn.timeout = timeout;
        self
    }

    pub(crate) fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.turn.working_dir.join(path)).ok()
    }

    pub(crate) fn status(&self) -> Option<String> {
        fs::read_to_string(&self.turn.status_file).ok()
    }

    /// Everything in the work tree, by name.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.turn.working_dir).expect("a folder");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).into_string().expect("our own names")).collect();
        names.sort();
        names
    }

    /// Runs the turn to its end.
    pub(crate) async fn run(&self, agent: &dyn Agent) -> TurnEnd {
        self.watched(agent).await.0
    }

    /// Runs the turn to its end, and returns what the watch has received.
    pub(crate) async fn watched(&self, agent: &dyn Agent) -> (TurnEnd, Heard) {
        let mut heard = Heard::default();
        let ended = agent.run(&self.turn, ports(&mut heard, &CancellationToken::new())).await;
        (ended, heard)
    }

    /// Runs the turn until the agent has printed `ready`.
    pub(crate) async fn ready(&self, agent: impl Agent + 'static) -> Ready {
        let (tell, mut told) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let (theirs, turn) = (cancel.clone(), self.turn.clone());
        let running =
            tokio::spawn(async move { agent.run(&turn, ports(&mut Telling(tell), &theirs)).await });
        let mut printed = String::new();
        while !printed.contains("ready\n") {
            printed += &told.recv().await.expect("the agent prints `ready`");
        }
        Ready { running, cancel, printed, told }
    }
}

/// What the session lends a driver that fires no events.
pub(crate) fn ports<'a>(
    watch: &'a mut dyn AgentWatch,
    cancel: &'a CancellationToken,
) -> TurnPorts<'a> {
    TurnPorts { watch, events: std::sync::Arc::new(NoEvents), cancel }
}

struct NoEvents;

impl TurnEvents for NoEvents {
    fn fire(&self, event: EventName, _: Map<String, Value>) -> Promise<'_, Decision> {
        panic!("{event} was fired by a driver that does not know what its agent does")
    }
}

/// A turn whose agent has printed `ready`.
pub(crate) struct Ready {
    pub(crate) running: JoinHandle<TurnEnd>,
    pub(crate) cancel: CancellationToken,
    pub(crate) printed: String,
    /// What it prints from now on.
    pub(crate) told: mpsc::UnboundedReceiver<String>,
}

impl Ready {
    /// Cancels it and waits for its end.
    pub(crate) async fn cancelled(self) -> TurnEnd {
        self.cancel.cancel();
        self.running.await.expect("no turn panics")
    }
}

/// What a watch has heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) leaders: Vec<u32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl AgentWatch for Heard {
    fn running(&mut self, leader: &Leader) {
        self.leaders.push(leader.pid);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.extend_from_slice(bytes),
            Stream::Stderr => self.stderr.extend_from_slice(bytes),
        }
    }
}

/// Sends everything that is printed to the test.
struct Telling(mpsc::UnboundedSender<String>);

impl AgentWatch for Telling {
    fn running(&mut self, _: &Leader) {}

    fn output(&mut self, _: Stream, bytes: &[u8]) {
        // A test that has heard enough does not listen any more.
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
    }
}

pub(crate) fn by_stdin(command: &str) -> CommandAgent {
    CommandAgent::new(command, PromptBy::Stdin).expect("it needs no place")
}

pub(crate) fn by_argument(command: &str) -> CommandAgent {
    CommandAgent::new(command, PromptBy::Argument).expect("it has a place")
}

pub(crate) fn script(text: &str) -> ScriptedAgent {
    ScriptedAgent::load(text, Path::new("turns.yaml")).expect("no faults")
}

/// A script of one turn.
pub(crate) fn turn(actions: &str) -> ScriptedAgent {
    script(&format!("turns:\n  - do:\n{actions}\n"))
}

/// A normal exit, with this output.
pub(crate) fn exited(code: i32, stdout: &str, stderr: &str) -> ProcessOutcome {
    ProcessOutcome::Exited { code, output: printed(stdout, stderr) }
}

pub(crate) fn printed(stdout: &str, stderr: &str) -> Output {
    Output { stdout: stdout.to_owned(), stderr: stderr.to_owned(), ..Output::default() }
}

/// The numbers in a text.
pub(crate) fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Whether a process runs: neither gone nor a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Waits until the condition holds. Other processes don't report these changes, so it polls.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < patience, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs one ignored test of this binary in a process of its own; `wrap` may put it into another
/// program's command line.
pub(crate) async fn in_its_own_process(test: &str, wrap: impl Fn(String) -> String) {
    let binary = std::env::current_exe().expect("this test has a path");
    let binary = binary.display();
    let command = format!("'{binary}' --exact {test} --ignored --nocapture --test-threads=1");
    let ended = Situation::new().run(&by_stdin(&wrap(command))).await;
    let output = ended.outcome.output().expect("it started");
    let shown = format!("{}{}", output.stdout, output.stderr);
    assert!(matches!(ended.outcome, ProcessOutcome::Exited { code: 0, .. }), "{shown}");
    assert!(shown.contains("1 passed"), "{shown}");
}
