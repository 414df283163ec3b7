//! How sessions end: hooks that keep one from stopping, hooks that end it, failures, and running
//! hooks.

use crate::runs::{KEEPS_PROMPTS, lines, logged, prompts, run};
use crate::support::Sandbox;

const LOG: &str = "'*': [{id: log, await: true, command: 'echo \"$EVENT $REASON\" >> log'}]";

fn a_loop(hooks: &str, rest: &str) -> Sandbox {
    Sandbox::with_hooks(&format!("hooks: {{{LOG}, {hooks}}}")).file(
        "loop.yaml",
        format!("prompt: 'task {{${{STATUS.x}}}}'\nagent: {KEEPS_PROMPTS}\n{rest}\n"),
    )
}

fn events(sandbox: &Sandbox) -> Vec<String> {
    let log = lines(sandbox, "log");
    log.iter().filter(|line| line.starts_with("session:")).cloned().collect()
}

#[test]
fn a_blocked_stop_is_one_more_iteration_that_is_told_why() {
    let sandbox = a_loop(
        "session:stop: [{command: 'echo $STOP_HOOK_ACTIVE >> active; [ $ITERATION -ge 3 ] || { echo tests are red >&2; exit 2; }'}]",
        "termination: {type: fixed, iterations: 1}",
    );
    let ran = run(&sandbox, "loop.yaml", 0);
    let prompts = prompts(&sandbox);
    assert_eq!(prompts.len(), 3);
    for prompt in &prompts[1..] {
        let said = "below, and fix what it says is broken.\n\nThe session must not stop yet: tests are red\n\ntask {}";
        assert!(prompt.ends_with(said), "{prompt}");
    }
    assert_eq!(lines(&sandbox, "active"), ["false", "true", "true"]);
    assert_eq!(
        events(&sandbox),
        [
            "session:start ",
            "session:stop completed",
            "session:stop completed",
            "session:stop completed",
            "session:end completed",
        ]
    );
    assert!(ran.stdout.contains("\n  3 iterations, "), "{}", ran.stdout);
}

#[test]
fn after_eight_blocks_it_ends_and_says_so() {
    let sandbox = a_loop(
        "session:stop: [{command: 'echo never >&2; exit 2'}]",
        "termination: {type: fixed, iterations: 1}",
    );
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox).len(), 1 + 8);
    let note = "note: a hook blocked the stop, but it was blocked 8 times before, and the session ends anyway: never\n";
    assert!(ran.stdout.contains(note), "{}", ran.stdout);
}

#[test]
fn max_iterations_overrides_a_block() {
    let sandbox = a_loop(
        "session:stop: [{command: 'echo never >&2; exit 2'}]",
        "termination: {type: fixed, iterations: 1}\nmax_iterations: 3",
    );
    let ran = run(&sandbox, "loop.yaml", 0);
    assert_eq!(prompts(&sandbox).len(), 3);
    let note = "note: a hook blocked the stop, but max_iterations is reached: never\n";
    assert!(ran.stdout.contains(note), "{}", ran.stdout);
}

#[test]
fn max_runtime_overrides_a_block() {
    // A busy machine needs longer until the agent runs; it must have one turn.
    for runtime in (0..8).map(|doubled| 200 << doubled) {
        let hooks = "hooks: {Stop: [{command: 'echo never >&2; exit 2'}]}";
        let sandbox = Sandbox::with_hooks(hooks).file(
            "loop.yaml",
            format!("prompt: p\nagent: {{command: 'echo >> turns; sleep 1000'}}\nmax_runtime: {runtime}ms\n"),
        );
        let ran = run(&sandbox, "loop.yaml", 0);
        let note = "note: a hook blocked the stop, but max_runtime is reached: never\n";
        assert!(ran.stdout.contains(note), "{}", ran.stdout);
        match lines(&sandbox, "turns").len() {
            0 => {}
            turns => return assert_eq!(turns, 1),
        }
    }
    panic!("the agent never came so far as to run");
}

// Conformance: agent-pipelines-019
#[test]
fn a_hook_that_aborts_ends_the_session_at_any_event() {
    for (event, answers) in [
        ("session:start", false),
        ("stage:start", false),
        ("iteration:start", true),
        ("iteration:complete", false),
        ("stage:complete", true),
        ("session:stop", true),
    ] {
        // By its policy, or by its answer.
        let hook = if answers {
            r#"{id: breaker, await: true, command: 'echo "{\"continue\": false, \"stopReason\": \"enough\"}"'}"#
        } else {
            "{id: breaker, on_failure: abort, command: 'echo enough >&2; exit 1'}"
        };
        let sandbox = a_loop(&format!("'{event}': [{hook}]"), "max_iterations: 2");
        let ran = run(&sandbox, "loop.yaml", 3);
        assert!(ran.stdout.contains("session s: aborted ("), "{event}: {}", ran.stdout);
        assert!(ran.stdout.contains("enough"), "{event}: {}", ran.stdout);
        assert!(ran.stdout.ends_with("  resume with: hookwright resume s\n"), "{}", ran.stdout);
        let log = lines(&sandbox, "log");
        assert_eq!(logged(&log, "session:end"), ["aborted"], "{event}: {log:?}");
        let stops = usize::from(event == "session:stop");
        assert_eq!(logged(&log, "session:stop").len(), stops, "{event}: {log:?}");
        // Nothing follows it.
        let position = log.iter().position(|line| line.starts_with(event)).unwrap();
        assert_eq!(log.len(), position + 2, "{event}: {log:?}");
    }
}

// Conformance: autoagent-018
#[test]
fn a_failed_session_stops_and_ends_and_a_block_changes_nothing() {
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks: {{{LOG}, session:stop: [{{command: 'echo never >&2; exit 2'}}]}}"
    ))
    .file("loop.yaml", "prompt: p\nagent: {command: 'echo >> turns; exit 1'}\n");
    run(&sandbox, "loop.yaml", 5);
    assert_eq!(events(&sandbox), ["session:start ", "session:stop error", "session:end failed"]);
    assert_eq!(lines(&sandbox, "turns").len(), 1);
}

#[test]
fn hooks_in_the_background_are_waited_for_and_named() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:end: [{id: open-it, await: true, command: touch go}], iteration:complete: [{id: slow-one, command: 'until [ -e go ]; do sleep 0.01; done; touch done'}]}",
    )
    .file("loop.yaml", "prompt: p\nagent: {command: 'true'}\nmax_iterations: 1\n");
    let ran = run(&sandbox, "loop.yaml", 0);
    assert!(sandbox.path("done").exists());
    // Whether it ended before or during the wait, its end is reported.
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("slow-one")).collect();
    assert!(lines.iter().any(|line| line.contains("success")), "{}", ran.stdout);
}

#[test]
fn whom_we_wait_for_at_the_end_is_said() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {iteration:complete: [{id: slow-one, command: 'until [ -e go ]; do sleep 0.01; done; touch done'}]}",
    )
    .file("loop.yaml", "prompt: p\nagent: {command: 'true'}\nmax_iterations: 1\n");
    let mut started = crate::interrupts::start(&sandbox, &["run", "loop.yaml"]);
    started.wait_for_words("note: waiting for background hooks: slow-one\n");
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(started.ran().code, 0);
    assert!(sandbox.path("done").exists());
}

#[test]
fn an_agent_that_cannot_be_driven_fails_in_words() {
    for (agent, said) in [
        ("{command: 'kill -9 $$'}", "the agent was killed by signal 9"),
        ("{command: 'echo no key >&2; exit 4'}", "the agent exited with 4: no key"),
        ("{script: turns.yaml}", "the agent exited with 1: cannot write `x/y`"),
    ] {
        let sandbox = Sandbox::new()
            .file("loop.yaml", format!("prompt: p\nagent: {agent}\n"))
            .file("turns.yaml", "turns: [[{write: {x/y: z}}]]")
            .file("x", "a file, so there can be no folder");
        let ran = run(&sandbox, "loop.yaml", 5);
        assert!(ran.stdout.contains(&format!("iteration 1 failed: {said}")), "{}", ran.stdout);
    }
}
