//! Hooks that name their host, inside an agent and in a session of hookwright.

use std::fs;

use serde_json::Value;

use super::{call, nothing, sent, trusted};
use crate::support::Sandbox;

const HOOKS: &str = "hooks:
  session:start:
    - {id: anywhere, await: true, command: 'echo anywhere >> ran; cat >> seen'}
    - {id: outer, await: true, host: run, command: 'echo outer >> ran'}
    - {id: inner, await: true, host: claude, command: 'echo inner >> ran'}
    - {id: both, await: true, host: [run, claude], command: 'echo both >> ran'}
";

fn ran(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path("ran")).unwrap_or_default()
}

/// The input of the first hook.
fn seen(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&fs::read_to_string(sandbox.path("seen")).unwrap()).unwrap()
}

#[test]
fn a_hook_chooses_between_the_agents_sessions_and_those_of_run() {
    let sandbox = trusted(HOOKS);
    assert_eq!(call(&sandbox, &sent("SessionStart")), nothing());
    assert_eq!(ran(&sandbox), "anywhere\ninner\nboth\n");
    assert_eq!(seen(&sandbox)["host"], "claude");

    let sandbox = Sandbox::with_hooks(HOOKS).file(
        "loop.yaml",
        "agent: {command: 'true'}\nprompt: go\ntermination: {type: fixed, iterations: 1}\n",
    );
    sandbox.run(&["run", "loop.yaml", "--plain"]);
    assert_eq!(ran(&sandbox), "anywhere\nouter\nboth\n");
    assert_eq!(seen(&sandbox)["host"], "run");

    // `fire` names a host, or runs the hooks of all.
    let sandbox = Sandbox::with_hooks(HOOKS);
    assert_eq!(sandbox.run(&["fire", "session:start"]).code, 0);
    assert_eq!(ran(&sandbox), "anywhere\nouter\ninner\nboth\n");
    let sandbox = Sandbox::with_hooks(HOOKS);
    let data = ["fire", "session:start", "--data", "{\"host\": \"run\"}"];
    assert_eq!(sandbox.run(&data).code, 0);
    assert_eq!(ran(&sandbox), "anywhere\nouter\nboth\n");
}

#[test]
fn an_unknown_host_is_a_fault_that_names_those_there_are() {
    let sandbox = Sandbox::with_hooks("hooks: {Stop: [{command: x, host: cluade}]}");
    let checked = sandbox.run(&["check"]);
    assert_eq!(checked.code, 1);
    let expected = "expected the name of a host (run, claude, cline, codex, copilot, droid, gemini, opencode, qwen) but \
                    found `cluade`";
    assert!(checked.stderr.contains(expected), "{}", checked.stderr);
    assert!(checked.stderr.contains("did you mean `claude`?"), "{}", checked.stderr);
}
