//! The usage of child sessions counts for their parent.

use std::fs;

use serde_json::{Value, json};

use crate::docs::timeless;
use crate::interrupts::{Left, start, until};
use crate::runs::{lines, run};
use crate::support::Sandbox;

/// Reports this usage in `status.json`.
fn uses(cost: f64) -> String {
    format!(
        "echo '{{\"decision\": \"continue\", \"usage\": {{\"input_tokens\": 10, \"cost_usd\": {cost}}}}}' > $STATUS"
    )
}

/// A loop of this many iterations with this agent; `more` are further lines.
fn loop_of(iterations: u32, agent: &str, more: &str) -> String {
    format!(
        "prompt: p\ntermination: {{type: fixed, iterations: {iterations}}}\nagent:\n  command: |\n    {agent}\n{more}\n"
    )
}

/// The usage of a session: in all, and of its children.
fn used(sandbox: &Sandbox, session: &str) -> (Value, Value) {
    let (_, shown) = sandbox.json(&["sessions", "show", session, "--json"]);
    let record = &shown["session"];
    let told = &shown["usage"];
    assert_eq!(
        [&told["input_tokens"], &told["cost_usd"]],
        [&record["usage"]["inputTokens"], &record["usage"]["costUsd"]],
        "the timeline says the same"
    );
    (record["usage"].clone(), record["usageOfChildren"].clone())
}

fn sum(input_tokens: u64, cost_usd: f64) -> Value {
    json!({ "inputTokens": input_tokens, "outputTokens": 0, "costUsd": cost_usd })
}

#[test]
fn what_a_child_costs_counts_for_the_bound_of_its_parent_and_is_told_apart() {
    let hooks = "max_cost: 1\nhooks: {iteration:complete: [{id: review, pipeline: review}]}";
    let own = format!("echo x >> turns; {}", uses(0.25));
    let sandbox = Sandbox::new()
        .file("work.yaml", loop_of(3, &own, hooks))
        .file("review.yaml", loop_of(1, &uses(0.5), ""));
    let ran = run(&sandbox, "work.yaml", 6);
    let summary = timeless(&ran.stdout);
    let summary = summary.split_once("\nsession s: ").expect("the last lines").1;
    assert_eq!(
        summary,
        "paused (the session has cost $1.50, and max_cost is $1.00)
  2 iterations, hooks: 2 success, N s, 40 tokens, $1.50 (children: 20 tokens, $1.00)
  files: .hookwright/sessions/s
  resume with: hookwright resume s --max-cost 3
"
    );
    assert_eq!(lines(&sandbox, "turns").len(), 2);
    assert_eq!(used(&sandbox, "s"), (sum(40, 1.5), sum(20, 1.0)));
    let resumed = sandbox.run(&["resume", "s", "--max-cost", "3"]);
    assert_eq!((resumed.code, lines(&sandbox, "turns").len()), (0, 3), "{}", resumed.stdout);
    assert_eq!(used(&sandbox, "s"), (sum(60, 2.25), sum(30, 1.5)));
    assert_eq!(used(&sandbox, "s--iteration_complete-1"), (sum(10, 0.5), Value::Null));
}

#[test]
fn a_child_that_nothing_waits_for_counts_as_far_as_is_known() {
    let hooks = "max_cost: 4\nhooks: {iteration:complete: [{pipeline: review, await: false, when: \"${ITERATION} == 1\"}]}";
    // The second iteration ends when the session knows the usage of the child, which continues. The
    // journal also contains this text itself, with its quotes escaped.
    let own = "echo x >> turns; [ $ITERATION = 1 ] || until $HOOKWRIGHT_BIN sessions log s --json | grep -q '\"kind\":\"child_used\"'; do sleep 0.01; done";
    let review =
        format!("[ $ITERATION = 1 ] || until [ -e go ]; do sleep 0.01; done; {}", uses(5.0));
    let sandbox = Sandbox::new()
        .file("work.yaml", loop_of(3, own, hooks))
        .file("review.yaml", loop_of(2, &review, ""));
    let mut started = start(&sandbox, &["run", "work.yaml", "--session", "s"]);
    started.wait_for_words("paused: the session has cost $5.00, and max_cost is $4.00");
    assert_eq!(used(&sandbox, "s"), (sum(10, 5.0), sum(10, 5.0)));
    fs::write(sandbox.path("go"), "").unwrap();
    assert_eq!(started.ran().code, 6);
    assert_eq!(lines(&sandbox, "turns").len(), 2);
    assert_eq!(used(&sandbox, "s"), (sum(20, 10.0), sum(20, 10.0)));
}

#[test]
fn a_child_counts_for_the_stage_that_started_it() {
    let pipeline = |of_all: &str| {
        let agent = format!("{{command: {}}}", json!(format!("echo x >> turns; {}", uses(0.25))));
        format!(
            "{of_all}\nstages:\n  \
             - {{name: a, runs: 1, loop: {{prompt: p, agent: {agent}, hooks: {{iteration:complete: [{{pipeline: review}}]}}}}}}\n  \
             - {{name: b, runs: 2, loop: {{prompt: p, agent: {agent}, max_cost: 1}}}}\n"
        )
    };
    for (of_all, code, turns, all) in
        [("max_cost: 9", 0, 3, sum(40, 5.75)), ("max_cost: 5", 6, 1, sum(20, 5.25))]
    {
        let sandbox = Sandbox::new()
            .file("pipeline.yaml", pipeline(of_all))
            .file("review.yaml", loop_of(1, &uses(5.0), ""));
        run(&sandbox, "pipeline.yaml", code);
        assert_eq!(lines(&sandbox, "turns").len(), turns, "{of_all}");
        assert_eq!(used(&sandbox, "s"), (all, sum(10, 5.0)), "{of_all}");
    }
}

#[test]
fn a_resumed_child_is_counted_once_however_deep_it_is() {
    let review = format!(
        "if [ $ITERATION = 2 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi; {}",
        uses(0.5)
    );
    let sandbox = Sandbox::new()
        .file("work.yaml", loop_of(1, &uses(0.25), "hooks: {stage:complete: [{pipeline: middle}]}"))
        .file(
            "middle.yaml",
            loop_of(1, &uses(0.25), "hooks: {iteration:complete: [{pipeline: review}]}"),
        )
        .file("review.yaml", loop_of(3, &review, ""));
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "work.yaml", "--session", "s"]);
    until("the innermost agent runs", || agent.has_run());
    started.kill();
    assert_eq!(used(&sandbox, "s"), (sum(30, 1.0), sum(20, 0.75)));
    fs::write(sandbox.path("go"), "").unwrap();
    let resumed = sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    let deepest = "s--stage_complete-1--iteration_complete-1";
    for (session, all, of_children) in [
        ("s", sum(50, 2.0), sum(40, 1.75)),
        ("s--stage_complete-1", sum(40, 1.75), sum(30, 1.5)),
        (deepest, sum(30, 1.5), Value::Null),
    ] {
        assert_eq!(used(&sandbox, session), (all, of_children), "{session}");
    }
}
