//! What a session's record and its events contain: its configuration, the issues it plans to work
//! on, its maximum number of iterations.

use serde_json::{Value, json};

use crate::runs::{lines, run};
use crate::support::Sandbox;

const ISSUES: &str = "termination: {type: queue, source: {issues: issues/}}\n";

fn record(sandbox: &Sandbox) -> Value {
    let (code, mut shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    assert_eq!(code, 0);
    shown["session"].take()
}

// Conformance: autoagent-055
#[test]
fn the_arguments_of_a_session_are_those_that_were_given() {
    let sandbox = Sandbox::new().file("loop.yaml", "prompt: p\nmax_iterations: 1\n");
    let given = [
        "loop.yaml",
        "--no-global-hooks",
        "--max-cost=2.5",
        "--skip",
        "none",
        "--agent",
        "true # it's",
        "--session",
        "s",
    ];
    let ran = sandbox.run(&[&["run"], &given[..]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let record = record(&sandbox);
    assert_eq!((&record["command"], &record["args"]), (&json!("run"), &json!(given)));
}

// Conformance: autoagent-056
#[test]
fn issues_are_planned_from_the_beginning_and_those_that_come_later_are_added() {
    let look = "'$HOOKWRIGHT_BIN sessions show s --json | tr -d \"\\n \" | \
                grep -o \"issuesPlanned\\\":[^]]*\" >> ../planned'";
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks: {{'session:start': [{{await: true, command: {look}}}], 'execution:pre_start': [{{command: \
         {look}}}]}}"
    ))
    .file("issues/1-a.md", "# A\n")
    .file("issues/2-b.md", "# B\n")
    .file(
        "loop.yaml",
        format!("prompt: p\nagent: {{command: '[ -e issues/7-c.md ] || echo c > issues/7-c.md'}}\n{ISSUES}"),
    );
    run(&sandbox, "loop.yaml", 0);
    let planned = |numbers: &str| format!("issuesPlanned\":[{numbers}");
    assert_eq!(
        lines(&sandbox, "../planned"),
        [planned("1,2"), planned("1,2"), planned("1,2,7"), planned("1,2,7")]
    );
    assert_eq!(record(&sandbox)["issuesPlanned"], json!([1, 2, 7]));
    assert_eq!(record(&sandbox)["issuesCompleted"], json!([1, 2, 7]));
}

/// A hook at every event that writes the maximum number of iterations.
const KEEPS_MOST: &str =
    "hooks: {'*': [{await: true, command: 'echo \"$EVENT <$MAX_ITERATIONS>\" >> log'}]}";

// Conformance: autoagent-056, autoagent-057
#[test]
fn while_an_issue_is_worked_on_it_is_the_current_one_and_those_before_it_are_completed() {
    // A script of its own, since a loop file would have to quote it.
    let look = "#!/bin/sh\n$HOOKWRIGHT_BIN sessions show s --json | \
                jq -c '.session | [.status, .currentIssue, .issuesCompleted]' >> ../seen\n";
    let sandbox = Sandbox::new()
        .file("issues/1-a.md", "# A\n")
        .file("issues/2-b.md", "# B\n")
        .program("look", look)
        .file("loop.yaml", format!("prompt: p\nagent: {{command: ./look}}\n{ISSUES}"));
    run(&sandbox, "loop.yaml", 0);
    assert_eq!(lines(&sandbox, "../seen"), [r#"["active",1,[]]"#, r#"["active",2,[1]]"#]);
    assert_eq!(record(&sandbox)["currentIssue"], Value::Null);
    assert_eq!(record(&sandbox)["status"], "completed");
}

#[test]
fn max_iterations_of_a_single_loop_is_told_at_every_event() {
    let sandbox = Sandbox::with_hooks(KEEPS_MOST)
        .file("loop.yaml", "prompt: p\nagent: {command: 'true'}\nmax_iterations: 1\n");
    run(&sandbox, "loop.yaml", 0);
    let log = lines(&sandbox, "log");
    assert!(log.contains(&"session:start <1>".to_owned()), "{log:?}");
    assert!(log.iter().all(|line| line.ends_with(" <1>")), "{log:?}");
}

#[test]
fn a_pipeline_has_max_iterations_by_stage_and_none_of_its_own() {
    let loops = "- {name: a, loop: {prompt: p, agent: {command: 'true'}}, runs: 2}\n  - {name: b, loop: \
                 {prompt: p, agent: {command: 'true'}}, runs: 1}\n";
    let sandbox =
        Sandbox::with_hooks(KEEPS_MOST).file("pipeline.yaml", format!("stages:\n  {loops}"));
    run(&sandbox, "pipeline.yaml", 0);
    let log = lines(&sandbox, "log");
    for expected in ["session:start <>", "stage:start <2>", "stage:start <1>", "session:end <>"] {
        assert!(log.iter().any(|line| line == expected), "{expected}: {log:?}");
    }
}

#[test]
fn a_queue_of_issues_without_a_bound_tells_none() {
    let agent = "agent: {command: 'cat $CTX > ../context; echo \"<$MAX_ITERATIONS>\" >> log'}";
    let text = format!("prompt: 'at most \"${{MAX_ITERATIONS}}\"'\n{agent}\n{ISSUES}");
    let sandbox =
        Sandbox::with_hooks(KEEPS_MOST).file("issues/1-a.md", "# A\n").file("loop.yaml", text);
    run(&sandbox, "loop.yaml", 0);
    let log = lines(&sandbox, "log");
    assert!(log.len() > 8 && log.iter().all(|line| line.ends_with("<>")), "{log:?}");
    let context: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("../context")).unwrap())
            .unwrap();
    assert_eq!(context["limits"]["max_iterations"], -1);
}
