//! Countable costs of one more tool call of the built-in agent. Benchmarks measure its time.

use std::process::Command;

use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use serde_json::{Value, json};

use crate::support::Sandbox;

/// The agent runs this many turns with one call each. Returns the number of commits, and the kinds
/// of the journal's entries.
fn session(hooks: &str, turns: usize) -> (usize, Vec<String>) {
    let call = json!({ "type": "tool_use", "name": "bash", "input": { "command": "true" } });
    let mut script = vec![json!({ "content": [call] }); turns];
    script.push(json!({ "content": [{ "type": "text", "text": "done" }] }));
    let script = ModelScript::parse(&json!({ "turns": script }).to_string()).unwrap();
    let server = ModelServer::start(ModelBehaviour::Script(script)).unwrap();
    let hooks = format!("hooks: {hooks}\npermissions: {{allow: [bash]}}\n");
    let sandbox = Sandbox::with_hooks(&hooks)
        .set("ANTHROPIC_BASE_URL", &server.url())
        .set("ANTHROPIC_API_KEY", "sk-costs-0123456789");
    sandbox.run(&["trust", "--yes"]);
    let inner = sandbox.command(&["agent", "-p", "go"]);
    let trace = sandbox.path("../trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-e", "trace=pwrite64", "-o"]).arg(&trace);
    strace.arg(inner.get_program()).args(inner.get_args());
    strace.current_dir(inner.get_current_dir().unwrap()).env_clear();
    strace.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = strace.output().expect("strace is there");
    assert!(output.status.success(), "{output:?}");
    // The store notes every commit in this file.
    let trace = std::fs::read_to_string(trace).unwrap();
    let commits = trace.lines().filter(|line| line.contains("/store.sqlite3-last>")).count();
    let log = sandbox.run(&["sessions", "log", "--json"]).stdout;
    let kinds = log.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        entry["kind"].as_str().unwrap().to_owned()
    });
    (commits, kinds.collect())
}

/// The commits of one more call.
fn commits_of_a_call(hooks: &str) -> usize {
    let (few, many) = (session(hooks, 2).0, session(hooks, 5).0);
    assert!(many > few, "{few} commits, then {many}");
    assert_eq!((many - few) % 3, 0, "{few} commits, then {many}");
    (many - few) / 3
}

#[test]
fn a_call_is_recorded_in_two_commits_before_the_tool_starts_and_before_the_next_request() {
    assert_eq!(commits_of_a_call("{}"), 2);
}

#[test]
fn a_hook_adds_a_commit_before_it_starts_and_one_while_it_runs() {
    let hook = "{command: 'true'}";
    for hooks in [1, 3] {
        let list = vec![hook; hooks].join(", ");
        let commits = commits_of_a_call(&format!("{{tool:pre_execute: [{list}]}}"));
        assert_eq!(commits, 2 + 2 * hooks);
    }
}

#[test]
fn what_is_put_off_is_in_the_journal_in_its_order() {
    let (_, kinds) = session("{tool:pre_execute: [{command: 'true'}]}", 1);
    let first = kinds.iter().position(|kind| kind == "transcript_written").unwrap();
    assert_eq!(
        kinds[first..],
        [
            "transcript_written",
            "request_sending",
            "request_ended",
            "fired",
            "hook_starting",
            "hook_running",
            "hook_ended",
            "hook_reported",
            "remembered",
            "decided",
            "call_starting",
            "call_ended",
            "transcript_written",
            "request_sending",
            "request_ended",
            "transcript_written",
            "turn_ended",
            "stage_ended",
            "session_ended",
        ]
    );
}
