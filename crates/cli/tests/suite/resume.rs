//! Sessions that were interrupted, failed or aborted, and how they continue.

use std::path::Path;

use crate::interrupts::{Left, start, until};
use crate::runs::{events, lines, logged, run};
use crate::support::{Ran, Sandbox};

const LOG: &str =
    "'*': [{id: log, await: true, command: 'echo \"$EVENT $ITERATION $REASON $SOURCE\" >> log'}]";

/// A loop of three iterations whose agent hangs in the second one until there is a file `go`.
fn hanging() -> Sandbox {
    Sandbox::with_hooks(&format!("hooks: {{{LOG}}}")).file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 3}\nagent: {command: 'echo agent $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 2 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}\n",
    )
}

fn resume(sandbox: &Sandbox, code: i32) -> Ran {
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    ran
}

// Conformance: autoagent-018, autoagent-058
#[test]
fn an_interrupt_ends_the_agent_runs_the_last_hooks_and_leaves_a_session_to_resume() {
    for signal in ["-INT", "-TERM"] {
        let sandbox = hanging();
        let agent = Left::by(&sandbox, "pid");
        let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
        until("the agent runs", || agent.has_run());
        started.signal(signal);
        let ran = started.ran();
        assert_eq!(ran.code, 130, "{}{}", ran.stdout, ran.stderr);
        until("nothing is left", || agent.is_gone());
        assert!(ran.stderr.contains("interrupted: ending the session"), "{}", ran.stderr);
        assert!(ran.stdout.contains("session s: interrupted\n"), "{}", ran.stdout);
        assert!(ran.stdout.ends_with("  resume with: hookwright resume s\n"), "{}", ran.stdout);
        let log = lines(&sandbox, "log");
        assert_eq!(
            log[log.len() - 4..],
            [
                "agent 2 1",
                "user:interrupt 2  ",
                "session:stop 2 interrupted ",
                "session:end 2 interrupted ",
            ]
        );
        let said = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
        assert_eq!(said.code, 1);
        assert!(
            said.stderr.contains("(interrupted)\nhelp: resume it: `hookwright resume s`"),
            "{}",
            said.stderr
        );

        std::fs::write(sandbox.path("go"), "").unwrap();
        let before = log.len();
        resume(&sandbox, 0);
        assert_eq!(
            lines(&sandbox, "log")[before..],
            [
                "session:start 0  resume",
                "agent 2 2",
                "iteration:complete 2  ",
                "iteration:start 3  ",
                "agent 3 1",
                "iteration:complete 3  ",
                "stage:complete 3  ",
                "session:stop 3 completed ",
                "session:end 3 completed ",
            ]
        );
    }
}

/// A session whose agent ignores every signal until it may end.
fn with_a_stubborn_agent() -> Sandbox {
    Sandbox::with_hooks(&format!("hooks: {{{LOG}}}")).file(
        "loop.yaml",
        "prompt: p\nmax_iterations: 1\nagent: {command: \"trap '' TERM INT HUP; echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done\"}\n",
    )
}

#[test]
fn a_terminal_that_is_closed_says_so_twice_and_the_last_hooks_run_all_the_same() {
    let sandbox = with_a_stubborn_agent();
    let agent = Left::by(&sandbox, "pid");
    let mut started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    started.signal("-HUP");
    started.wait_for_first_words(b"interrupted");
    started.signal("-HUP");
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = started.ran();
    assert_eq!(ran.code, 130, "{}{}", ran.stdout, ran.stderr);
    let log = lines(&sandbox, "log");
    assert_eq!(
        log[log.len() - 3..],
        ["user:interrupt 1  ", "session:stop 1 interrupted ", "session:end 1 interrupted "]
    );
}

#[test]
fn interrupted_twice_it_leaves_at_once_with_nothing_running_and_can_be_resumed() {
    let sandbox = with_a_stubborn_agent();
    let agent = Left::by(&sandbox, "pid");
    let mut started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    started.signal("-INT");
    started.wait_for_first_words(b"interrupted");
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    until("nothing is left", || agent.is_gone());
    let log = lines(&sandbox, "log");
    assert_eq!(logged(&log, "session:end").len(), 0);
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = resume(&sandbox, 0);
    assert!(ran.stdout.contains("iteration 1: the agent works (attempt 2)"), "{}", ran.stdout);
    // It was cut off and had not ended, so it does not start again.
    assert_eq!(logged(&lines(&sandbox, "log"), "session:start").len(), 1);
}

// Conformance: iteratr-018
#[test]
fn an_interrupt_during_a_hook_keeps_the_iteration_that_had_ended() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {iteration:complete: [{id: tests, await: true, command: 'echo tests $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}, {id: behind, await: true, command: echo behind $ITERATION >> log}]}",
    )
    .file("loop.yaml", "prompt: p\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'echo agent $ITERATION >> log'}\n");
    let hook = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the hook runs", || hook.has_run());
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    until("nothing is left", || hook.is_gone());
    std::fs::write(sandbox.path("go"), "").unwrap();
    resume(&sandbox, 0);
    assert_eq!(
        lines(&sandbox, "log"),
        ["agent 1", "tests 1 1", "tests 1 2", "behind 1", "agent 2", "tests 2 1", "behind 2"]
    );
}

#[test]
fn an_interrupt_while_the_stop_is_asked_for_asks_again() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:stop: [{command: 'echo $REASON >> log; if [ ! -e go ] && [ $REASON = completed ]; then echo $$ > pid; exec sleep 1000; fi'}]}",
    )
    .file("loop.yaml", "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo agent >> log'}\n");
    let hook = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the hook runs", || hook.has_run());
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    std::fs::write(sandbox.path("go"), "").unwrap();
    resume(&sandbox, 0);
    assert_eq!(lines(&sandbox, "log"), ["agent", "completed", "interrupted", "completed"]);
}

#[test]
fn wherever_an_interrupt_comes_the_session_goes_on_from_there() {
    let hangs = "if [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi";
    for (hook, agent, rest, log) in [
        // At its start: it had ended, so it starts again.
        (
            format!("session:start: [{{await: true, command: 'echo start $HOOKWRIGHT_ATTEMPT $SOURCE >> log; {hangs}'}}]"),
            "echo agent >> log".to_owned(),
            "",
            &["start 1 startup", "start 1 resume", "agent", "agent"][..],
        ),
        // Between iterations.
        (
            "iteration:complete: [{await: true, when: '${ITERATION} == 1', command: 'echo $$ > pid'}]".to_owned(),
            "echo agent >> log".to_owned(),
            "delay: 1h\n",
            &["agent", "agent"],
        ),
        // In the final delivery.
        (
            "iteration:complete: [{pipe_output: true, when: '${ITERATION} == 2', command: 'echo x; exit 1'}]".to_owned(),
            format!("if grep -q All.iterations; then echo last $HOOKWRIGHT_ATTEMPT >> log; {hangs}; else echo agent >> log; fi"),
            "",
            &["agent", "agent", "last 1", "last 2"],
        ),
        // While a background hook runs.
        (
            "stage:start: [{command: 'echo slow $HOOKWRIGHT_ATTEMPT >> log; if [ ! -e go ]; then until grep -q agent log; do sleep 0.01; done; echo $$ > pid; exec sleep 1000; fi'}]".to_owned(),
            "until grep -q \"slow $HOOKWRIGHT_ATTEMPT\" log; do sleep 0.01; done; echo agent >> log; until [ -e go ]; do sleep 0.01; done".to_owned(),
            "",
            &["slow 1", "agent", "slow 2", "agent", "agent"],
        ),
    ] {
        let sandbox = Sandbox::with_hooks(&format!("hooks: {{{hook}}}")).file(
            "loop.yaml",
            format!("prompt: p\ntermination: {{type: fixed, iterations: 2}}\n{rest}agent:\n  command: |\n    {agent}\n"),
        );
        let left = Left::by(&sandbox, "pid");
        let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
        until("it hangs", || left.has_run());
        started.signal("-INT");
        let ran = started.ran();
        assert_eq!(ran.code, 130, "{hook}: {}{}", ran.stdout, ran.stderr);
        until("nothing is left", || left.is_gone());
        std::fs::write(sandbox.path("go"), "").unwrap();
        if rest.is_empty() {
            resume(&sandbox, 0);
        } else {
            // The long delay is not needed a second time.
            let text = std::fs::read_to_string(sandbox.path("loop.yaml")).unwrap();
            std::fs::write(sandbox.path("loop.yaml"), text.replace(rest, "")).unwrap();
            let ran = sandbox.run(&["resume", "s", "--reload"]);
            assert_eq!(ran.code, 0, "{hook}: {}{}", ran.stdout, ran.stderr);
        }
        assert_eq!(lines(&sandbox, "log"), log, "{hook}");
    }
}

#[test]
fn hook_output_that_an_interrupted_turn_was_given_is_given_again() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {iteration:complete: [{pipe_output: true, when: '${ITERATION} == 1', command: echo fix this}]}",
    )
    .file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'cat > prompt.$ITERATION.$HOOKWRIGHT_ATTEMPT; if [ $ITERATION = 2 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}\n",
    );
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    std::fs::write(sandbox.path("go"), "").unwrap();
    resume(&sandbox, 0);
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    assert_eq!(read("prompt.2.1"), read("prompt.2.2"));
    assert_eq!(read("prompt.2.2").matches("fix this").count(), 1);
}

#[test]
fn a_completed_session_has_nothing_to_resume() {
    let sandbox = Sandbox::new()
        .file("loop.yaml", "prompt: p\nmax_iterations: 1\nagent: {command: 'echo >> ran'}\n");
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(
        sandbox.run(&["resume", "s"]),
        Ran::new(0, "", "session s is completed; there is nothing to resume\n")
    );
    assert_eq!(lines(&sandbox, "ran").len(), 1);
    let unknown = sandbox.run(&["resume", "t"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.starts_with("error: there is no session `t` in this project\n"));
}

#[test]
fn the_iteration_that_failed_is_done_again_and_told_why() {
    let sandbox = Sandbox::with_hooks(&format!("hooks: {{{LOG}}}")).file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'cat > prompt; echo agent $ITERATION $HOOKWRIGHT_ATTEMPT >> log; [ $ITERATION = 1 ] || [ -e go ] || { echo no key >&2; exit 1; }'}\n",
    );
    run(&sandbox, "loop.yaml", 5);
    // It may fail again: that is a separate failure, with its own hooks.
    let before = lines(&sandbox, "log").len();
    resume(&sandbox, 5);
    assert_eq!(
        lines(&sandbox, "log")[before..],
        [
            "session:start 0  resume",
            "iteration:start 2  ",
            "agent 2 2",
            "iteration:error 2  ",
            "session:stop 2 error ",
            "session:end 2 failed ",
        ]
    );
    std::fs::write(sandbox.path("go"), "").unwrap();
    let ran = resume(&sandbox, 0);
    let log = lines(&sandbox, "log");
    let agents: Vec<&str> = logged(&log, "agent");
    assert_eq!(agents, ["1 1", "2 1", "2 2", "2 3"]);
    let told = std::fs::read_to_string(sandbox.path("prompt")).unwrap();
    assert!(told.starts_with("Your last turn failed: the agent exited with 1: no key\n"), "{told}");
    assert!(ran.stdout.contains("\n  2 iterations, "), "{}", ran.stdout);
}

#[test]
fn an_aborted_session_goes_on_behind_the_hook_that_aborted_it() {
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks: {{{LOG}, iteration:complete: [{{on_failure: abort, command: '[ $ITERATION != 1 ]'}}]}}"
    ))
    .file("loop.yaml", "prompt: p\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'echo agent $ITERATION $HOOKWRIGHT_ATTEMPT >> log'}\n");
    run(&sandbox, "loop.yaml", 3);
    resume(&sandbox, 0);
    assert_eq!(logged(&lines(&sandbox, "log"), "agent"), ["1 1", "2 1"]);
    assert_eq!(logged(&lines(&sandbox, "log"), "session:end"), ["1 aborted ", "2 completed "]);
}

#[test]
fn a_stop_that_was_blocked_stays_answered() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {session:stop: [{command: 'echo stop $ITERATION $REASON >> log; [ $ITERATION -ge 3 ] || { echo not yet $ITERATION >&2; exit 2; }'}]}",
    )
    .file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cat > prompt; echo agent $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 3 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}\n",
    );
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    std::fs::write(sandbox.path("go"), "").unwrap();
    resume(&sandbox, 0);
    assert_eq!(
        lines(&sandbox, "log"),
        [
            "agent 1 1",
            "stop 1 completed",
            "agent 2 1",
            "stop 2 completed",
            "agent 3 1",
            "stop 3 interrupted",
            "agent 3 2",
            "stop 3 completed",
        ]
    );
    let told = std::fs::read_to_string(sandbox.path("prompt")).unwrap();
    assert!(told.contains("The session must not stop yet: not yet 2\n"), "{told}");
    assert!(!told.contains("not yet 1"), "{told}");
}

/// A pipeline that fails in its second stage until there is a file `go`.
fn failing_pipeline() -> Sandbox {
    Sandbox::with_hooks("hooks: {iteration:complete: [{await: true, command: echo project >> log}]}")
        .file("pipeline.yaml", "stages: [{loop: one}, {loop: two}]")
        .file("loops/one.yaml", "prompt: p\nagent: {command: 'echo one >> log'}\n")
        .file("loops/two/loop.yaml", "agent: {script: turns.yaml}\n")
        .file("loops/two/prompt.md", "old")
        .file(
            "loops/two/turns.yaml",
            "turns: [[{if_prompt: {contains: new, then: [{run: echo new >> log}], else: [{run: '[ -e go ] && echo old >> log'}]}}]]",
        )
}

#[test]
fn the_configuration_it_began_with_is_kept_whatever_becomes_of_the_files() {
    let sandbox = failing_pipeline();
    run(&sandbox, ".", 5);
    for file in ["pipeline.yaml", "loops/one.yaml", "loops/two/loop.yaml", "loops/two/turns.yaml"] {
        std::fs::remove_file(sandbox.path(file)).unwrap();
    }
    std::fs::write(sandbox.path("loops/two/prompt.md"), "new").unwrap();
    std::fs::write(sandbox.path("hookwright.yaml"), "hooks: {}").unwrap();
    std::fs::write(sandbox.path("go"), "").unwrap();
    resume(&sandbox, 0);
    assert_eq!(lines(&sandbox, "log"), ["one", "project", "old", "project"]);
}

#[test]
fn reload_takes_the_files_as_they_are_now_and_keeps_them() {
    let sandbox = failing_pipeline();
    run(&sandbox, ".", 5);
    std::fs::write(sandbox.path("loops/two/prompt.md"), "new").unwrap();
    std::fs::write(
        sandbox.path("hookwright.yaml"),
        "hooks: {iteration:complete: [{on_failure: abort, command: 'echo changed >> log; false'}]}",
    )
    .unwrap();
    let elsewhere = sandbox.run(&["resume", "s", "--reload", "--cwd", "loops"]);
    assert_eq!(elsewhere.code, 3, "{}{}", elsewhere.stdout, elsewhere.stderr);
    assert!(elsewhere.stdout.contains("resumed for the 1st time, configuration reloaded"));
    assert_eq!(lines(&sandbox, "log"), ["one", "project", "new", "changed"]);
    // From now on this is the session's configuration.
    std::fs::write(
        sandbox.path("hookwright.yaml"),
        "hooks: {session:end: [{await: true, command: echo newest >> log}]}",
    )
    .unwrap();
    let ran = sandbox.run(&["resume", "s", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(lines(&sandbox, "log").len(), 4);
    assert!(events(&ran).iter().all(|event| event["kind"] != "turn_starting"));
}

#[test]
fn a_faulty_file_is_said_on_reload_and_nothing_happens() {
    let sandbox = failing_pipeline();
    run(&sandbox, ".", 5);
    std::fs::remove_file(sandbox.path("loops/one.yaml")).unwrap();
    let ran = sandbox.run(&["resume", "s", "--reload"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.contains("error: there is no loop `one`\n --> pipeline.yaml:1:17\n"),
        "{}",
        ran.stderr
    );
    std::fs::write(sandbox.path("go"), "").unwrap();
    resume(&sandbox, 0);
}

#[test]
fn the_agent_of_the_command_line_is_kept_too() {
    let sandbox =
        Sandbox::new().file("loop.yaml", "prompt: p\ntermination: {type: fixed, iterations: 1}\n");
    let agent = "echo given >> log; [ -e go ]";
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "s", "--agent", agent]).code, 5);
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(sandbox.run(&["resume", "s", "--reload"]).code, 0);
    assert_eq!(lines(&sandbox, "log"), ["given", "given"]);
}

#[test]
fn a_stage_that_has_ended_stays_as_it_ended() {
    let sandbox = Sandbox::new()
        .file(
            "pipeline.yaml",
            "stages:\n  - {name: a, runs: 1, loop: {prompt: p, agent: {command: 'echo a >> log'}}}\n  - {name: b, loop: {prompt: p, agent: {command: '[ -e go ]'}}}\n",
        );
    run(&sandbox, ".", 5);
    let text = std::fs::read_to_string(sandbox.path("pipeline.yaml")).unwrap();
    std::fs::write(sandbox.path("pipeline.yaml"), text.replace("runs: 1", "runs: 5")).unwrap();
    std::fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(sandbox.run(&["resume", "s", "--reload"]).code, 0);
    assert_eq!(lines(&sandbox, "log"), ["a"]);
}

#[test]
fn a_scripted_agent_knows_its_attempt() {
    let sandbox = Sandbox::new()
        .file("loop.yaml", "prompt: p\nmax_iterations: 1\nagent: {script: turns.yaml}\n")
        .file("turns.yaml", "turns: [[{append: {log: \"attempt ${ATTEMPT}\\n\"}}, {write: {running: ''}}, {wait_for: go}]]");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || sandbox.path("running").exists());
    started.signal("-TERM");
    assert_eq!(started.ran().code, 130);
    std::fs::write(sandbox.path("go"), "").unwrap();
    resume(&sandbox, 0);
    assert_eq!(lines(&sandbox, "log"), ["attempt 1", "attempt 2"]);
}

#[test]
fn a_session_that_runs_is_not_run_twice() {
    let sandbox = hanging();
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    let twice = sandbox.run(&["resume", "s"]);
    assert_eq!((twice.code, twice.stdout.as_str()), (1, ""));
    assert!(twice.stderr.contains("is running session `s`"), "{}", twice.stderr);
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    assert!(Path::new(&sandbox.path(".hookwright/sessions/s")).exists());
}
