//! Hook files that disappear while an agent's session runs.

use std::fs;

use serde_json::{Value, json};

use super::{HostileAgent, guard_points};
use crate::hook_claude::{denied, nothing, sent, trust};
use crate::support::{Ran, Sandbox};

const GUARD: &str = "hooks: {'*': [{await: true, command: 'echo no >&2; exit 2'}]}";

fn gone(sandbox: &Sandbox, name: &str) -> String {
    let place = fs::canonicalize(sandbox.path("..")).unwrap().join(name);
    let place = place.display();
    format!(
        "the hook file {place} is missing, and its hooks guarded this session; \
         restore it, or, to continue without it, run in a terminal: hookwright trust --revoke {place}"
    )
}

#[test]
fn a_hook_file_that_is_deleted_blocks_until_it_is_back_or_its_trust_is_revoked() {
    for file in ["project/hookwright.yaml", ".config/hookwright/hooks.yaml"] {
        let sandbox = match file.starts_with('.') {
            true => Sandbox::new().global(GUARD),
            false => Sandbox::with_hooks(GUARD),
        };
        let sandbox = trust(sandbox);
        let path = sandbox.path("..").join(file);
        let agent = HostileAgent::new(&sandbox);
        let event = sent("PreToolUse");
        assert_eq!(agent.call(&event), denied("no"));
        fs::remove_file(&path).unwrap();
        assert_eq!(agent.call(&event), denied(&gone(&sandbox, file)), "{file}");
        fs::write(&path, GUARD).unwrap();
        assert_eq!(agent.call(&event), denied("no"), "{file} is back");
        fs::remove_file(&path).unwrap();
        let place = fs::canonicalize(sandbox.path("..")).unwrap().join(file);
        let revoked = sandbox.run(&["trust", "--revoke", &place.display().to_string()]);
        assert_eq!(revoked.code, 0, "{revoked:?}");
        assert_eq!(agent.call(&event), nothing(), "{file} is not trusted any more");
    }
}

#[test]
fn every_guard_point_is_closed_while_a_hook_file_is_gone() {
    let sandbox = trust(Sandbox::with_hooks(GUARD));
    let agent = HostileAgent::new(&sandbox);
    for point in guard_points() {
        agent.call(&point);
    }
    fs::remove_file(sandbox.path("hookwright.yaml")).unwrap();
    for point in guard_points() {
        let ran = agent.call(&point);
        assert!(ran.stdout.contains("is missing") || ran.code == 2, "{point}: {ran:?}");
    }
}

#[test]
fn a_project_that_is_moved_away_takes_no_guard_along() {
    let sandbox = trust(Sandbox::with_hooks(GUARD));
    let agent = HostileAgent::new(&sandbox);
    assert_eq!(agent.call(&sent("PreToolUse")), denied("no"));
    let expected = denied(&gone(&sandbox, "project/hookwright.yaml"));
    let home = fs::canonicalize(sandbox.path("..")).unwrap();
    fs::rename(home.join("project"), home.join("moved")).unwrap();
    fs::create_dir(home.join("project")).unwrap();
    assert_eq!(agent.call(&sent("PreToolUse")), expected);
}

#[test]
fn the_user_is_told_once_where_nothing_can_be_blocked() {
    let sandbox = trust(Sandbox::with_hooks("hooks: {tool:pre_execute: [{command: 'exit 2'}]}"));
    let agent = HostileAgent::new(&sandbox);
    agent.call(&sent("PreToolUse"));
    fs::remove_file(sandbox.path("hookwright.yaml")).unwrap();
    let message = json!({ "systemMessage": gone(&sandbox, "project/hookwright.yaml") });
    assert_eq!(agent.call(&sent("PostToolUse")), Ran::new(0, &format!("{message}\n"), ""));
    assert_eq!(agent.call(&sent("PostToolUse")), nothing());
}

#[test]
fn a_session_that_begins_without_the_file_is_not_blocked_for_it() {
    let sandbox = trust(Sandbox::with_hooks(GUARD));
    let agent = HostileAgent::new(&sandbox);
    let mut event = sent("PreToolUse");
    agent.call(&event);
    fs::remove_file(sandbox.path("hookwright.yaml")).unwrap();
    event["session_id"] = Value::from("another");
    assert_eq!(agent.call(&event), nothing());
}

#[test]
fn a_file_that_is_only_left_behind_is_not_gone() {
    let sandbox = Sandbox::new().file("../other/hookwright.yaml", GUARD).inside("../other");
    let sandbox = trust(sandbox).inside("../project");
    let agent = HostileAgent::new(&sandbox);
    let mut event = sent("PreToolUse");
    event["cwd"] = Value::from(sandbox.path("../other").display().to_string());
    assert_eq!(agent.call(&event), denied("no"));
    event["cwd"] = Value::from(sandbox.path(".").display().to_string());
    assert_eq!(agent.call(&event), nothing());
}
