//! Questions and other hooks that end a session at any point, and what a resumed session does
//! there.

use crate::interrupts::{start, until};
use crate::runs::{lines, logged, run};
use crate::support::{Ran, Sandbox};

/// Logs the hook and its event.
const LOG: &str = "await: true, command: 'echo \"$EVENT $HOOKWRIGHT_HOOK\" >> log'";

const GATE: &str = "{id: gate, type: webhook, await: true, body: {text: 'Shall it go on?'}}";

fn project(hooks: &str) -> Sandbox {
    Sandbox::with_hooks(&format!("callback: {{port: 0}}\nhooks: {{{hooks}}}\n")).file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'echo agent $ITERATION >> log'}\ntermination: {type: fixed, iterations: 2}\n",
    )
}

/// A hook before the gate and one after it, at this event.
fn around(event: &str, gate: &str) -> Sandbox {
    project(&format!("'{event}': [{{id: before, {LOG}}}, {gate}, {{id: behind, {LOG}}}]"))
}

/// Runs this to its end, and answers each question.
fn answered(sandbox: &Sandbox, arguments: &[&str], answers: &[&str]) -> Ran {
    let session = start(sandbox, arguments);
    for answer in answers {
        let waiting = || {
            let (_, waits) = sandbox.json(&["approvals", "--json"]);
            waits[0]["id"].as_str().map(str::to_owned)
        };
        until("somebody is asked", || waiting().is_some());
        let id = waiting().unwrap();
        let said = sandbox.run(&[*answer, &id]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    }
    session.ran()
}

fn run_and(sandbox: &Sandbox, answers: &[&str]) -> Ran {
    answered(sandbox, &["run", "loop.yaml", "--session", "s"], answers)
}

const RESUME: [&str; 2] = ["resume", "s"];

#[test]
fn a_rejected_question_is_asked_again_and_the_other_hooks_of_its_point_run_once() {
    for (event, at) in [
        ("session:start", 0),
        ("stage:start", 0),
        ("iteration:start", 0),
        ("iteration:complete", 1),
        ("stage:complete", 2),
        ("session:stop", 2),
        ("on_session_complete", 2),
    ] {
        // At events where a no would block, it ends the session here too.
        let sandbox = around(event, &GATE.replace("await", "on_reject: abort, await"));
        let ran = run_and(&sandbox, &["reject"]);
        assert_eq!(ran.code, 3, "{event}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("session s: aborted (rejected by "), "{event}: {}", ran.stdout);
        let hint = "  resume with: hookwright resume s\n  the hook will ask again; to skip its question: \
                    hookwright resume s --skip-gate gate\n";
        assert!(ran.stdout.ends_with(hint), "{event}: {}", ran.stdout);
        let log = lines(&sandbox, "log");
        assert_eq!(logged(&log, "agent").len(), at, "{event}: {log:?}");
        assert!(!log.iter().any(|line| line.ends_with(" behind")), "{event}: {log:?}");
        // No again, then yes.
        let ran = answered(&sandbox, &RESUME, &["reject"]);
        assert_eq!(ran.code, 3, "{event}: {}{}", ran.stdout, ran.stderr);
        let times = if event.starts_with("iteration:") { 2 } else { 1 };
        let ran = answered(&sandbox, &RESUME, &["approve"; 2][..times]);
        assert_eq!(ran.code, 0, "{event}: {}{}", ran.stdout, ran.stderr);
        let log = lines(&sandbox, "log");
        assert_eq!(logged(&log, "agent"), ["1", "2"], "{event}: {log:?}");
        let count = |id: &str| log.iter().filter(|line| line.ends_with(id)).count();
        // An ended session starts again whenever it is resumed, and asks again whether it may stop.
        let before = if matches!(event, "session:start" | "session:stop") { 3 } else { times };
        assert_eq!((count(" before"), count(" behind")), (before, times), "{event}: {log:?}");
    }
}

#[test]
fn a_question_that_is_passed_is_said_and_not_asked_again() {
    for event in ["session:start", "stage:complete", "on_session_complete"] {
        let sandbox = around(event, GATE);
        assert_eq!(run_and(&sandbox, &["reject"]).code, 3, "{event}");
        let ran = sandbox.run(&["resume", "s", "--skip-gate", "gate", "--skip-gate", "other"]);
        assert_eq!(ran.code, 0, "{event}: {}{}", ran.stdout, ran.stderr);
        for note in [
            "note: the question of hook gate is skipped (--skip-gate)\n",
            "note: --skip-gate other: no question of a hook with this id has ended the session\n",
        ] {
            assert!(ran.stdout.contains(note), "{event}: {}", ran.stdout);
        }
        let log = lines(&sandbox, "log");
        assert_eq!(log.iter().filter(|line| line.ends_with(" behind")).count(), 1, "{log:?}");
    }
}

#[test]
fn a_question_with_once_that_was_rejected_is_asked_again() {
    let sandbox = around("iteration:complete", &GATE.replace("id: gate", "id: gate, once: true"));
    assert_eq!(run_and(&sandbox, &["reject"]).code, 3);
    assert_eq!(answered(&sandbox, &RESUME, &["approve"]).code, 0);
    let log = lines(&sandbox, "log");
    assert_eq!(logged(&log, "agent"), ["1", "2"], "{log:?}");
}

#[test]
fn an_abort_at_the_end_of_a_session_is_an_abort_and_its_other_hooks_run_when_it_is_resumed() {
    let breaker = "{id: breaker, on_failure: abort, command: 'echo enough >&2; exit 1'}";
    for event in ["session:end", "on_session_complete"] {
        let sandbox = project(&format!(
            "session:start: [{{id: begins, {LOG}}}], session:stop: [{{id: stops, {LOG}}}], \
             {event}: [{{id: before, {LOG}}}, {breaker}, {{id: behind, {LOG}}}]"
        ));
        let ran = run(&sandbox, "loop.yaml", 3);
        assert!(ran.stdout.contains("session s: aborted (hook breaker failed"), "{}", ran.stdout);
        let ended = [
            "session:start begins",
            "agent 1",
            "agent 2",
            "session:stop stops",
            "session:end before",
        ];
        assert_eq!(lines(&sandbox, "log"), ended);
        let (_, listed) = sandbox.json(&["sessions", "show", "s", "--json"]);
        assert_eq!(listed["session"]["status"], "aborted");
        let ran = sandbox.run(&RESUME);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(lines(&sandbox, "log")[ended.len()..], ["session:end behind"]);
        assert!(sandbox.run(&RESUME).stderr.contains("session s is completed"));
    }
}

#[test]
fn an_abort_at_the_end_of_a_failed_session_says_both() {
    let sandbox = project(
        "session:end: [{id: breaker, on_failure: abort, command: 'echo enough >&2; exit 1'}]",
    )
    .file("loop.yaml", "prompt: p\nagent: {command: 'exit 7'}\n");
    let ran = run(&sandbox, "loop.yaml", 3);
    let said = "session s: aborted (hook breaker failed (exit code 1: enough); before that it was failed: \
                iteration 1 failed: the agent exited with 7)\n";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

#[test]
fn hooks_behind_one_that_ended_the_session_run_when_it_is_resumed() {
    let stops = r#"{id: breaker, await: true, command: 'echo "{\"continue\": false}"'}"#;
    let sandbox = around("iteration:complete", stops);
    run(&sandbox, "loop.yaml", 3);
    for code in [3, 0] {
        let ran = sandbox.run(&RESUME);
        assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    }
    let (before, behind) = ("iteration:complete before", "iteration:complete behind");
    assert_eq!(lines(&sandbox, "log"), ["agent 1", before, behind, "agent 2", before, behind]);
}
