//! Claude Code's http handlers, against a real socket.

use hookwright_config::{ConfigFile, load_text};
use hookwright_dialects::named;
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Decision, Engine, Event, Firing, Setup, Verdict};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// One request: its head in lower case, and its body.
struct Received {
    head: String,
    body: String,
}

/// Fires an event at a handler whose server answers this, and returns what both sides saw.
async fn fire(
    name: &str,
    data: Value,
    more: Value,
    status: u16,
    body: &str,
) -> (Decision, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?x=${{HOME}}", listener.local_addr().unwrap());
    let mut handler = json!({ "type": "http", "url": url });
    handler.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let settings = json!({ "hooks": { name: [{ "hooks": [handler] }] } }).to_string();
    let response = format!(
        "HTTP/1.1 {status} Any\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let (sender, mut received) = unbounded_channel();
    tokio::spawn(async move { serve(listener.accept().await.unwrap().0, response, sender).await });
    let environment = Environment::new(
        [("TOKEN", "t0ken"), ("SECRET", "s3cret")].map(|(name, value)| (name.into(), value.into())),
    );
    let file = ConfigFile::native("settings.json", "settings.json", Layer::Project);
    let file = file.in_dialect(Some(named("claude").unwrap()));
    let loaded = load_text(&settings, &file, &environment);
    assert_eq!(loaded.left_out, []);
    let engine = Engine::new(Setup::new(loaded.hooks, "/".into(), environment));
    let fired = engine.fire(Event::named(name, data).unwrap(), Firing::default()).await;
    // The request arrives before its response is sent, so there is nothing to wait for.
    let received =
        received.try_recv().unwrap_or_else(|_| panic!("nothing sent: {}", fired.record()));
    (fired.decision, received)
}

async fn serve(mut stream: TcpStream, response: String, sender: UnboundedSender<Received>) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                assert!(sender.send(Received { head, body: body.to_owned() }).is_ok());
                stream.write_all(response.as_bytes()).await.unwrap();
                return stream.shutdown().await.unwrap();
            }
        }
        let read = stream.read_buf(&mut bytes).await.unwrap();
        assert!(read > 0, "the request ended early: {text}");
    }
}

fn call() -> Value {
    json!({ "session_id": "s", "transcript_path": "/t", "cwd": "/p", "tool_name": "Bash",
        "tool_input": { "command": "ls" }, "tool_use_id": "u" })
}

#[tokio::test]
async fn the_event_is_posted_with_the_headers_that_may_be_filled() {
    let more = json!({ "headers": { "Authorization": "Bearer $TOKEN", "X-Other": "<${SECRET}>" },
        "allowedEnvVars": ["TOKEN"] });
    let (decision, received) = fire("PreToolUse", call(), more, 200, "").await;
    assert_eq!(decision, Decision::default());
    let mut lines = received.head.lines();
    assert_eq!(lines.next(), Some("post /hook?x=${home} http/1.1"));
    let headers: Vec<&str> = lines.collect();
    for header in ["content-type: application/json", "authorization: bearer t0ken", "x-other: <>"] {
        assert!(headers.contains(&header), "{header} in {headers:?}");
    }
    assert_eq!(
        received.body,
        r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"u"}"#
    );
}

#[tokio::test]
async fn an_object_in_the_response_is_an_answer() {
    let deny = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "no" } });
    let (decision, _) = fire("PreToolUse", call(), json!({}), 200, &deny.to_string()).await;
    assert_eq!(decision.verdict, Verdict::Block { reason: "no".into() });
    let told = json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse",
        "additionalContext": "c" } });
    let (decision, _) = fire("PostToolUse", call(), json!({}), 201, &told.to_string()).await;
    assert_eq!(decision.additional_context, ["c"]);
}

#[tokio::test]
async fn any_other_response_is_a_failure_that_stops_nothing_unless_it_is_asked_to() {
    let deny = r#"{"decision":"block","reason":"no"}"#;
    for (status, body) in [(500, ""), (403, deny), (200, "plain text"), (200, "{oops}")] {
        let (decision, _) = fire("PreToolUse", call(), json!({}), status, body).await;
        assert_eq!(decision, Decision::default(), "{status} {body}");
        let strict = json!({ "onFailure": "block" });
        let (decision, _) = fire("PreToolUse", call(), strict, status, body).await;
        assert!(matches!(decision.verdict, Verdict::Block { .. }), "{status} {body}");
    }
    let (decision, _) = fire("UserPromptSubmit", json!({}), json!({}), 200, "plain text").await;
    assert_eq!(decision, Decision::default());
}

#[tokio::test]
async fn at_events_that_ignore_answers_no_response_counts() {
    let deny = r#"{"continue":false,"systemMessage":"m"}"#;
    let (decision, _) = fire("SessionEnd", json!({}), json!({}), 200, deny).await;
    assert_eq!(decision, Decision::default());
}

#[tokio::test]
async fn a_server_that_is_not_there_stops_nothing_unless_it_is_asked_to() {
    // A port that was just free, without a listener.
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for (on_failure, blocks) in [("continue", false), ("block", true)] {
        let handler = json!({ "type": "http", "url": format!("http://127.0.0.1:{port}/"),
            "onFailure": on_failure });
        let settings = json!({ "hooks": { "PreToolUse": [{ "hooks": [handler] }] } }).to_string();
        let file = ConfigFile::native("settings.json", "settings.json", Layer::Project);
        let file = file.in_dialect(Some(named("claude").unwrap()));
        let loaded = load_text(&settings, &file, &Environment::default());
        let engine = Engine::new(Setup::new(loaded.hooks, "/".into(), Environment::default()));
        let event = Event::named("PreToolUse", call()).unwrap();
        let decision = engine.fire(event, Firing::default()).await.decision;
        assert_eq!(matches!(decision.verdict, Verdict::Block { .. }), blocks);
    }
}
