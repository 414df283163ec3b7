//! MCP servers of the built-in agent, where a scenario's folder is not enough: a killed agent, and what
//! `trust` and `check` show.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Ran, Sandbox};

const MCP_SERVER: &str = include_str!("../../../agent/tests/mcp_server.sh");

const HANG: &str = "turns: [{content: [{type: tool_use, name: mcp__srv__hang, input: {}}]}]\n";
const SHORT: &str = "turns: [{content: [{type: text, text: Done.}]}]\n";

fn sandbox(modes: &str) -> Sandbox {
    let sandbox = Sandbox::new()
        .program("../bin/mcp-server", MCP_SERVER)
        .file("hang.yaml", HANG)
        .file("short.yaml", SHORT)
        .file(
            "hookwright.yaml",
            format!("mcp_servers:\n  srv: {{command: mcp-server, args: [{modes}]}}\n"),
        );
    let bin = sandbox.path("../bin");
    let path = std::env::var("PATH").unwrap_or_default();
    let sandbox = sandbox.set("PATH", &format!("{}:{path}", bin.display()));
    sandbox.run(&["trust", "--yes"]);
    sandbox
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < until, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn pid(path: &Path) -> String {
    let read = || fs::read_to_string(path).unwrap_or_default();
    wait_until("the pid is written", || read().ends_with('\n'));
    read()
}

/// The records of sessions with servers.
fn records(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folder = sandbox.path("../.local/state/hookwright/mcp-servers");
    fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path()).collect()
}

fn agent(model: &str) -> Vec<String> {
    let model = format!("scripted:{model}");
    ["agent", "-p", "go", "--permission-mode", "bypassPermissions", "--model", &model]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn what_a_killed_agent_left_is_ended_by_the_next_session() {
    let sandbox = sandbox("writes-pid, leaves-processes, ignores-its-end, marks-calls");
    let arguments = agent("hang.yaml");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = sandbox.command(&arguments);
    let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let called = sandbox.path("../called");
    wait_until("the tool is called", || called.exists());
    let pids = [pid(&sandbox.path("../server.pid")), pid(&sandbox.path("../left.pid"))];
    assert_eq!(records(&sandbox).len(), 1);
    // A session beside it leaves it alone.
    let short = agent("short.yaml");
    let short: Vec<&str> = short.iter().map(String::as_str).collect();
    let with_other = [&short[..], &["--config", "none.yaml"]].concat();
    fs::write(sandbox.path("none.yaml"), "hooks: {}\n").unwrap();
    assert_eq!(sandbox.run(&with_other).code, 0);
    assert!(pids.iter().all(|pid| is_alive(pid)));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(pids.iter().all(|pid| is_alive(pid)), "they ignore the end of their input");
    assert_eq!(sandbox.run(&with_other), Ran::new(0, "Done.\n", ""));
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
    assert_eq!(records(&sandbox), Vec::<PathBuf>::new());
}

#[test]
fn trust_shows_what_a_server_is_started_with() {
    let sandbox = Sandbox::new().file(
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x y"], "env": {"T": "${T}"}}}}"#,
    );
    let file = fs::canonicalize(sandbox.path(".mcp.json")).unwrap();
    let shown = sandbox.run(&["trust", "--yes"]);
    assert_eq!(
        shown.stdout,
        format!(
            "{}: new, 0 hooks, 1 MCP server\n  mcp_servers.a: npx -y 'x y'\n  mcp_servers.a.env.T: \
             ${{T}}\ntrusted 1 file\n",
            file.display()
        )
    );
    let (code, json) = sandbox.json(&["trust", "--json"]);
    assert_eq!(code, 0);
    assert_eq!(json["files"][0]["mcp_servers"]["a"]["args"][1], "x y");
}

#[test]
fn check_counts_servers_and_names_their_faults() {
    let sandbox = Sandbox::new().file("hookwright.yaml", "mcp_servers: {a: {command: x}}\n");
    assert_eq!(
        sandbox.run(&["check"]),
        Ran::new(0, "1 file checked, 0 hooks, 1 MCP server, no faults\n", "")
    );
    let (_, json) = sandbox.json(&["check", "--json"]);
    assert_eq!(json["mcp_servers"], serde_json::json!(["a"]));
    let sandbox = Sandbox::new().file("hookwright.yaml", "mcp_servers: {a: {comand: x}}\n");
    let (code, json) = sandbox.json(&["check", "--json"]);
    assert_eq!(code, 1);
    assert_eq!(json["faults"].as_array().map(Vec::len), Some(2), "{json}");
}
