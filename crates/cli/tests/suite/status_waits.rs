//! `hookwright status` shows what each session waits for.

use std::fs;

use serde_json::{Value, json};

use crate::interrupts::{Started, start, until};
use crate::support::Sandbox;

const GATE: &str =
    "{id: gate, type: webhook, callback_port: 0, await: true, body: {text: 'Shall it go on?'}}";

/// A command that ends as soon as there is a file `go`.
const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.05; done";

fn a_loop(hooks: &str, agent: &str) -> Sandbox {
    Sandbox::new().file(
        "loop.yaml",
        format!(
            "name: work\nprompt: p\n\
             termination: {{type: fixed, iterations: 1}}\n\
             agent: {{command: '{agent}'}}\nhooks: {{{hooks}}}\n"
        ),
    )
}

fn started(sandbox: &Sandbox) -> Started {
    start(sandbox, &["run", "loop.yaml", "--session", "s"])
}

/// What the only session waits for, once that includes one of this kind.
fn waits(sandbox: &Sandbox, list: &str, kind: &str) -> Vec<Value> {
    let look = || {
        let (code, status) = sandbox.json(&["status", "--json"]);
        assert_eq!(code, 0);
        status[list][0]["waits"].as_array().cloned().unwrap_or_default()
    };
    until(kind, || look().iter().any(|wait| wait["kind"] == kind));
    look()
}

/// The lines that begin with this text, with durations as `D`.
fn lines(sandbox: &Sandbox, beginning: &str) -> Vec<String> {
    let text = sandbox.run(&["status"]).stdout;
    // A question's id is longer, and may begin with a digit.
    let is_span = |word: &str| {
        word.len() < 8 && word.ends_with('s') && word.starts_with(|c: char| c.is_ascii_digit())
    };
    let word = |word: &str| {
        let plain = word.trim_matches(['(', ')', ':', ',']);
        if is_span(plain) { word.replace(plain, "D") } else { word.to_owned() }
    };
    let lines = text.lines().skip_while(|line| !line.starts_with(beginning));
    lines.map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ")).collect()
}

fn go(sandbox: &Sandbox) {
    fs::write(sandbox.path("go"), "").unwrap();
}

#[test]
fn a_question_is_shown_with_the_commands_that_answer_it() {
    let sandbox = a_loop(&format!("stage:complete: [{GATE}]"), "true");
    let session = started(&sandbox);
    let found = waits(&sandbox, "running", "approval");
    let [wait] = &found[..] else { panic!("{found:?}") };
    let id = wait["id"].as_str().unwrap();
    let commands = [format!("hookwright approve {id}"), format!("hookwright reject {id}")];
    assert_eq!(wait["commands"], json!(commands));
    assert_eq!((&wait["hook"], &wait["session"]), (&json!("gate"), &json!("s")));
    assert_eq!(
        lines(&sandbox, "  s waits"),
        [
            "  s waits for an answer to hook gate (D left): Shall it go on?".to_owned(),
            format!("    {}, or {}", commands[0], commands[1]),
        ]
    );
    // An answer also counts for a killed session, so the question is still listed.
    session.kill();
    assert_eq!(waits(&sandbox, "resumable", "approval")[0]["id"], id);
    assert!(lines(&sandbox, "  s waits for an answer to hook gate")[1].contains(&commands[0]));
    let answer: Vec<&str> = commands[0].split(' ').skip(1).collect();
    assert_eq!(sandbox.run(&answer).code, 0);
    assert_eq!(sandbox.run(&["resume", "s"]).code, 0);
    assert_eq!(sandbox.run(&["status"]).stdout, "nothing runs here\n");
}

#[test]
fn what_a_hook_started_waits_for_is_shown_with_the_session_above_it() {
    let sandbox = a_loop("session:start: [{id: review, type: spawn, pipeline: child}]", "true")
        .file(
            "child.yaml",
            format!(
                "name: child\nprompt: p\ntermination: {{type: fixed, iterations: 1}}\n\
                 agent: {{command: 'true'}}\nhooks: {{stage:complete: [{GATE}]}}\n"
            ),
        );
    let session = started(&sandbox);
    let found = waits(&sandbox, "running", "approval");
    let child = "s--session_start-0";
    let kinds: Vec<_> = found.iter().map(|wait| (&wait["kind"], &wait["session"])).collect();
    assert_eq!(kinds, [(&json!("approval"), &json!(child)), (&json!("hook"), &json!("s"))]);
    assert_eq!(found[1]["child"], child);
    let lines = lines(&sandbox, "  s--");
    assert_eq!(
        lines[0],
        format!("  {child} waits for an answer to hook gate (D left): Shall it go on?")
    );
    assert_eq!(
        lines[2],
        format!("  s waits for hook review at session:start (D), session {child}")
    );
    let reject = found[0]["commands"][0].as_str().unwrap().split(' ').nth(2).unwrap();
    assert_eq!(sandbox.run(&["approve", reject]).code, 0);
    assert_eq!(session.ran().code, 0);
}

#[test]
fn hooks_and_agents_that_run_are_named_with_how_long() {
    let hooks = format!(
        "iteration:start: [{{id: index, await: false, command: '{UNTIL_GO}'}}], \
         iteration:complete: [{{id: tests, await: true, command: '{UNTIL_GO}'}}]"
    );
    let sandbox = a_loop(&hooks, "until [ -e work ]; do sleep 0.05; done");
    let session = started(&sandbox);
    waits(&sandbox, "running", "agent");
    waits(&sandbox, "running", "hook");
    assert_eq!(
        lines(&sandbox, "  s waits"),
        [
            "  s waits for agent command (D)",
            "  s runs hook index at iteration:start, in the background (D)",
        ]
    );
    fs::write(sandbox.path("work"), "").unwrap();
    until("the tests run", || lines(&sandbox, "  s waits for hook tests").len() == 2);
    assert_eq!(
        lines(&sandbox, "  s waits"),
        [
            "  s waits for hook tests at iteration:complete (D)",
            "  s runs hook index at iteration:start, in the background (D)",
        ]
    );
    go(&sandbox);
    assert_eq!(session.ran().code, 0);
}

#[test]
fn at_the_end_it_is_the_hooks_in_the_background_and_when_they_are_tried_again() {
    let hooks = format!(
        "session:end: [{{id: tidy, command: '{UNTIL_GO}'}}, \
         {{id: notify, on_failure: retry, retry_delay: 50, command: 'exit 7'}}]"
    );
    let sandbox = a_loop(&hooks, "true");
    let session = started(&sandbox);
    until("the hook is tried again", || {
        let found = waits(&sandbox, "running", "hook");
        found.iter().any(|wait| !wait["retryAt"].is_null())
    });
    assert_eq!(
        lines(&sandbox, "  s waits"),
        [
            "  s waits for hook tidy at session:end, in the background (D)",
            "  s waits for hook notify at session:end, in the background (D), attempt 2 in D: exit code 7",
        ]
    );
    // A kill would leave the hook behind, which waits for ever.
    drop(session);
}

#[test]
fn another_process_that_has_locked_the_task_is_named() {
    let hooks = format!("hooks: {{task:complete: [{{command: 'echo x >> asked; {UNTIL_GO}'}}]}}");
    let sandbox = Sandbox::with_hooks(&hooks).file(
        "loop.yaml",
        "name: work\nprompt: p\nagent: {command: 'true'}\ntermination: {type: queue}\n",
    );
    assert_eq!(sandbox.run(&["task", "add", "one"]).code, 0);
    let command = start(&sandbox, &["task", "done", "TAS-1"]);
    until("its hooks are asked", || sandbox.path("asked").exists());
    let session = started(&sandbox);
    let found = waits(&sandbox, "running", "lock");
    let [wait] = &found[..] else { panic!("{found:?}") };
    assert_eq!(wait["task"], "TAS-1");
    let pid = command.pid();
    assert_eq!(wait["pid"], pid);
    assert_eq!(
        lines(&sandbox, "  s waits")[0],
        format!("  s waits for process {pid}, which is completing task TAS-1")
    );
    go(&sandbox);
    assert_eq!(command.ran().code, 0);
    assert_eq!(session.ran().code, 0);
    // The hooks ran once.
    assert_eq!(fs::read_to_string(sandbox.path("asked")).unwrap(), "x\n");
}
