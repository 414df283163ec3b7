//! `agent: builtin` in a list of agents: which failures of its model hand the work to the next one.

use std::net::TcpListener;

use hookwright_model_server::ModelScript;
use serde_json::{Value, json};

use crate::loop_bench::{LoopBench, bash, of_kind, text};

const LIST: &str = "agent: [{type: builtin, permissions: {allow: [bash]}}, {command: 'touch ran'}]\n\
                    prompt: go\nmax_iterations: 1\n";

/// As many errors as the agent makes attempts.
const ATTEMPTS: usize = 6;

fn bench(turns: &[Value]) -> LoopBench {
    let script = json!({ "turns": turns }).to_string();
    LoopBench::with_script(ModelScript::parse(&script).unwrap(), LIST)
}

/// The one record of a turn that was given up.
fn given_up(bench: &LoopBench) -> Value {
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(bench.sandbox.path("ran").exists(), "the next agent works: {}", ran.stdout);
    let journal = bench.journal();
    let given_up = of_kind(&journal, "turn_given_up");
    let [given_up] = given_up[..] else { panic!("{given_up:?}") };
    let cause = given_up["cause"].as_str().unwrap();
    let told = format!("builtin cannot work ({cause})");
    assert!(ran.stdout.contains(&told), "{told}: {}", ran.stdout);
    assert_eq!(given_up["agent"], "builtin");
    given_up.clone()
}

fn error(error: Value) -> Value {
    json!({ "error": error })
}

#[test]
fn an_agent_without_a_key_that_works_hands_over_to_the_next() {
    let script = ModelScript::parse("key: sk-another-key\nturns: [{content: []}]").unwrap();
    let bench = LoopBench::with_script(script, LIST);
    assert_eq!(given_up(&bench)["cause"], "auth");
}

#[test]
fn a_rate_limit_with_a_long_wait_hands_over_at_once_and_says_until_when() {
    let bench = bench(&[error(json!({ "status": 429, "retry_after": 3000 }))]);
    let given_up = given_up(&bench);
    assert_eq!(given_up["cause"], "rate_limit");
    assert_eq!(bench.server.requests().len(), 1);
    let time = |value: &Value| -> jiff::Timestamp { value.as_str().unwrap().parse().unwrap() };
    let wait = time(&given_up["until"]).as_second() - time(&given_up["at"]).as_second();
    assert!((2990..=3000).contains(&wait), "{given_up}");
}

#[test]
fn a_rate_limit_an_outage_and_an_unreachable_server_hand_over_after_some_attempts() {
    // A server that names no wait is asked again after waits of the agent's own, so all run at once.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    std::thread::scope(|scope| {
        for (failure, cause) in [
            (json!({ "status": 429 }), "rate_limit"),
            (json!({ "status": 429, "retry_after": 0 }), "rate_limit"),
            (json!({ "status": 500 }), "outage"),
            (json!({ "status": 503, "retry_after": 0 }), "outage"),
            (json!({ "status": 529 }), "outage"),
        ] {
            scope.spawn(move || {
                let bench = bench(&vec![error(failure.clone()); ATTEMPTS]);
                assert_eq!(given_up(&bench)["cause"], cause, "{failure}");
                assert_eq!(bench.server.requests().len(), ATTEMPTS, "{failure}");
            });
        }
        scope.spawn(move || {
            let bench = bench(&[]);
            let url = format!("http://{closed}");
            let sandbox = bench.sandbox.set("ANTHROPIC_BASE_URL", &url);
            let bench = LoopBench { sandbox, ..bench };
            assert_eq!(given_up(&bench)["cause"], "outage");
        });
    });
}

#[test]
fn an_account_without_credit_hands_over_at_once() {
    let low = "Your credit balance is too low to access the Anthropic API.";
    for failure in [json!({ "status": 400, "message": low }), json!({ "status": 402 })] {
        let bench = bench(&[error(failure.clone())]);
        assert_eq!(given_up(&bench)["cause"], "quota", "{failure}");
        assert_eq!(bench.server.requests().len(), 1, "{failure}");
    }
}

#[test]
fn what_a_turn_used_before_it_was_given_up_is_counted_and_the_next_agent_starts_over() {
    let mut calls = bash("touch worked");
    calls["usage"] = json!({ "input_tokens": 100, "output_tokens": 7 });
    let bench = bench(&[calls, error(json!({ "status": 429, "retry_after": 3000 }))]);
    let given_up = given_up(&bench);
    assert!(bench.sandbox.path("worked").exists());
    let usage = &given_up["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["output_tokens"]),
        (&json!(100), &json!(7)),
        "{given_up}"
    );
    let (_, list) = bench.sandbox.json(&["sessions", "list", "--json"]);
    let usage = &list["sessions"][0]["usage"];
    assert_eq!((&usage["inputTokens"], &usage["outputTokens"]), (&json!(100), &json!(7)), "{list}");
}

#[test]
fn a_refusal_that_is_about_the_request_ends_the_turn_and_hands_nothing_over() {
    let loop_file = "agent: [builtin, {command: 'touch ran'}]\nprompt: go\nmax_iterations: 1\n";
    let script = json!({ "turns": [error(json!({ "status": 400, "message": "prompt is odd" }))] });
    let script = ModelScript::parse(&script.to_string()).unwrap();
    let bench = LoopBench::with_script(script, loop_file);
    let ran = bench.run();
    assert_eq!(of_kind(&bench.journal(), "turn_given_up").len(), 0, "{}", ran.stdout);
    assert!(!bench.sandbox.path("ran").exists());
    assert!(ran.stdout.contains("prompt is odd"), "{}", ran.stdout);
}

#[test]
fn an_agent_is_left_alone_while_its_limit_lasts() {
    let turns = [
        error(json!({ "status": 429, "retry_after": 121 })),
        text("never asked while the limit lasts"),
    ];
    let loop_file = "agent: [builtin, {command: 'echo x >> ran'}]\nprompt: go\nmax_iterations: 2\n";
    let script = ModelScript::parse(&json!({ "turns": turns }).to_string()).unwrap();
    let bench = LoopBench::with_script(script, loop_file);
    let ran = bench.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    // The second iteration goes to the second agent at once.
    assert_eq!(bench.server.requests().len(), 1);
    let worked = std::fs::read_to_string(bench.sandbox.path("ran")).unwrap();
    assert_eq!(worked.lines().count(), 2);
}
