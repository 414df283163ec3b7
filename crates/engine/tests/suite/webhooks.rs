//! Webhooks over real sockets: what arrives, what comes back, what is refused, what is hidden.

use std::collections::BTreeSet;
use std::sync::Arc;

use hookwright_engine::Secrets;
use hookwright_engine::limits::{REQUESTS_MAX, RESPONSE_BYTES_MAX};
use hookwright_engine::ports::Ports;
use hookwright_events::{
    Decision, FiringEvent, Outcome, RequestOutcome, RunEventKind, Status, Verdict,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;

use crate::receiver::{Receiver, Reply};
use crate::support::Host;

/// A host whose hook at `stage:complete` is awaited, so that its end is in the report.
fn awaited(url: &str, more: &str) -> Host {
    let fields = format!("url: '{url}', on_failure: abort, retry_delay: 1ms, {more}");
    Host::new(&format!("hooks: {{stage:complete: [{{id: send, {fields}}}]}}"))
}

async fn ended(host: &Host) -> (Status, String) {
    let fired = host.fire("stage:complete", json!({ "stage": "plan" })).await;
    let report = &fired.reports[0];
    (report.status, report.reason.clone().unwrap_or_default())
}

// Conformance: agent-pipelines-025, agent-pipelines-026, agent-pipelines-070
#[tokio::test]
async fn a_request_arrives_with_its_method_headers_and_values_inside_its_json() {
    let mut receiver = Receiver::new([]).await;
    let url = receiver.url("/in/${STAGE}?x=${STAGE}");
    let host = awaited(
        &url,
        "method: PUT, headers: {X-Stage: 's ${STAGE}'}, body: {text: 'done: ${STAGE}', n: [1]}",
    );
    let stage = "a\"b/ü &?";
    let fired = host.fire("stage:complete", json!({ "stage": stage })).await;
    assert_eq!(fired.decision, Decision::default());
    let report = &fired.reports[0];
    assert_eq!((report.status, report.reason.as_deref()), (Status::Success, Some("status 200")));
    assert_eq!((report.stdout.as_str(), report.attempts), ("ok", 1));
    let request = receiver.next().await;
    assert_eq!(request.method, "PUT");
    assert_eq!(request.path, "/in/a%22b%2F%C3%BC%20%26%3F?x=a%22b%2F%C3%BC%20%26%3F");
    assert_eq!(request.header("x-stage").map(str::len), Some(format!("s {stage}").len()));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.json(), json!({ "text": format!("done: {stage}"), "n": [1] }));
    assert!(request.header("webhook-id").is_some_and(|id| id.starts_with("msg_")));
}

#[tokio::test]
async fn a_value_that_would_lead_to_another_address_is_not_sent() {
    let mut receiver = Receiver::new([]).await;
    let host = awaited(&receiver.url("/team/${STAGE}/notify"), "retries: 3");
    let fired = host.fire("stage:complete", json!({ "stage": ".." })).await;
    let report = &fired.reports[0];
    assert_eq!((report.status, report.attempts), (Status::Failed, 1));
    let reason = report.reason.as_deref().unwrap_or_default();
    let expected = "the value of `STAGE` adds the path segment `..`, which changes the address";
    assert!(reason.contains(expected), "{reason}");
    assert!(receiver.is_quiet());
    host.fire("stage:complete", json!({ "stage": "../.." })).await;
    assert_eq!(receiver.next().await.path, "/team/..%2F../notify");
}

// Conformance: agent-pipelines-025
#[tokio::test]
async fn a_get_without_a_body_carries_none() {
    let mut receiver = Receiver::new([]).await;
    let host = awaited(&receiver.url("/ping"), "method: GET");
    assert_eq!(ended(&host).await, (Status::Success, "status 200".into()));
    let request = receiver.next().await;
    assert_eq!((request.method.as_str(), request.body.as_str()), ("GET", ""));
    assert_eq!(request.header("content-type"), None);
}

// Conformance: agent-pipelines-034
#[tokio::test]
async fn a_failed_send_is_tried_again_with_the_same_id_and_then_counts() {
    let busy = Reply::of(503, "", "later");
    let mut receiver = Receiver::new([busy.clone(), busy]).await;
    let host = awaited(&receiver.url("/"), "retries: 3");
    let fired = host.fire("stage:complete", json!({})).await;
    let report = &fired.reports[0];
    assert_eq!((report.status, report.attempts), (Status::Success, 3));
    let first = receiver.next().await;
    for _ in 0..2 {
        let again = receiver.next().await;
        assert_eq!(again.header("webhook-id"), first.header("webhook-id"));
        assert_eq!(again.body, first.body);
    }
    // Another firing is another message.
    host.fire("stage:complete", json!({})).await;
    assert_ne!(receiver.next().await.header("webhook-id"), first.header("webhook-id"));
}

// Conformance: agent-pipelines-033
#[tokio::test]
async fn after_all_attempts_on_failure_decides() {
    let busy = || Reply::of(500, "", "\nno room\nat all");
    let receiver = Receiver::new([busy(), busy()]).await;
    let host = awaited(&receiver.url("/"), "retries: 1");
    let fired = host.fire("stage:complete", json!({})).await;
    let reason = "hook send failed in 2 attempts (status 500: no room)".to_owned();
    assert_eq!(fired.decision.verdict, Verdict::Abort { reason });
}

#[tokio::test]
async fn a_request_that_is_wrong_itself_is_not_sent_again() {
    let mut receiver = Receiver::new([Reply::of(404, "", "no such hook")]).await;
    let host = awaited(&receiver.url("/"), "retries: 3");
    let expected = (Status::Failed, "hook send failed (status 404: no such hook)".to_owned());
    assert_eq!(ended(&host).await, expected);
    receiver.next().await;
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn the_time_that_a_receiver_asks_for_is_recorded_with_its_answer() {
    let receiver = Receiver::new([Reply::of(429, "retry-after: 7\r\n", "")]).await;
    let host = awaited(&receiver.url("/"), "retries: 0");
    host.fire("stage:complete", json!({})).await;
    let outcomes: Vec<Option<u64>> = host
        .seen()
        .into_iter()
        .filter_map(|event| match event.kind {
            RunEventKind::Firing(FiringEvent::HookEnded {
                outcome: Outcome::Request(RequestOutcome::Responded { retry_after_ms, .. }),
                ..
            }) => Some(retry_after_ms),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [Some(7000)]);
}

#[tokio::test]
async fn at_events_that_can_be_blocked_the_response_is_the_answer() {
    let deny = r#"{"decision": "deny", "reason": "not on a Friday"}"#;
    for (body, verdict) in [
        (deny, Verdict::Block { reason: "not on a Friday".into() }),
        ("ok", Verdict::Proceed { rewritten_input: None }),
        (r#"{"decision": "allow"}"#, Verdict::Allow { reason: None, rewritten_input: None }),
        (
            "{\"decision\": ",
            Verdict::Block {
                reason: "hook ask failed (its answer cannot be read: it begins with `{` but is not JSON: EOF while parsing a value at line 1 column 12); make its receiver answer, or set on_failure: continue"
                    .into(),
            },
        ),
    ] {
        let receiver = Receiver::new([Reply::ok(body)]).await;
        let url = receiver.url("/");
        let host = Host::new(&format!(
            "hooks: {{tool:pre_execute: [{{id: ask, url: '{url}', retries: 0}}]}}"
        ));
        let fired = host.fire("tool:pre_execute", json!({ "tool_name": "bash" })).await;
        assert_eq!(fired.decision.verdict, verdict, "{body}");
    }
}

#[tokio::test]
async fn elsewhere_a_response_is_kept_and_answers_nothing() {
    let receiver = Receiver::new([Reply::ok(r#"{"decision": "deny"}"#)]).await;
    let host = awaited(&receiver.url("/"), "pipe_output: true");
    let fired = host.fire("stage:complete", json!({})).await;
    assert_eq!(fired.decision.verdict, Verdict::Proceed { rewritten_input: None });
    assert_eq!(fired.decision.piped_output, r#"{"decision": "deny"}"#);
}

#[tokio::test]
async fn a_guard_whose_receiver_is_down_blocks() {
    // Bound, so that no other process gets it, but nothing listens.
    let taken = tokio::net::TcpSocket::new_v4().expect("a socket");
    taken.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let free = taken.local_addr().expect("bound").port();
    let host = Host::new(&format!(
        "hooks: {{tool:pre_execute: [{{id: ask, url: 'http://127.0.0.1:{free}/', retries: 0}}]}}"
    ));
    let fired = host.fire("tool:pre_execute", json!({ "tool_name": "bash" })).await;
    let reason = "hook ask failed (cannot connect: Connection refused (os error 111)); make its receiver answer, or \
                  set on_failure: continue"
        .to_owned();
    assert_eq!(fired.decision.verdict, Verdict::Block { reason });
}

// Conformance: agent-pipelines-002, agent-pipelines-027
#[tokio::test]
async fn an_unawaited_request_is_sent_in_the_background_and_arrives_before_the_end() {
    let mut receiver = Receiver::new([Reply::of(503, "", "")]).await;
    let url = receiver.url("/");
    let host = Host::new(&format!(
        "hooks: {{session:end: [{{id: tell, url: '{url}', retry_delay: 1ms}}]}}"
    ));
    let fired = host.fire("session:end", json!({ "reason": "completed" })).await;
    assert_eq!(fired.reports[0].status, Status::Started);
    host.engine.settle().await;
    let (first, again) = (receiver.next().await, receiver.next().await);
    assert_eq!(first.header("webhook-id"), again.header("webhook-id"));
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn many_requests_all_arrive_with_no_more_than_the_limit_in_flight() {
    let gate = Arc::new(Semaphore::new(0));
    let mut receiver = Receiver::new((0..200).map(|_| Reply::Held(Arc::clone(&gate)))).await;
    let url = receiver.url("/");
    let host = Host::new(&format!("hooks: {{session:end: [{{url: '{url}'}}]}}"));
    for _ in 0..200 {
        host.fire("session:end", json!({ "reason": "completed" })).await;
    }
    let mut ids = BTreeSet::new();
    for arrived in 1..=200 {
        ids.insert(receiver.next().await.header("webhook-id").map(str::to_owned));
        if arrived == REQUESTS_MAX {
            gate.add_permits(200);
        }
    }
    host.engine.settle().await;
    assert_eq!((ids.len(), receiver.most_at_once()), (200, REQUESTS_MAX));
}

#[tokio::test]
async fn a_receiver_that_has_the_secret_can_verify_the_signature() {
    // The published test vector's key.
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let mut receiver = Receiver::new([]).await;
    let url = receiver.url("/");
    let hooks = format!(
        "hooks: {{stage:complete: [{{url: '{url}', secret: '${{SIGNING}}', on_failure: abort, \
         body: {{text: hello}}}}]}}"
    );
    let secrets = Secrets::new(vec![("SIGNING".into(), secret.into())]);
    let host = Host::with_secrets(&hooks, Ports::default(), &[], secrets);
    assert_eq!(ended(&host).await, (Status::Success, "status 200".into()));
    let request = receiver.next().await;
    let header = |name: &str| request.header(name).expect(name).to_owned();
    let key = standardwebhooks::Webhook::new(secret).expect("a key");
    let at: i64 = header("webhook-timestamp").parse().expect("seconds");
    let expected = key.sign(&header("webhook-id"), at, request.body.as_bytes()).expect("signed");
    assert_eq!(header("webhook-signature"), expected);
}

#[tokio::test]
async fn an_unusable_signing_secret_fails_once_and_names_what_is_expected() {
    let mut receiver = Receiver::new([]).await;
    let host = awaited(&receiver.url("/"), "secret: 'not base64!'");
    let reason =
        "hook send failed (`secret` is not a signing secret, expected `whsec_` and base64)";
    assert_eq!(ended(&host).await, (Status::Failed, reason.into()));
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn an_unknown_name_fails_with_that_name_and_nothing_is_sent() {
    let mut receiver = Receiver::new([]).await;
    let url = receiver.url("/");
    for (fields, place) in [
        ("body: {a: ['${STAEG}']}", "`body`"),
        ("headers: {X: '${STAEG}'}", "header `X`"),
        ("secret: '${STAEG}'", "`secret`"),
    ] {
        let reason = format!(
            "hook send failed (unknown variable `STAEG` in {place}, did you mean `STAGE`?)"
        );
        assert_eq!(ended(&awaited(&url, fields)).await, (Status::Failed, reason));
    }
    let reason = "hook send failed (`CALLBACK_URL` in `body` has a value only with `await: true`)";
    let host = awaited(&url, "body: {text: '${CALLBACK_URL}'}");
    assert_eq!(ended(&host).await, (Status::Failed, reason.into()));
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn redirects_stay_with_the_same_host_and_keep_the_body() {
    let mut other = Receiver::new([]).await;
    let elsewhere = other.url("/stolen");
    for (status, location, expected) in [
        (307, "/moved".to_owned(), None),
        (308, "?again".to_owned(), None),
        (302, "/moved".to_owned(), Some(", and such a redirect drops the body")),
        (307, elsewhere.clone(), Some(", which is another host")),
        (301, elsewhere, Some(", which is another host")),
        (307, "http://localhost/x".to_owned(), Some(", which is another host")),
    ] {
        let headers = format!("location: {location}\r\n");
        let mut receiver = Receiver::new([Reply::of(status, &headers, "")]).await;
        let host = awaited(&receiver.url("/"), "body: {a: 1}");
        let (found, reason) = ended(&host).await;
        assert_eq!(receiver.next().await.json(), json!({ "a": 1 }));
        match expected {
            None => {
                assert_eq!((found, reason.as_str()), (Status::Success, "status 200"), "{location}");
                assert_eq!(receiver.next().await.json(), json!({ "a": 1 }));
            }
            Some(why) => {
                assert_eq!(found, Status::Failed);
                assert!(reason.ends_with(&format!("{why})")), "{reason}");
                assert!(receiver.is_quiet());
            }
        }
    }
    assert!(other.is_quiet());
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let again = || Reply::of(307, "location: /\r\n", "");
    let receiver = Receiver::new((0..10).map(|_| again())).await;
    let reason = "hook send failed (redirected more than 3 times)";
    assert_eq!(ended(&awaited(&receiver.url("/"), "")).await, (Status::Failed, reason.into()));
}

#[tokio::test]
async fn a_body_without_end_is_kept_to_its_limit() {
    let receiver =
        Receiver::new([Reply::Endless("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")]).await;
    let host = awaited(&receiver.url("/"), "");
    let fired = host.fire("stage:complete", json!({})).await;
    let report = &fired.reports[0];
    assert_eq!(report.status, Status::Success);
    assert_eq!(report.stdout.len(), RESPONSE_BYTES_MAX);
}

/// Replies of a receiver that has the request, but whose body never ends.
fn cut_bodies() -> [(&'static str, Reply); 3] {
    let raw = |text: &str| Reply::Raw(text.to_owned());
    [
        (
            "too short",
            raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"decision\": \"allow\"}"),
        ),
        ("no last chunk", raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n")),
        ("not in time", Reply::Stuck("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok")),
    ]
}

#[tokio::test]
async fn a_request_answered_with_200_is_not_sent_again_even_if_its_body_is_cut() {
    for (case, reply) in cut_bodies() {
        let mut receiver = Receiver::new([reply]).await;
        let host = awaited(&receiver.url("/"), "retries: 3, timeout: 3s");
        assert_eq!(ended(&host).await, (Status::Success, "status 200".into()), "{case}");
        receiver.next().await;
        assert!(receiver.is_quiet(), "{case}");
    }
}

#[tokio::test]
async fn a_guard_whose_response_was_cut_blocks_and_is_not_retried() {
    for (case, reply) in cut_bodies() {
        let mut receiver = Receiver::new([reply]).await;
        let url = receiver.url("/");
        let host = Host::new(&format!(
            "hooks: {{tool:pre_execute: [{{id: ask, url: '{url}', retries: 3, retry_delay: 1ms, timeout: 3s}}]}}"
        ));
        let fired = host.fire("tool:pre_execute", json!({ "tool_name": "bash" })).await;
        let reason = "hook ask failed (status 200, but its body is \
                      incomplete, so an answer in it may be lost); make its receiver answer, or set on_failure: continue";
        assert_eq!(fired.decision.verdict, Verdict::Block { reason: reason.into() }, "{case}");
        receiver.next().await;
        assert!(receiver.is_quiet(), "{case}");
    }
}

#[tokio::test]
async fn headers_without_end_and_silence_come_to_an_end() {
    let receiver = Receiver::new([Reply::Endless("HTTP/1.1 200 OK\r\nx: ")]).await;
    let (status, reason) = ended(&awaited(&receiver.url("/"), "retries: 0")).await;
    assert_eq!(status, Status::Failed);
    assert!(reason.starts_with("hook send failed (no response: "), "{reason}");

    let receiver = Receiver::new([Reply::Silent]).await;
    let host = awaited(&receiver.url("/"), "retries: 0, timeout: 50ms");
    let expected = (Status::TimedOut, "hook send failed (timed out after 50 ms)".to_owned());
    assert_eq!(ended(&host).await, expected);
}

#[tokio::test]
async fn an_interrupt_ends_a_request_in_flight() {
    let mut receiver = Receiver::new([Reply::Silent]).await;
    let host = awaited(&receiver.url("/"), "");
    let firing = host.fire("stage:complete", json!({}));
    let (fired, ()) = tokio::join!(firing, async {
        receiver.next().await;
        host.engine.interrupt();
    });
    let report = &fired.reports[0];
    assert_eq!(report.status, Status::Failed);
    assert_eq!(report.reason.as_deref(), Some("hook send failed (interrupted)"));
}

#[tokio::test]
async fn https_to_a_port_without_tls_is_reported_as_such() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let greeting = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        let _ = stream.write_all(b"220 mail.example ESMTP ready\r\n").await;
        // As long as the other side listens.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let host = awaited(&format!("https://127.0.0.1:{port}/"), "");
    let reason = "hook send failed (TLS failed: received corrupt message of type \
                  InvalidContentType)";
    assert_eq!(ended(&host).await, (Status::Failed, reason.into()));
    greeting.await.expect("no panic");
}

// Conformance: agent-pipelines-091
#[tokio::test]
async fn plain_http_to_another_machine_is_refused_even_if_a_variable_hid_it() {
    let hooks = "hooks: {stage:complete: [{id: send, url: '${TO}', on_failure: abort}]}";
    let host = Host::with(hooks, Ports::default(), &[("TO", "http://example.invalid/x")]);
    let reason =
        "hook send failed (plain http is for this machine only, or with `allow_http: true`)";
    assert_eq!(ended(&host).await, (Status::Failed, reason.into()));
}

// Conformance: agent-pipelines-089
#[tokio::test]
async fn neither_secrets_nor_environment_values_appear_in_responses() {
    let (secret, token) = ("hunter22-hunter22", "T0KEN-from-the-environment");
    let echo = format!("you sent {secret} and {token} to /{token}");
    let denial = json!({ "decision": "deny", "reason": echo }).to_string();
    let replies = [Reply::of(500, "", &echo), Reply::ok(&denial)];
    let mut receiver = Receiver::new(replies).await;
    let hooks = format!(
        "hooks: {{tool:pre_execute: [{{id: send, url: '{}', headers: {{X: '${{KEY}}'}}, \
         body: {{k: '${{KEY}}'}}, retry_delay: 1ms}}]}}",
        receiver.url("/${TOKEN}")
    );
    let secrets = Secrets::new(vec![("KEY".into(), secret.into())]);
    let host = Host::with_secrets(&hooks, Ports::default(), &[("TOKEN", token)], secrets);
    let fired = host.fire("tool:pre_execute", json!({ "tool_name": "bash" })).await;
    let request = receiver.next().await;
    assert_eq!((request.path.as_str(), request.header("x")), (&*format!("/{token}"), Some(secret)));
    assert_eq!(request.json(), json!({ "k": secret }));
    let shown = "you sent [secret KEY] and ${TOKEN} to /${TOKEN}".to_owned();
    assert_eq!(fired.decision.verdict, Verdict::Block { reason: shown });
    let all = format!("{:?} {:?}", fired, host.seen());
    assert!(!all.contains(secret) && !all.contains(token), "{all}");
}
