//! Questions to a person from inside Claude Code.

use std::io::Write;
use std::process::{Child, Command};

use serde_json::{Value, json};

use super::{agent, nothing, reply, sent, trusted};
use crate::interrupts::until;
use crate::support::{Ran, Sandbox};

/// A call that asks a person, and its question.
fn asking(sandbox: &Sandbox, event: &str) -> (Child, String) {
    asking_by(&mut agent(sandbox, &[]), sandbox, event)
}

fn asking_by(call: &mut Command, sandbox: &Sandbox, event: &str) -> (Child, String) {
    let mut child = call.spawn().unwrap();
    child.stdin.take().unwrap().write_all(sent(event).to_string().as_bytes()).unwrap();
    let question = || -> Option<Value> { sandbox.json(&["approvals", "--json"]).1.get(0).cloned() };
    until("somebody is asked", || question().is_some());
    let id = question().unwrap()["id"].as_str().unwrap().to_owned();
    (child, id)
}

fn said(child: Child) -> Ran {
    Ran::from(child.wait_with_output().unwrap())
}

const HOOKS: &str = "callback: {port: 0}
hooks:
  permission:prompt:
    - {id: ask, type: webhook, await: true, body: {text: May it?, also: '${CALLBACK_URL}?action=later'}}
  tool:pre_execute:
    - {id: call, type: webhook, await: true, body: {text: May it?}}
";

#[test]
fn a_persons_answer_is_the_answer_to_the_permission_prompt() {
    let decided = |decision: Value| {
        reply(&json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest",
            "decision": decision } }))
    };
    for (words, answer) in [
        (&["approve"][..], decided(json!({ "behavior": "allow" }))),
        (
            &["reject", "-m", "not today"],
            decided(json!({ "behavior": "deny", "message": "not today" })),
        ),
        (&["approve", "--action", "later"], nothing()),
    ] {
        let sandbox = trusted(HOOKS);
        let (child, id) = asking(&sandbox, "PermissionRequest");
        let ran = sandbox.run(&[&words[..1], &[id.as_str()], &words[1..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(said(child), answer, "{words:?}");
    }
}

#[test]
fn a_store_that_an_agents_settings_name_is_ignored_with_a_notice() {
    let sandbox = trusted(HOOKS);
    let mut call = agent(&sandbox, &[]);
    call.env("HOOKWRIGHT_STORE", "postgres://me@127.0.0.1:1/evil");
    let (child, id) = asking_by(&mut call, &sandbox, "PreToolUse");
    assert_eq!(sandbox.run(&["approve", &id]).code, 0);
    let notice = "note: HOOKWRIGHT_STORE is ignored inside a session or a hook\n";
    assert_eq!(said(child), Ran::new(0, "", notice));
}

#[test]
fn a_persons_yes_to_a_tool_call_leaves_the_agents_own_rules_in_force() {
    let sandbox = trusted(HOOKS);
    let (child, id) = asking(&sandbox, "PreToolUse");
    assert_eq!(sandbox.run(&["approve", &id]).code, 0);
    assert_eq!(said(child), nothing());
}
