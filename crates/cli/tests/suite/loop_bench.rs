//! [`LoopBench`]: a loop with `agent: builtin`, and a server in place of its model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

/// A wait that takes longer hangs.
const WAIT_MAX: Duration = Duration::from_secs(60);

pub(crate) struct LoopBench {
    pub(crate) sandbox: Sandbox,
    pub(crate) server: ModelServer,
}

/// A turn of the model: this text.
pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A turn of the model: a call of bash.
pub(crate) fn bash(command: &str) -> Value {
    call("bash", json!({ "command": command }))
}

/// A turn of the model: a call.
pub(crate) fn call(tool: &str, input: Value) -> Value {
    json!({ "content": [{ "type": "tool_use", "name": tool, "input": input }] })
}

impl LoopBench {
    pub(crate) fn new(turns: &[Value], loop_file: &str) -> Self {
        let script = ModelScript::parse(&json!({ "turns": turns }).to_string()).unwrap();
        Self::with_script(script, loop_file)
    }

    pub(crate) fn with_script(script: ModelScript, loop_file: &str) -> Self {
        let server = ModelServer::start(ModelBehaviour::Script(script)).unwrap();
        let sandbox = Sandbox::new()
            .file("loop.yaml", loop_file)
            .set("ANTHROPIC_BASE_URL", &server.url())
            .set("ANTHROPIC_API_KEY", KEY);
        Self { sandbox, server }
    }

    pub(crate) fn run(&self) -> Ran {
        self.sandbox.run(&["run", "loop.yaml", "--session", "s"])
    }

    /// Starts the loop, and kills it as soon as the agent has made this file.
    pub(crate) fn run_until_killed(&self, file: &str) {
        let mut command = self.sandbox.command(&["run", "loop.yaml", "--session", "s"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        wait_for(&mut child, &self.sandbox.path(file));
        kill(&child);
        child.wait().unwrap();
    }

    pub(crate) fn journal(&self) -> Vec<Value> {
        let ran = self.sandbox.run(&["sessions", "log", "s", "--json"]);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The texts of the user's first message in this request, from 0.
    pub(crate) fn first_message(&self, request: usize) -> Vec<String> {
        let body = &self.server.requests()[request].body;
        let blocks = body["messages"][0]["content"].as_array().unwrap().iter();
        blocks.map(|block| block["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The transcripts of the session, sorted.
    pub(crate) fn transcripts(&self) -> Vec<PathBuf> {
        let found = walked(&self.sandbox.path(".hookwright/sessions/s"));
        let is_one = |path: &PathBuf| path.extension().is_some_and(|it| it == "jsonl");
        let mut found: Vec<PathBuf> = found.into_iter().filter(is_one).collect();
        found.sort();
        found
    }
}

/// The key of the model.
pub(crate) const KEY: &str = "sk-pipelines-0123456789";

pub(crate) fn of_kind<'a>(journal: &'a [Value], kind: &str) -> Vec<&'a Value> {
    journal.iter().filter(|entry| entry["kind"] == kind).collect()
}

/// Waits until a file is there, while the program runs.
pub(crate) fn wait_for(child: &mut Child, file: &Path) {
    let began = Instant::now();
    while !file.exists() {
        assert!(began.elapsed() < WAIT_MAX && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn kill(child: &Child) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
}

/// Whether the process still runs whose id is in this file.
pub(crate) fn is_alive(pid_file: &Path) -> bool {
    let pid = fs::read_to_string(pid_file).unwrap();
    assert!(pid.trim().parse::<u32>().is_ok(), "{pid}");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// All files below a folder.
pub(crate) fn walked(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { walked(&path) } else { vec![path] }).collect()
}
