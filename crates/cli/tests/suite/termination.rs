//! When a stage ends, and the reason it reports.

use crate::interrupts::Left;
use crate::runs::{events, lines, run};
use crate::support::{Ran, Sandbox};

/// Runs a loop or pipeline of this text; returns each stage's iterations and reason to end, then
/// the session's reason.
fn ends(text: &str, turns: &str) -> (Vec<String>, String) {
    let name = if text.contains("stages:") { "pipeline.yaml" } else { "loop.yaml" };
    let sandbox =
        Sandbox::with_hooks("hooks: {session:end: [{await: true, command: echo $REASON >> log}]}")
            .file(name, text)
            .file("turns.yaml", turns);
    let ran = sandbox.run(&["run", ".", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (stages(&ran), lines(&sandbox, "log").concat())
}

fn stages(ran: &Ran) -> Vec<String> {
    let events = events(ran);
    let ended = events.iter().filter(|event| event["kind"] == "stage_ended");
    ended
        .map(|event| format!("{} {}", event["iterations"], event["reason"].as_str().unwrap()))
        .collect()
}

const CONTINUES: &str = "turns: [[{status: {decision: continue}}]]";

fn a_loop(rest: &str) -> String {
    format!("prompt: p\nagent: {{script: turns.yaml}}\n{rest}\n")
}

fn a_stage(rest: &str, of_loop: &str) -> String {
    format!(
        "stages:\n  - {{name: a, {rest} loop: {{prompt: p, agent: {{script: turns.yaml}}, {of_loop}}}}}\n"
    )
}

#[test]
fn every_bound_is_obeyed_and_named() {
    for (text, stage, session) in [
        (a_loop("termination: {type: fixed, iterations: 3}"), "3 completed", "completed"),
        (
            a_loop("termination: {type: fixed, iterations: 3}\nmax_iterations: 2"),
            "2 max_iterations",
            "max_iterations",
        ),
        (
            a_loop("termination: {type: fixed, iterations: 3}\nmax_iterations: 3"),
            "3 completed",
            "completed",
        ),
        (a_loop("max_iterations: 2"), "2 max_iterations", "max_iterations"),
        (a_loop(""), "25 max_iterations", "max_iterations"),
        (
            a_loop("termination: {type: judgment}\nmax_iterations: 4"),
            "4 max_iterations",
            "max_iterations",
        ),
        // `runs` replaces the number of iterations; without anything it is one.
        (a_stage("", ""), "1 completed", "completed"),
        (
            a_stage("runs: 4,", "termination: {type: fixed, iterations: 2}"),
            "4 completed",
            "completed",
        ),
        (a_stage("runs: 4,", ""), "4 completed", "completed"),
        (a_stage("runs: 4,", "max_iterations: 3"), "3 max_iterations", "max_iterations"),
        (
            a_stage("runs: 4,", "termination: {type: fixed, iterations: 2}, max_iterations: 3"),
            "3 max_iterations",
            "max_iterations",
        ),
        // It limits other terminations.
        (
            a_stage("runs: 3,", "termination: {type: judgment}"),
            "3 max_iterations",
            "max_iterations",
        ),
    ] {
        let (stages, reason) = ends(&text, CONTINUES);
        assert_eq!((stages, reason.as_str()), (vec![stage.to_owned()], session), "{text}");
    }
}

#[test]
fn a_session_names_the_bound_that_one_of_its_stages_reached() {
    let text = "stages:
  - {name: a, loop: {prompt: p, agent: {script: turns.yaml}, max_iterations: 2}}
  - {name: b, loop: {prompt: p, agent: {script: turns.yaml}}}
";
    let (stages, reason) = ends(text, CONTINUES);
    assert_eq!(stages, ["2 max_iterations", "1 completed"]);
    assert_eq!(reason, "max_iterations");
}

#[test]
fn judgment_takes_stops_in_a_row_and_not_before_its_time() {
    let turns = |decisions: &[&str]| {
        let turns: Vec<String> = decisions
            .iter()
            .map(|decision| format!("[{{status: {{decision: {decision}}}}}]"))
            .collect();
        format!("turns: [{}]", turns.join(", "))
    };
    for (termination, decisions, iterations) in [
        // Two in a row by default.
        ("{type: judgment}", &["stop", "continue", "stop", "stop", "stop"][..], 4),
        ("{type: judgment, consensus: 1}", &["continue", "stop"], 2),
        ("{type: judgment, consensus: 3}", &["stop", "stop", "continue", "stop"], 6),
        ("{type: judgment, consensus: 1, min_iterations: 3}", &["stop"], 3),
    ] {
        let (stages, reason) =
            ends(&a_loop(&format!("termination: {termination}")), &turns(decisions));
        assert_eq!(stages, [format!("{iterations} completed")], "{termination} {decisions:?}");
        assert_eq!(reason, "completed");
    }
}

#[test]
fn without_a_status_judgment_fails_and_a_fixed_loop_goes_on() {
    let turns = "turns: [[{say: nothing}]]";
    let (stages, _) = ends(&a_loop("termination: {type: fixed, iterations: 2}"), turns);
    assert_eq!(stages, ["2 completed"]);
    let sandbox = Sandbox::new()
        .file("loop.yaml", a_loop("termination: {type: judgment}"))
        .file("turns.yaml", turns);
    let ran = run(&sandbox, "loop.yaml", 5);
    assert!(
        ran.stdout.contains("the agent wrote no status.json, and this loop ends by its judgment"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_broken_status_is_an_error_that_says_so() {
    for (raw, said) in [("{", "status.json"), ("{decision: perhaps}", "status.json")] {
        let sandbox = Sandbox::with_hooks(
            "hooks: {iteration:error: [{await: true, command: 'echo \"$ERROR\" >> log'}]}",
        )
        .file("loop.yaml", a_loop("max_iterations: 1"))
        .file("turns.yaml", format!("turns: [[{{raw_status: '{raw}'}}]]"));
        run(&sandbox, "loop.yaml", 5);
        let log = lines(&sandbox, "log").concat();
        assert!(log.contains(said), "{log}");
    }
}

#[test]
fn an_agent_that_says_error_has_failed() {
    let sandbox = Sandbox::new()
        .file("loop.yaml", a_loop("max_iterations: 3"))
        .file("turns.yaml", "turns: [[{status: {decision: error, reason: no network}}]]");
    let ran = run(&sandbox, "loop.yaml", 5);
    assert!(
        ran.stdout.contains("session s: failed (iteration 1 failed: no network)"),
        "{}",
        ran.stdout
    );
}

#[test]
fn max_runtime_ends_a_hanging_agent_and_the_session_completes() {
    // A busy machine needs longer until the agent runs; then there is something to end.
    for runtime in (0..8).map(|doubled| 300 << doubled) {
        let sandbox = Sandbox::with_hooks(
            "hooks: {iteration:error: [{await: true, command: 'echo \"$ERROR\" >> log'}], session:end: [{await: true, command: echo $REASON >> log}]}",
        )
        .file(
            "pipeline.yaml",
            format!(
                "stages:
  - {{name: a, runs: 5, loop: {{prompt: p, agent: {{command: 'echo $$ > pid; exec sleep 1000'}}, max_runtime: {runtime}ms}}}}
  - {{name: b, loop: {{prompt: p, agent: {{command: 'touch next'}}}}}}
"
            ),
        );
        let agent = Left::by(&sandbox, "pid");
        let ran = sandbox.run(&["run", ".", "--json"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        if !agent.has_run() {
            continue;
        }
        assert_eq!(stages(&ran), ["1 max_runtime", "1 completed"]);
        let log = lines(&sandbox, "log");
        assert_eq!(log, ["the agent was stopped: max_runtime is reached", "max_runtime"]);
        assert!(sandbox.path("next").exists());
        assert!(agent.is_gone(), "the agent still runs");
        return;
    }
    panic!("the agent never came so far as to run");
}

#[test]
fn max_runtime_ends_a_stage_between_iterations_too() {
    let text =
        a_loop("termination: {type: fixed, iterations: 1000000}\nmax_runtime: 300ms\ndelay: 1h");
    let (stages, reason) = ends(&text, CONTINUES);
    // The delay is cut short when the time is over.
    assert_eq!((stages, reason.as_str()), (vec!["1 max_runtime".to_owned()], "max_runtime"));
}

#[test]
fn a_delay_lies_between_iterations_and_not_behind_the_last() {
    let text = a_loop("termination: {type: fixed, iterations: 2}\ndelay: 300ms");
    let started = std::time::Instant::now();
    let (stages, _) = ends(&text, CONTINUES);
    assert_eq!(stages, ["2 completed"]);
    assert!(started.elapsed() >= std::time::Duration::from_millis(300));
    let (stages, _) =
        ends(&a_loop("termination: {type: fixed, iterations: 1}\ndelay: 1h"), CONTINUES);
    assert_eq!(stages, ["1 completed"]);
}

#[test]
fn a_long_wait_says_what_it_waits_for() {
    let sandbox = Sandbox::new()
        .file("loop.yaml", a_loop("termination: {type: fixed, iterations: 2}\ndelay: 1"))
        .file("turns.yaml", CONTINUES);
    let ran = run(&sandbox, "loop.yaml", 0);
    let note = "note: waiting 1.0s before the next iteration\n";
    assert_eq!(ran.stdout.matches(note).count(), 1, "{}", ran.stdout);
}

#[test]
fn a_missing_judgment_is_told_with_the_agents_last_words() {
    for (printed, words) in [
        (
            "echo one; echo '  hooks are not trusted: run hookwright trust  '; echo",
            "; it said last: hooks are not trusted: run hookwright trust",
        ),
        ("echo no key >&2", "; it said last: no key"),
        ("true", ""),
    ] {
        let sandbox = Sandbox::new().file(
            "loop.yaml",
            format!(
                "prompt: p\nagent: {{command: \"{printed}\"}}\ntermination: {{type: judgment}}\n"
            ),
        );
        let ran = run(&sandbox, "loop.yaml", 5);
        let said = format!(
            "iteration 1 failed: the agent wrote no status.json, and this loop ends by its judgment{words})"
        );
        assert!(ran.stdout.contains(&said), "{}", ran.stdout);
    }
}
