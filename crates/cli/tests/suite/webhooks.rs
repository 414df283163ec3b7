//! Webhooks of the real binary: what `fire` and `run` send, people who decide, and `kill -9`
//! between any two steps of a question.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hookwright_pipeline::lease::LocalProcesses;
use hookwright_store::{KeptWaits, SqliteStore};
use serde_json::{Value, json};

use crate::interrupts::{start, until};
use crate::receiver::{Receiver, post, tls};
use crate::runs::lines;
use crate::support::{Sandbox, repository};

/// A session of one iteration that asks a person when its stage is complete.
fn gated(receiver: &Receiver) -> Sandbox {
    let url = receiver.url();
    Sandbox::with_hooks(&format!(
        "callback: {{port: 0}}
hooks:
  on_stage_complete:
    - id: gate
      url: '{url}'
      await: true
      body: {{ text: 'Plan ready', link: '${{CALLBACK_URL}}', at: '${{TIMESTAMP}}' }}
    - id: after
      await: true
      command: echo \"${{HOOK_RESPONSE.action}} $HOOKWRIGHT_ATTEMPT\" >> after
  session:end:
    - await: true
      command: echo \"$REASON ${{HOOK_RESPONSE.message}}\" >> after
"
    ))
    .file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 1}\n\
         agent: {command: 'echo agent >> after'}\n",
    )
}

/// The stored waits.
fn waits(sandbox: &Sandbox) -> Vec<hookwright_events::Wait> {
    let folder = sandbox.path("../.local/state/hookwright");
    let Ok(Some(store)) = SqliteStore::find(&folder) else { return Vec::new() };
    KeptWaits::new(Arc::new(store), Arc::new(LocalProcesses)).waiting(0).unwrap_or_default()
}

fn link(body: &Value) -> String {
    body["link"].as_str().unwrap().to_owned()
}

/// Starts the session and kills it once this holds.
fn kill_when(sandbox: &Sandbox, what: &str, holds: impl Fn() -> bool) {
    let started = start(sandbox, &["run", "loop.yaml", "--session", "s"]);
    until(what, holds);
    started.signal("-KILL");
}

const DONE: [&str; 3] = ["agent", "approve 1", "completed go"];

#[test]
fn killed_before_its_request_had_arrived_a_session_sends_the_same_one_and_waits_on() {
    let receiver = Receiver::new();
    receiver.hold(true);
    let sandbox = gated(&receiver);
    kill_when(&sandbox, "the request is on its way", || receiver.got().len() == 1);
    assert_eq!(waits(&sandbox).iter().map(|wait| wait.sent).collect::<Vec<_>>(), [false]);
    receiver.hold(false);
    let resumed = start(&sandbox, &["resume", "s"]);
    let again = receiver.wait_for(2);
    assert_eq!(again, receiver.got()[0]);
    until("it is known to have arrived", || waits(&sandbox).iter().all(|wait| wait.sent));
    assert_eq!(post(&link(&again.body), r#"{"action": "approve", "message": "go"}"#), 200);
    let ran = resumed.ran();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "after"), DONE);
    assert_eq!(receiver.got().len(), 2);
}

// Conformance: agent-pipelines-028
#[test]
fn killed_after_its_request_had_arrived_a_session_waits_on_at_the_same_address() {
    let receiver = Receiver::new();
    let sandbox = gated(&receiver);
    let has_arrived = || waits(&sandbox).iter().any(|wait| wait.sent);
    kill_when(&sandbox, "the request has arrived", has_arrived);
    let until_ms = waits(&sandbox)[0].until_ms;
    let mut resumed = start(&sandbox, &["resume", "s"]);
    resumed.wait_for_words(&link(&receiver.got()[0].body));
    assert_eq!(waits(&sandbox)[0].until_ms, until_ms);
    let body = r#"{"action": "approve", "message": "go"}"#;
    assert_eq!(post(&link(&receiver.got()[0].body), body), 200);
    let ran = resumed.ran();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "after"), DONE);
    assert_eq!(receiver.got().len(), 1);
}

#[test]
fn an_answer_that_came_while_nothing_ran_is_used_once() {
    for (word, code, expected) in [
        ("approve", 0, ["agent", "approve 1", "completed go"].as_slice()),
        ("reject", 3, ["agent", "aborted go"].as_slice()),
    ] {
        let receiver = Receiver::new();
        let sandbox = gated(&receiver);
        let has_arrived = || waits(&sandbox).iter().any(|wait| wait.sent);
        kill_when(&sandbox, "the request has arrived", has_arrived);
        let id = waits(&sandbox)[0].id.clone();
        assert_eq!(sandbox.run(&[word, &id, "-m", "go"]).code, 0);
        let ran = sandbox.run(&["resume", "s"]);
        assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(lines(&sandbox, "after"), expected);
        assert_eq!(receiver.got().len(), 1);
    }
}

#[test]
fn an_interrupt_leaves_the_question_for_resume() {
    let receiver = Receiver::new();
    let sandbox = gated(&receiver);
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the request has arrived", || waits(&sandbox).iter().any(|wait| wait.sent));
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    let id = waits(&sandbox)[0].id.clone();
    assert_eq!(sandbox.run(&["approve", &id, "-m", "go"]).code, 0);
    assert_eq!(sandbox.run(&["resume", "s"]).code, 0);
    assert_eq!(receiver.got().len(), 1);
    assert_eq!(lines(&sandbox, "after").last().map(String::as_str), Some("completed go"));
}

// Conformance: agent-pipelines-097
#[test]
fn a_session_shows_what_it_waits_for_and_its_journal_has_no_address() {
    let receiver = Receiver::new();
    let sandbox = gated(&receiver);
    let mut started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    started.wait_for_words("waiting for a person (hook gate), since ");
    started.wait_for_words("Plan ready\n");
    let url = link(&receiver.wait_for(1).body);
    started.wait_for_words(&url);
    let id = waits(&sandbox)[0].id.clone();
    started.wait_for_words(&format!("hookwright approve {id}, or hookwright reject {id}\n"));
    assert_eq!(post(&url, r#"{"action": "ok"}"#), 200);
    assert_eq!(started.ran().code, 0);
    let token = url.rsplit('/').next().unwrap();
    let log = sandbox.run(&["sessions", "log", "s", "--json"]).stdout;
    assert!(log.contains("hook_waiting") && !log.contains(token), "{log}");
}

#[test]
fn fire_delivers_what_nothing_waits_for_before_it_ends() {
    let receiver = Receiver::new();
    let url = receiver.url();
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks: {{session:end: [{{id: tell, url: '{url}', body: {{text: '${{REASON}}'}}}}]}}"
    ));
    let ran = sandbox.run(&["fire", "session:end", "--data", r#"{"reason": "completed"}"#]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let bodies: Vec<Value> = receiver.got().into_iter().map(|got| got.body).collect();
    assert_eq!(bodies, [json!({ "text": "completed" })]);
}

#[test]
fn a_person_or_a_response_decides_what_fire_was_asked_about() {
    let receiver = Receiver::new().saying(r#"{"decision": "deny", "reason": "closed"}"#);
    let url = receiver.url();
    let sandbox =
        Sandbox::with_hooks(&format!("hooks: {{tool:pre_execute: [{{id: ask, url: '{url}'}}]}}"));
    let (code, record) = sandbox.json(&["fire", "tool:pre_execute", "--json"]);
    assert_eq!((code, record["reason"].as_str()), (2, Some("closed")));

    let sandbox = Sandbox::with_hooks(&format!(
        "callback: {{port: 0}}\nhooks: {{tool:pre_execute: [{{id: ask, url: '{url}', await: true, \
         body: {{link: '${{CALLBACK_URL}}'}}}}]}}"
    ));
    let started = start(&sandbox, &["fire", "tool:pre_execute", "--json"]);
    let asked = receiver.wait_for(2);
    assert_eq!(post(&link(&asked.body), r#"{"action": "no", "message": "not now"}"#), 200);
    let ran = started.ran();
    let record: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, record["reason"].as_str()), (2, Some("not now")));
    assert!(ran.stderr.starts_with("waiting for a person (hook ask), since "), "{}", ran.stderr);
}

/// A file of the example, in its own project.
fn example(file: &str, receiver: &Receiver) -> Sandbox {
    let path = repository().join("examples/webhooks").join(file);
    let text = fs::read_to_string(&path).unwrap();
    Sandbox::with_hooks(&format!("callback: {{port: 0}}\n{text}"))
        .set("SLACK_WEBHOOK", &receiver.url())
        .set("METRICS_ENDPOINT", &receiver.url())
        .set("PAGERDUTY_WEBHOOK", &receiver.url())
}

// Conformance: agent-pipelines-037, agent-pipelines-038, agent-pipelines-080, agent-pipelines-098
#[test]
fn the_example_of_an_approval_in_a_chat_goes_on_when_its_button_is_pressed() {
    let receiver = Receiver::new();
    let sandbox = example("approval-gate.yaml", &receiver);
    let data = r#"{"stage": "plan", "session": "calm-fox"}"#;
    for (button, code) in [(0, 0), (1, 3)] {
        let started = start(&sandbox, &["fire", "stage:complete", "--data", data]);
        let asked = receiver.wait_for(button + 1).body;
        assert_eq!(asked["text"], "Plan ready for calm-fox");
        let url = asked["blocks"][0]["elements"][button]["url"].as_str().unwrap();
        assert_eq!(post(url, ""), 200);
        assert_eq!(started.ran().code, code);
    }
    let other = sandbox.run(&["fire", "stage:complete", "--data", r#"{"stage": "work"}"#]);
    assert_eq!((other.code, receiver.got().len()), (0, 2));
}

// Conformance: agent-pipelines-082
#[test]
fn the_example_of_a_quality_gate_asks_only_when_tests_fail() {
    let receiver = Receiver::new();
    let sandbox = example("quality-gate.yaml", &receiver)
        .program("run-tests.sh", "#!/bin/sh\ntest -e green\n")
        .file("green", "");
    let arguments = ["fire", "iteration:complete"];
    assert_eq!((sandbox.run(&arguments).code, receiver.got().len()), (0, 0));
    fs::remove_file(sandbox.path("green")).unwrap();
    for (choice, code) in [(0, 0), (1, 3)] {
        let started = start(&sandbox, &arguments);
        let asked = receiver.wait_for(choice + 1).body;
        let url = asked["actions"][choice]["callback"].as_str().unwrap().to_owned();
        assert_eq!(post(&url, ""), 200);
        assert_eq!(started.ran().code, code);
    }
}

// Conformance: agent-pipelines-101, agent-pipelines-079, agent-pipelines-083
#[test]
fn the_examples_of_notices_say_what_happened() {
    for (file, event, data, expected) in [
        (
            "completion-notice.yaml",
            "session:end",
            json!({ "session": "calm-fox", "iteration": 7, "reason": "completed" }),
            json!({ "text": ":white_check_mark: calm-fox completed in 7 iterations" }),
        ),
        (
            "metrics.yaml",
            "iteration:complete",
            json!({ "session": "calm-fox", "iteration": 2, "timestamp": "2026-01-02T03:04:05Z" }),
            json!({ "session": "calm-fox", "iteration": "2", "timestamp": "2026-01-02T03:04:05Z" }),
        ),
        (
            "error-notice.yaml",
            "iteration:error",
            json!({ "session": "calm-fox", "stage": "work", "error": "no \"room\"" }),
            json!({
                "event_action": "trigger",
                "dedup_key": "calm-fox",
                "payload": {
                    "summary": "calm-fox failed: no \"room\"", "severity": "error",
                    "source": "hookwright", "component": "work"
                }
            }),
        ),
    ] {
        let receiver = Receiver::new();
        let sandbox = example(file, &receiver);
        let ran = sandbox.run(&["fire", event, "--data", &data.to_string()]);
        assert_eq!(ran.code, 0, "{file}: {}{}", ran.stdout, ran.stderr);
        let bodies: Vec<Value> = receiver.got().into_iter().map(|got| got.body).collect();
        assert_eq!(bodies, [expected], "{file}");
    }
}

#[test]
fn https_that_redirects_to_plain_http_on_this_machine_is_not_followed() {
    let stolen = Receiver::new();
    let sandbox = Sandbox::new();
    let port = tls::redirecting_to(&stolen.url());
    let hooks = format!(
        "hooks: {{stage:complete: [{{id: send, url: 'https://localhost:{port}/', on_failure: abort, \
         body: {{key: x}}}}]}}"
    );
    let sandbox = sandbox.file("hookwright.yaml", hooks).file("cert.pem", tls::CERTIFICATE);
    let certificate = sandbox.path("cert.pem").to_string_lossy().into_owned();
    let fire = ["fire", "stage:complete", "--json"];
    let (_, untrusted) = sandbox.json(&fire);
    let reason = untrusted["hooks"][0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("hook send failed (TLS failed: invalid peer certificate"),
        "{reason}"
    );
    let sandbox = sandbox.set("SSL_CERT_FILE", &certificate);
    let (code, trusted) = sandbox.json(&fire);
    let to = stolen.url().replace("/in", "");
    let reason =
        format!("hook send failed (redirected with status 307 to `{to}`, which is another host)");
    assert_eq!((code, trusted["hooks"][0]["reason"].as_str()), (3, Some(&*reason)));
    assert_eq!(stolen.got(), []);
}

#[test]
fn a_request_over_tls_that_was_answered_with_200_is_not_sent_again_without_a_close_notice() {
    let (port, requests) = tls::closing_without_notice();
    let hooks = format!(
        "hooks: {{stage:complete: [{{id: send, url: 'https://localhost:{port}/', retries: 3, \
         retry_delay: 1ms, on_failure: abort}}]}}"
    );
    let sandbox = Sandbox::new().file("hookwright.yaml", hooks).file("cert.pem", tls::CERTIFICATE);
    let certificate = sandbox.path("cert.pem").to_string_lossy().into_owned();
    let (code, fired) =
        sandbox.set("SSL_CERT_FILE", &certificate).json(&["fire", "stage:complete", "--json"]);
    let hook = &fired["hooks"][0];
    assert_eq!((code, hook["status"].as_str()), (0, Some("success")), "{fired}");
    assert_eq!((requests.load(Ordering::SeqCst), &hook["attempts"]), (1, &json!(1)), "{fired}");
}

#[test]
fn a_webhook_to_a_dead_address_is_told_of_while_it_is_waited_for_and_its_whole_time_counts() {
    // A port that was free a moment ago.
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sandbox = Sandbox::with_hooks(&format!(
        "hooks: {{session:end: [{{id: notify, url: 'http://{dead}/', retries: 1, retry_delay: 1, body: {{a: b}}}}]}}"
    ))
    .file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'true'}\n",
    );
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("notify")).collect();
    let [waiting, retrying, failed] = lines[..] else { panic!("{}", ran.stdout) };
    assert_eq!(waiting, "note: waiting for background hooks: notify");
    let words: Vec<&str> = retrying.split_whitespace().collect();
    assert_eq!(
        words[..6],
        ["session:end", "notify", "retrying", "attempt", "2", "in"],
        "{retrying}"
    );
    assert!(retrying.contains("s: cannot connect"), "{retrying}");
    assert!(failed.contains(" failed "), "{failed}");
    let (_, shown) = sandbox.json(&["sessions", "show", "s", "--json"]);
    let hooks =
        shown["timeline"].as_array().unwrap().iter().filter(|part| part["hook"] == "notify");
    let took: Vec<f64> = hooks.map(|hook| hook["duration_ms"].as_f64().unwrap()).collect();
    assert_eq!(took.len(), 1, "{shown}");
    assert!(took[0] >= 1_000.0, "{took:?}");
}
