//! MCP servers of `agent: builtin` in loops: their tools, trust, and their end.

use std::fs;

use serde_json::{Value, json};

use crate::loop_bench::{LoopBench, call, is_alive, text};
use crate::support::Sandbox;

const MCP_SERVER: &str = include_str!("../../../agent/tests/mcp_server.sh");

const LOOP: &str = "agent: {type: builtin, permissions: {allow: [mcp__srv, bash]}}\nprompt: go\n\
                    max_iterations: 1\n";

/// A loop in a project whose `hookwright.yaml` names the server `srv`, which behaves like this.
fn bench(turns: &[Value], loop_file: &str, modes: &str) -> LoopBench {
    let servers = format!("mcp_servers:\n  srv: {{command: mcp-server, args: [{modes}]}}\n");
    with_file(LoopBench::new(turns, loop_file), "hookwright.yaml", &servers)
}

fn with_file(bench: LoopBench, name: &str, content: &str) -> LoopBench {
    let sandbox = bench.sandbox.program("../bin/mcp-server", MCP_SERVER).file(name, content);
    LoopBench { sandbox: with_bin(sandbox), ..bench }
}

fn with_bin(sandbox: Sandbox) -> Sandbox {
    let (bin, path) = (sandbox.path("../bin"), std::env::var("PATH").unwrap_or_default());
    sandbox.set("PATH", &format!("{}:{path}", bin.display()))
}

fn echo(words: &str) -> Value {
    call("mcp__srv__echo", json!({ "text": words }))
}

/// The result of the call in this request, from 0.
fn result(bench: &LoopBench, request: usize) -> String {
    let body = &bench.server.requests()[request].body;
    body["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
}

#[test]
fn a_turn_can_call_tools_of_servers_and_ends_them_with_everything_they_started() {
    let bench = bench(
        &[echo("hi"), text("one"), echo("again"), text("two")],
        "agent: {type: builtin, permissions: {allow: [mcp__srv]}}\nprompt: go\nmax_iterations: 2\n\
         hooks:\n  tool:pre_execute:\n    - {matcher: 'mcp__srv__*', command: 'jq -r .tool_name >> tools'}\n  \
         iteration:complete:\n    - command: cat ../server.pid >> pids\n      await: true\n",
        "writes-pid, leaves-processes, ignores-its-end",
    );
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(result(&bench, 1).contains("said: hi"), "{}", result(&bench, 1));
    assert!(result(&bench, 3).contains("said: again"), "{}", result(&bench, 3));
    let tools = fs::read_to_string(bench.sandbox.path("tools")).unwrap();
    assert_eq!(tools, "mcp__srv__echo\nmcp__srv__echo\n");
    assert!(!is_alive(&bench.sandbox.path("../server.pid")));
    assert!(!is_alive(&bench.sandbox.path("../left.pid")));
    // Each turn begins with servers of its own, as it begins with a conversation of its own.
    let pids = fs::read_to_string(bench.sandbox.path("pids")).unwrap();
    let pids: Vec<&str> = pids.lines().collect();
    assert!(pids.len() == 2 && pids[0] != pids[1], "{pids:?}");
}

#[test]
fn what_a_killed_turn_left_of_its_servers_is_ended_when_it_is_repeated() {
    let hang = call("mcp__srv__hang", json!({}));
    let modes = "writes-pid, leaves-processes, ignores-its-end, marks-calls";
    let bench = bench(&[hang, text("done")], LOOP, modes);
    bench.run_until_killed("../called");
    let [server, left] = ["server.pid", "left.pid"].map(|name| {
        let (from, to) = (bench.sandbox.path("..").join(name), bench.sandbox.path(name));
        fs::rename(from, &to).unwrap();
        to
    });
    assert!(is_alive(&server) && is_alive(&left), "they ignore the end of their input");
    let resumed = bench.sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert!(!is_alive(&server) && !is_alive(&left));
    // Those of the repeated turn have ended with it.
    assert!(!is_alive(&bench.sandbox.path("../server.pid")));
}

#[test]
fn a_server_that_does_not_start_or_dies_costs_its_tools_and_is_told() {
    for (modes, called, said) in [
        ("exits", None, "the MCP server `srv` did not start: it has ended with exit code 3"),
        ("logs-to-stdout", Some("die"), "its last words: `out of memory`"),
    ] {
        let calls = called.map(|tool| call(&format!("mcp__srv__{tool}"), json!({})));
        let turns: Vec<Value> = calls.into_iter().chain([text("done")]).collect();
        let bench = bench(&turns, LOOP, modes);
        let ran = bench.sandbox.run(&["run", "loop.yaml", "--session", "s", "--agent-output"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let told = ran.stdout + &ran.stderr;
        assert!(told.contains(said), "{said}: {told}");
        let [transcript] = &bench.transcripts()[..] else { panic!("{:?}", bench.transcripts()) };
        assert!(fs::read_to_string(transcript).unwrap().contains(said));
    }
}

#[test]
fn a_server_that_hangs_at_its_start_cannot_outlast_the_loop() {
    let loop_file = format!("{LOOP}max_runtime: 1s\n");
    let bench = bench(&[text("done")], &loop_file, "is-silent, writes-pid");
    let ran = bench.run();
    assert!(ran.stdout.contains("max_runtime"), "{}{}", ran.stdout, ran.stderr);
    assert!(!is_alive(&bench.sandbox.path("../server.pid")));
}

#[test]
fn servers_get_neither_the_models_key_nor_the_users_secrets_unless_they_name_them() {
    for (env, token) in
        [("{}", ""), ("{TOKEN: '${ANTHROPIC_API_KEY}'}", "[secret ANTHROPIC_API_KEY]")]
    {
        let servers = format!("mcp_servers: {{srv: {{command: mcp-server, env: {env}}}}}\n");
        let turns = [call("mcp__srv__variables", json!({})), text("done")];
        let bench = with_file(LoopBench::new(&turns, LOOP), "hookwright.yaml", &servers);
        let secrets = "../.config/hookwright/secrets.env";
        let sandbox = bench.sandbox.file(secrets, "DEPLOY_TOKEN=deploy-0123456789\n");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(sandbox.path(secrets), mode).unwrap();
        let sandbox = sandbox.set("BASH_ENV", "/dev/null");
        let bench = LoopBench { sandbox, ..bench };
        let ran = bench.run();
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let said = result(&bench, 1);
        assert!(said.contains(&format!("token={token}\"")), "{said}");
        assert!(said.contains("HOOKWRIGHT_RUN ") && said.contains("HOOKWRIGHT_BIN "), "{said}");
        for absent in ["ANTHROPIC_API_KEY ", "DEPLOY_TOKEN", "BASH_ENV", "sk-pipelines"] {
            assert!(!said.contains(absent), "{absent}: {said}");
        }
    }
}

#[test]
fn servers_of_mcp_json_are_started_by_run_only_after_the_file_is_trusted() {
    let file = r#"{"mcpServers": {"srv": {"command": "mcp-server", "args": ["writes-pid"]}}}"#;
    let changed =
        r#"{"mcpServers": {"srv": {"command": "mcp-server", "args": ["writes-pid", "x"]}}}"#;
    let turns = [echo("hi"), text("done")];
    let bench = with_file(LoopBench::new(&turns, LOOP), ".mcp.json", file);
    let started = bench.sandbox.path("../server.pid");
    let run = |session: &str| {
        let all = ["run", "loop.yaml", "--session", session, "--agent-output"];
        let ran = bench.sandbox.run(&all);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        ran.stdout + &ran.stderr
    };
    let told = run("untrusted");
    assert!(told.contains("`srv` was not started: .mcp.json is not trusted"), "{told}");
    assert!(told.contains("hookwright trust"), "{told}");
    assert!(!started.exists(), "a repository must not start programs by itself");
    assert_eq!(bench.sandbox.run(&["trust", "--yes"]).code, 0);
    let told = run("trusted");
    assert!(started.exists() && !told.contains("was not started"), "{told}");
    fs::remove_file(&started).unwrap();
    fs::write(bench.sandbox.path(".mcp.json"), changed).unwrap();
    let told = run("changed");
    assert!(told.contains(".mcp.json has changed since it was trusted"), "{told}");
    assert!(!started.exists());
}

#[test]
fn a_server_of_hookwright_yaml_needs_no_trust_in_run_and_another_agent_starts_none() {
    for (agent, starts) in [("builtin", true), ("{command: 'true'}", false)] {
        let loop_file = format!("agent: {agent}\nprompt: go\nmax_iterations: 1\n");
        let bench = bench(&[text("done")], &loop_file, "writes-pid");
        let ran = bench.run();
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(bench.sandbox.path("../server.pid").exists(), starts, "{agent}");
    }
}
