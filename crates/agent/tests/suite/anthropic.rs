//! The client of the Messages API against a server that refuses what the vendor's refuses, over real sockets.

use std::time::Duration;

use hookwright_agent::message::{Block, Message};
use hookwright_agent::model::anthropic::AnthropicModel;
use hookwright_agent::model::{
    ApiKey, Model as _, ModelErrorKind, ModelRequest, ModelServerSettings, RetryAfter, StreamEvent,
};
use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{KEY, all, answer, client, failure, hello, opened, script, server, settings};

const ANSWER: &str = "
  - content:
      - {type: thinking, thinking: The user wants to see äöü and 漢字.}
      - {type: text, text: I will have a look at the files.}
      - {type: tool_use, name: bash, input: {command: 'ls -l', deep: {list: [1, 2.5, null]}}}
    usage: {input_tokens: 12, output_tokens: 34, cache_read_input_tokens: 56}";

fn blocks_of_the_answer() -> Vec<Block> {
    let input = json!({ "command": "ls -l", "deep": { "list": [1, 2.5, null] } });
    vec![
        Block::Thinking {
            thinking: "The user wants to see äöü and 漢字.".into(),
            signature: "signed by the script".into(),
        },
        Block::text("I will have a look at the files."),
        Block::ToolUse {
            id: "toolu_1_3".into(),
            name: "bash".into(),
            input: input.as_object().expect("a map").clone(),
        },
    ]
}

#[tokio::test]
async fn a_request_arrives_with_its_headers_and_the_answer_comes_back() {
    let server = server(ANSWER);
    let model = client(&server.url());
    let got = answer(&model, &hello()).await.expect("an answer");
    assert_eq!(got.content, blocks_of_the_answer());
    assert_eq!(got.broken_inputs, []);
    assert_eq!((got.model.as_str(), got.stop_reason.as_deref()), ("test-model", Some("tool_use")));
    assert_eq!((got.usage.input_tokens, got.usage.output_tokens), (12, 34));
    assert_eq!(got.usage.cache_read_input_tokens, 56);
    let requests = server.requests();
    let request = &requests[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages"));
    for (name, value) in [
        ("x-api-key", KEY),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.body["model"], "test-model");
    assert_eq!(request.body["stream"], true);
}

#[tokio::test]
async fn a_conversation_with_calls_and_results_is_accepted_and_the_connection_is_used_again() {
    let server = server(&format!("{ANSWER}\n  - content: [{{type: text, text: Done.}}]"));
    let model = client(&server.url());
    let mut conversation = hello();
    let first = answer(&model, &conversation).await.expect("an answer");
    conversation.push(Message::assistant(first.content));
    conversation.push(Message::user(vec![
        Block::ToolResult {
            tool_use_id: "toolu_1_3".into(),
            content: String::new(),
            is_error: true,
        },
        Block::text("a context of a hook"),
    ]));
    let second = answer(&model, &conversation).await.expect("an answer");
    assert_eq!(second.content, [Block::text("Done.")]);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].connection, requests[1].connection, "one connection serves both");
}

#[tokio::test]
async fn a_complete_answer_keeps_its_connection_until_the_server_ends_the_response() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let model = client(&url);
    let events = "data: {\"type\": \"message_start\", \"message\": {}}\n\n\
                  data: {\"type\": \"message_stop\"}\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let response = format!("{head}{:x}\r\n{events}\r\n", events.len());
    let messages = hello();
    let mut connections = Vec::new();
    // The first response has no end yet, so the second request needs a connection of its own.
    for _ in 0..2 {
        let serving = async {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let _ = stream.read(&mut [0; 4096]).await;
            stream.write_all(response.as_bytes()).await.expect("the client listens");
            stream
        };
        let (answer, stream) = tokio::join!(answer(&model, &messages), serving);
        answer.expect("it is complete without the end of the response");
        connections.push(stream);
    }
    // A client that had closed the first one would be gone by now.
    let mut byte = [0];
    tokio::select! {
        biased;
        read = connections[0].read(&mut byte) => panic!("closed too early: {read:?}"),
        () = std::future::ready(()) => {}
    }
}

#[tokio::test]
async fn each_event_is_handed_on_before_the_next_is_sent() {
    let (server, gate) = ModelServer::start_held(script(ANSWER)).expect("a server");
    let model = client(&server.url());
    let mut stream = opened(&model, &hello()).await.expect("the answer begins before any event");
    let mut deltas = 0;
    loop {
        gate.allow(1);
        // The server may send nothing more until this has come.
        match stream.next().await.expect("an event").expect("no error") {
            StreamEvent::ContentBlockDelta { .. } => deltas += 1,
            StreamEvent::MessageStop => break,
            _ => {}
        }
    }
    assert!(deltas > 10, "{deltas}");
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn byte_by_byte_it_is_the_same_answer() {
    let server = server(&format!("{ANSWER}\n    byte_by_byte: true"));
    let got = answer(&client(&server.url()), &hello()).await.expect("an answer");
    assert_eq!(got.content, blocks_of_the_answer());
}

#[tokio::test]
async fn a_stream_can_be_cut_anywhere() {
    let answer_bytes = {
        let ModelBehaviour::Script(script) = script(ANSWER) else { unreachable!() };
        let hookwright_model_script::ScriptedTurn::Answer(answer) = script.turn(1) else {
            unreachable!()
        };
        let events = answer.events(1, "test-model");
        events.iter().map(|event| hookwright_model_script::sse(event).len()).sum::<usize>()
    };
    // Behind the last event's data, its blank line is still missing.
    for kind in ["cut_after", "short_after"] {
        let cuts = (0..answer_bytes).step_by(97).chain([1, answer_bytes - 1]);
        let turns: Vec<usize> = cuts.collect();
        let script: String =
            turns.iter().map(|bytes| format!("{ANSWER}\n    {kind}: {bytes}")).collect();
        let server = server(&script);
        let model = client(&server.url());
        let mut most = 0;
        for bytes in &turns {
            let stream = match opened(&model, &hello()).await {
                Ok(stream) => stream,
                Err(error) => {
                    assert_eq!(error.kind, ModelErrorKind::Unreachable, "{kind} {bytes}: {error}");
                    continue;
                }
            };
            let (events, end) = all(stream).await;
            let error = end.expect_err("the end is missing");
            assert_eq!(error.kind, ModelErrorKind::Unreachable, "{kind} {bytes}: {error}");
            assert_eq!(error.retry, Some(RetryAfter::Backoff));
            most = most.max(events.len());
        }
        assert!(most > 10, "what came before the cut is handed on: {most}");
    }
}

#[tokio::test]
async fn statuses_become_errors_that_say_whether_to_try_again() {
    use ModelErrorKind as Kind;

    let cases: &[(&str, Kind, u16, Option<RetryAfter>, &str)] = &[
        (
            "error: {status: 403}",
            Kind::Unauthorised,
            403,
            None,
            "the model's server refuses the API key (status 403): Your API key does not have \
             permission to use this model",
        ),
        (
            "error: {status: 404}",
            Kind::NotUnderstood,
            404,
            None,
            "the server has no Messages API at this address (status 404): Not found",
        ),
        (
            "error: {status: 429, retry_after: 7}",
            Kind::RateLimited,
            429,
            Some(RetryAfter::Named(Duration::from_secs(7))),
            "the model's server limits the rate of requests (status 429): This request would exceed \
             your account's rate limit. Please try again later.",
        ),
        (
            "error: {status: 429}",
            Kind::RateLimited,
            429,
            Some(RetryAfter::Backoff),
            "the model's server limits the rate of requests (status 429): This request would exceed \
             your account's rate limit. Please try again later.",
        ),
        (
            "error: {status: 529, retry_after: 0}",
            Kind::Overloaded,
            529,
            Some(RetryAfter::Named(Duration::ZERO)),
            "the model's server is overloaded (status 529): Overloaded",
        ),
        (
            "error: {status: 500}",
            Kind::Overloaded,
            500,
            Some(RetryAfter::Backoff),
            "the model's server failed (status 500): Internal server error",
        ),
        (
            "reply: {status: 502, body: '<html><h1>Bad Gateway</h1></html>'}",
            Kind::Overloaded,
            502,
            Some(RetryAfter::Backoff),
            "the model's server failed (status 502): it sent an HTML page in place of JSON",
        ),
        (
            "reply: {status: 403, content_type: text/plain, body: 'go away, please'}",
            Kind::Unauthorised,
            403,
            None,
            "the model's server refuses the API key (status 403): go away, please",
        ),
        (
            "error: {status: 413}",
            Kind::Refused,
            413,
            None,
            "the model's server refuses the request (status 413): Request exceeds the maximum size",
        ),
        (
            "error: {status: 400, message: 'echo sk-test-0123456789 echo'}",
            Kind::Refused,
            400,
            None,
            "the model's server refuses the request (status 400): echo [API key] echo",
        ),
    ];
    let turns: String = cases.iter().map(|(turn, ..)| format!("  - {turn}\n")).collect();
    let server = server(&turns);
    let model = client(&server.url());
    for (turn, kind, status, retry, reason) in cases {
        let error = failure(&model).await;
        assert_eq!(error.reason, *reason, "{turn}");
        assert_eq!(
            (error.kind, error.status, error.retry),
            (*kind, Some(*status), *retry),
            "{turn}"
        );
    }
    assert_eq!(server.requests().len(), cases.len(), "each attempt is one request");
}

#[tokio::test]
async fn a_date_in_retry_after_is_understood() {
    let server = server("  - error: {status: 529, retry_after: 'Fri, 31 Dec 2100 23:59:59 GMT'}");
    match failure(&client(&server.url())).await.retry {
        Some(RetryAfter::Named(time)) => assert!(time > Duration::from_secs(86_400), "{time:?}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_wrong_key_and_an_unknown_model_are_told_apart() {
    let start = |terms: &str| {
        let script = ModelScript::parse(&format!("{terms}\nturns: []")).expect("a script");
        ModelServer::start(ModelBehaviour::Script(script)).expect("a server")
    };
    let server = start("key: sk-another-key");
    let error = failure(&client(&server.url())).await;
    assert_eq!((error.kind, error.status), (ModelErrorKind::Unauthorised, Some(401)));
    let reason = "the model's server refuses the API key (status 401): invalid x-api-key";
    assert_eq!((error.reason.as_str(), error.retry), (reason, None));
    let server = start("models: [other-model]");
    let error = failure(&client(&server.url())).await;
    assert_eq!((error.kind, error.status), (ModelErrorKind::UnknownModel, Some(404)));
    let reason = "the server has no model `test-model` (status 404): model: test-model";
    assert_eq!((error.reason.as_str(), error.retry), (reason, None));
}

#[tokio::test]
async fn a_key_that_no_header_can_have_is_named_without_being_shown() {
    let server = server("");
    let key = ApiKey::new("sk-two\nlines");
    let model = AnthropicModel::new(ModelServerSettings { key, ..settings(&server.url()) });
    let error = failure(&model.expect("a client")).await;
    assert_eq!(error.kind, ModelErrorKind::Unauthorised);
    assert_eq!(error.reason, "the API key has characters that a header cannot have");
    assert_eq!(server.requests(), []);
}

#[tokio::test]
async fn what_is_no_stream_of_events_is_not_understood() {
    let server = server(
        "
  - reply: {body: <html>Welcome</html>}
  - reply: {content_type: 'application/json; charset=utf-8', body: '{}'}
  - reply: {content_type: text/event-stream, body: \"data: no JSON\\n\\n\"}
  - reply: {content_type: text/event-stream, body: \"<html>\\n\\n</html>\\n\\n\"}
  - reply: {status: 204, body: ''}",
    );
    let model = client(&server.url());
    for (kind, start) in [
        (
            ModelErrorKind::NotUnderstood,
            "expected an answer of type `text/event-stream` but found `text/html`",
        ),
        (
            ModelErrorKind::NotUnderstood,
            "expected an answer of type `text/event-stream` but found `application/json`",
        ),
        (ModelErrorKind::NotUnderstood, "an event of the answer is not understood: expected"),
        (ModelErrorKind::Unreachable, "the connection ended before the answer was complete"),
        (ModelErrorKind::NotUnderstood, "expected an answer of the Messages protocol (status 204)"),
    ] {
        let error = failure(&model).await;
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.reason.starts_with(start), "{error}");
    }
}

#[tokio::test]
async fn an_error_within_the_answer_comes_behind_what_was_said() {
    let server = server(
        "
  - {content: [{type: text, text: so far}], then_error: {status: 529}}
  - {content: [{type: text, text: so far}], then_error: {status: 400, message: no sk-test-0123456789}}",
    );
    let model = client(&server.url());
    let (events, end) = all(opened(&model, &hello()).await.expect("it begins")).await;
    let texts = events.iter().filter(|it| matches!(it, StreamEvent::ContentBlockDelta { .. }));
    assert_eq!(texts.count(), 1);
    let error = end.expect_err("an error");
    assert_eq!(error.kind, ModelErrorKind::Overloaded);
    assert_eq!(error.retry, Some(RetryAfter::Backoff));
    let error = failure(&model).await;
    assert_eq!((error.kind, error.retry), (ModelErrorKind::Refused, None));
    assert!(error.reason.ends_with("no [API key]"), "{error}");
}

#[tokio::test]
async fn an_input_that_is_no_json_is_named_and_the_answer_stays() {
    let server = server(
        "
  - content:
      - {type: tool_use, name: bash, input_text: '{\"command\": \"ls'}
      - {type: tool_use, name: bash, input: {command: ls}}",
    );
    let got = answer(&client(&server.url()), &hello()).await.expect("an answer");
    assert_eq!(got.content.len(), 2);
    assert_eq!(got.broken_inputs.len(), 1);
    assert_eq!(got.broken_inputs[0].0, "toolu_1_1");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        listener.local_addr().expect("bound").port()
    };
    let error = failure(&client(&format!("http://127.0.0.1:{port}/prefix"))).await;
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    assert_eq!(error.retry, Some(RetryAfter::Backoff));
    let start = format!("cannot connect to http://127.0.0.1:{port}: ");
    assert!(error.reason.starts_with(&start), "{error}");
}

#[tokio::test]
async fn a_connection_that_drops_before_the_answer_may_be_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let dropping = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let _ = stream.read(&mut [0; 1024]).await;
    });
    let error = failure(&client(&format!("http://127.0.0.1:{port}"))).await;
    assert_eq!(error.kind, ModelErrorKind::Unreachable, "{error}");
    assert_eq!(error.retry, Some(RetryAfter::Backoff));
    dropping.await.expect("no panic");
}

#[tokio::test]
async fn a_redirect_to_another_host_gets_neither_key_nor_conversation() {
    let target = server("");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let location = target.url();
    let redirecting = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let _ = stream.read(&mut [0; 4096]).await;
        let head = format!(
            "HTTP/1.1 307 Elsewhere\r\nlocation: {location}/v1/messages\r\ncontent-length: 0\r\n\r\n"
        );
        let _ = stream.write_all(head.as_bytes()).await;
    });
    let error = failure(&client(&format!("http://127.0.0.1:{port}"))).await;
    assert_eq!((error.kind, error.retry), (ModelErrorKind::NotUnderstood, None), "{error}");
    assert_eq!(target.requests(), []);
    redirecting.await.expect("no panic");
}

#[tokio::test]
async fn an_answer_without_end_is_stopped_at_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let flooding = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let _ = stream.read(&mut [0; 4096]).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ";
        let _ = stream.write_all(head.as_bytes()).await;
        let flood = vec![b'x'; 1024 * 1024];
        let mut sent = 0_usize;
        while stream.write_all(&flood).await.is_ok() {
            sent += flood.len();
        }
        sent
    });
    let error = failure(&client(&format!("http://127.0.0.1:{port}"))).await;
    assert_eq!((error.kind, error.retry), (ModelErrorKind::TooLarge, None));
    assert_eq!(error.reason, "one event of the answer has more than 4194304 bytes");
    assert!(flooding.await.expect("no panic") < 64 * 1024 * 1024, "the client has left");
}

#[tokio::test]
async fn what_the_vendor_refuses_is_refused_in_its_words() {
    let server = server("");
    let model = client(&server.url());
    let call = Block::ToolUse { id: "a".into(), name: "bash".into(), input: Map::new() };
    let result =
        || Block::ToolResult { tool_use_id: "a".into(), content: "x".into(), is_error: false };
    let user = |blocks: Vec<Block>| Message::user(blocks);
    let called = || Message::assistant(vec![call.clone()]);
    for (rest, words) in [
        (vec![called(), user(vec![Block::text("and?")])], "without `tool_result` blocks"),
        (vec![called(), user(vec![result(), result()])], "each tool_use must have a single result"),
        (vec![called()], "must end with a user message"),
        (vec![user(vec![Block::text("again")])], "roles must alternate"),
        (
            vec![Message::assistant(vec![Block::text("x")]), user(vec![Block::text("")])],
            "text content blocks must be non-empty",
        ),
        (vec![Message::assistant(vec![]), user(vec![Block::text("x")])], "non-empty content"),
    ] {
        let mut messages = hello();
        messages.extend(rest);
        let error = answer(&model, &messages).await.expect_err(words);
        assert_eq!((error.kind, error.status), (ModelErrorKind::Refused, Some(400)));
        assert!(error.reason.contains(words), "{error}");
    }
    let messages = hello();
    let request = ModelRequest { system: "", messages: &messages, tools: &[], max_tokens: 0 };
    let error = model.send(&request).await.err().expect("refused");
    assert!(error.reason.ends_with("max_tokens: Input should be greater than or equal to 1"));
}

#[tokio::test]
async fn nothing_that_a_test_sees_of_a_request_has_the_key_but_its_header() {
    let server = server(ANSWER);
    answer(&client(&server.url()), &hello()).await.expect("an answer");
    let mut requests = server.requests();
    requests[0].headers.retain(|(name, _)| name != "x-api-key");
    assert!(!format!("{requests:?}").contains(KEY));
    assert_ne!(requests[0].body, Value::Null);
}
