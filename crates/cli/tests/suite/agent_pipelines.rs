//! agent-pipelines' files for all projects: their location and their order.

use serde_json::{Value, json};

use crate::support::Sandbox;

const GLOBAL: &str = "../.config/agent-pipelines/hooks.yaml";
const SECRETS: &str = "../.config/agent-pipelines/secrets.env";

fn ids(record: &Value) -> Vec<&str> {
    let hooks = record["hooks"].as_array().expect("hooks");
    hooks.iter().filter_map(|hook| hook["id"].as_str()).collect()
}

fn with_global() -> Sandbox {
    Sandbox::new().file(GLOBAL, "hooks: {on_error: [{id: global, command: echo, await: true}]}\n")
}

// Conformance: agent-pipelines-099
#[test]
fn the_global_hooks_run_after_the_local_ones() {
    let sandbox = with_global()
        .file("hookwright.yaml", "hooks: {on_error: [{id: local, command: echo, await: true}]}\n");
    let (code, record) = sandbox.json(&["fire", "on_error", "--json"]);
    assert_eq!((code, ids(&record)), (0, vec!["local", "global"]));
    let (_, record) = sandbox.json(&["fire", "on_error", "--json", "--no-global-hooks"]);
    assert_eq!(ids(&record), ["local"]);
}

// Conformance: agent-pipelines-076
#[test]
fn they_come_with_every_loop_or_pipeline_that_is_named_and_with_nothing_else() {
    let own = "hooks: {on_error: [{id: own, command: echo, await: true}]}\n";
    let sandbox = with_global().file("loop.yaml", own).file("other.yaml", own);
    let fired = |file: &str| {
        let (_, record) = sandbox.json(&["fire", "on_error", "--json", "--config", file]);
        json!(ids(&record))
    };
    assert_eq!(fired("loop.yaml"), json!(["own", "global"]));
    assert_eq!(fired("other.yaml"), json!(["own"]));
}

// Conformance: agent-pipelines-077
#[test]
fn a_loop_that_disables_global_hooks_has_none_of_them() {
    let text =
        "disable_global_hooks: true\nhooks: {on_error: [{id: own, command: echo, await: true}]}\n";
    let sandbox = with_global().file("loop.yaml", text);
    let (_, record) = sandbox.json(&["fire", "on_error", "--json", "--config", "loop.yaml"]);
    assert_eq!(ids(&record), ["own"]);
}

// Conformance: agent-pipelines-089
#[test]
fn its_secrets_reach_hooks_that_name_them_and_stand_nowhere_else() {
    let sandbox = Sandbox::new()
        .file(GLOBAL, "hooks: {on_error: [{command: 'printf %s \"$TOKEN\"', await: true}]}\n")
        .file(SECRETS, "TOKEN=very-secret-token\n");
    let only_mine = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(sandbox.path(SECRETS), only_mine).expect("changed");
    let (_, record) = sandbox.json(&["fire", "on_error", "--json"]);
    assert_eq!(record["hooks"][0]["stdout"], "[secret TOKEN]");
}
