//! [`Situation`]: where a test starts servers, and what it does with their tools.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_agent::mcp::{McpServerSettings, McpServers, StartedServers};
use hookwright_agent::tool::{Tool, ToolCall, ToolEnd, Touches};
use hookwright_engine::Secrets;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A folder in which servers run, and what the user is told about them.
pub(crate) struct Situation {
    folder: TempDir,
    /// The server's program and its first argument.
    server: [String; 2],
    told: Arc<Mutex<Vec<String>>>,
}

impl Situation {
    /// With the server that this program and its first argument start.
    pub(crate) fn with(server: [&str; 2]) -> Self {
        let server = server.map(str::to_owned);
        Self { folder: tempfile::tempdir().unwrap(), server, told: Arc::default() }
    }

    pub(crate) fn settings(&self, name: &str, modes: &[&str]) -> McpServerSettings {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let [program, first] = self.server.clone();
        let mut args = vec![first];
        args.extend(modes.iter().map(|mode| (*mode).to_owned()));
        McpServerSettings {
            name: name.to_owned(),
            program,
            args,
            shared_env: [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into(),
            env: Vec::new(),
            working_dir: self.folder.path().to_owned(),
            timeout: Duration::from_secs(300),
            start_timeout: Duration::from_secs(120),
            run_id: format!("mcp-test-{}-{number}", std::process::id()),
            secrets: Secrets::default(),
        }
    }

    pub(crate) async fn start(&self, modes: &[&str]) -> StartedServers {
        self.start_all(vec![self.settings("srv", modes)]).await
    }

    pub(crate) async fn start_all(&self, all: Vec<McpServerSettings>) -> StartedServers {
        let told = Arc::clone(&self.told);
        McpServers::start(all, Arc::new(move |text| told.lock().unwrap().push(text.to_owned())))
            .await
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

pub(crate) fn tool(started: &StartedServers, name: &str) -> Arc<dyn Tool> {
    let mut tools = started.tools.iter();
    Arc::clone(tools.find(|tool| tool.spec().name == name).expect("the server has it"))
}

pub(crate) async fn call(started: &StartedServers, name: &str, text: &str) -> ToolEnd {
    call_until(started, name, text, &CancellationToken::new()).await
}

pub(crate) async fn call_until(
    started: &StartedServers,
    name: &str,
    text: &str,
    cancel: &CancellationToken,
) -> ToolEnd {
    let tool = tool(started, &format!("mcp__srv__{name}"));
    let Value::Object(input) = json!({ "text": text }) else { panic!("an object") };
    let judged = tool.touches(&input);
    assert_eq!(judged, Touches::Other);
    tool.run(ToolCall { id: "toolu_1", input: &input, judged: &judged, run_id: "tool-1", cancel })
        .await
}

pub(crate) fn ran(end: &ToolEnd) -> &str {
    match end {
        ToolEnd::Ran { text, .. } => text,
        ToolEnd::Failed { error, .. } => panic!("it failed: {error}"),
    }
}

pub(crate) fn failed(end: &ToolEnd) -> &str {
    match end {
        ToolEnd::Ran { text, .. } => panic!("it ran: {text}"),
        ToolEnd::Failed { error, is_interrupt: false, .. } => error,
        ToolEnd::Failed { error, .. } => panic!("it was interrupted: {error}"),
    }
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(std::time::Instant::now() < until, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub(crate) fn pid(path: &Path) -> String {
    let read = || std::fs::read_to_string(path).unwrap_or_default();
    wait_until("the pid is written", || read().ends_with('\n'));
    read()
}
