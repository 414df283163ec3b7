//! The client of chat completions against a server that refuses what the vendor's refuses, over real sockets.

use std::time::Duration;

use hookwright_agent::message::{Block, Message, Usage};
use hookwright_agent::model::chat_completions::ChatModel;
use hookwright_agent::model::{
    ApiKey, Model as _, ModelErrorKind, ModelRequest, ModelServerSettings, RetryAfter, StreamEvent,
};
use hookwright_model_server::{ModelBehaviour, ModelScript, ModelServer};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{KEY, all, answer, failure, hello, opened, script, server, settings};

const ANSWER: &str = "
  - content:
      - {type: thinking, thinking: The user wants to see äöü and 漢字.}
      - {type: text, text: I will have a look at the files.}
      - {type: tool_use, name: bash, input: {command: 'ls -l', deep: {list: [1, 2.5, null]}}}
      - {type: tool_use, name: bash, input: {command: pwd}}
    usage: {input_tokens: 12, output_tokens: 34, cache_read_input_tokens: 56}";

fn chat(base_url: &str) -> ChatModel {
    ChatModel::new(settings(&format!("{base_url}/v1"))).expect("a client")
}

fn with_terms(terms: &str) -> ModelServer {
    let script = ModelScript::parse(terms).expect("a script");
    ModelServer::start(ModelBehaviour::Script(script)).expect("a server")
}

fn blocks_of_the_answer() -> Vec<Block> {
    let call = |id: &str, input: Value| Block::ToolUse {
        id: id.into(),
        name: "bash".into(),
        input: input.as_object().expect("a map").clone(),
    };
    vec![
        Block::Thinking {
            thinking: "The user wants to see äöü and 漢字.".into(),
            signature: String::new(),
        },
        Block::text("I will have a look at the files."),
        call("call_1_3", json!({ "command": "ls -l", "deep": { "list": [1, 2.5, null] } })),
        call("call_1_4", json!({ "command": "pwd" })),
    ]
}

#[tokio::test]
async fn a_request_arrives_with_its_headers_and_the_answer_comes_back() {
    let server = server(ANSWER);
    let got = answer(&chat(&server.url()), &hello()).await.expect("an answer");
    assert_eq!(got.content, blocks_of_the_answer());
    assert_eq!(got.broken_inputs, []);
    assert_eq!((got.model.as_str(), got.stop_reason.as_deref()), ("test-model", Some("tool_use")));
    let usage = Usage {
        input_tokens: 12,
        output_tokens: 34,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 56,
    };
    assert_eq!(got.usage, usage);
    let requests = server.requests();
    let request = &requests[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
    let key = format!("Bearer {KEY}");
    for (name, value) in [
        ("authorization", Some(key.as_str())),
        ("content-type", Some("application/json")),
        ("x-api-key", None),
    ] {
        assert_eq!(request.header(name), value, "{name}");
    }
    let mut rest = requests[0].clone();
    rest.headers.retain(|(name, _)| name != "authorization");
    assert!(!format!("{rest:?}").contains(KEY), "the key is in one header only");
}

#[tokio::test]
async fn a_server_on_this_machine_needs_no_key_and_gets_no_header() {
    let server = server("  - content: [{type: text, text: Hi.}]");
    let settings = ModelServerSettings { key: ApiKey::none(), ..settings(&server.url()) };
    let model = ChatModel::new(settings).expect("a client");
    assert_eq!(answer(&model, &hello()).await.expect("an answer").content, [Block::text("Hi.")]);
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn a_conversation_with_calls_and_results_is_accepted_and_the_connection_is_used_again() {
    let server = server(&format!("{ANSWER}\n  - content: [{{type: text, text: Done.}}]"));
    let model = chat(&server.url());
    let mut conversation = hello();
    let first = answer(&model, &conversation).await.expect("an answer");
    conversation.push(Message::assistant(first.content));
    let result = |id: &str| Block::ToolResult {
        tool_use_id: id.into(),
        content: String::new(),
        is_error: true,
    };
    let results = vec![result("call_1_3"), result("call_1_4"), Block::text("a context of a hook")];
    conversation.push(Message::user(results));
    let second = answer(&model, &conversation).await.expect("an answer");
    assert_eq!(second.content, [Block::text("Done.")]);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].connection, requests[1].connection, "one connection serves both");
}

#[tokio::test]
async fn each_piece_of_a_text_is_handed_on_before_the_next_is_sent() {
    let (server, gate) = ModelServer::start_held(script(
        "  - content: [{type: text, text: I will have a look at the files.}]",
    ))
    .expect("a server");
    let mut stream = opened(&chat(&server.url()), &hello()).await.expect("it begins");
    // The chunk with the role makes the first event, each other one makes the next.
    gate.allow(1);
    let first = stream.next().await.expect("an event").expect("no error");
    assert!(matches!(first, StreamEvent::MessageStart { .. }), "{first:?}");
    gate.allow(1);
    let mut deltas = 0;
    while deltas < 3 {
        if let StreamEvent::ContentBlockDelta { .. } =
            stream.next().await.expect("an event").expect("no error")
        {
            deltas += 1;
            gate.allow(1);
        }
    }
    gate.release();
    let (rest, end) = all(stream).await;
    assert_eq!((rest.last(), end), (Some(&StreamEvent::MessageStop), Ok(())));
}

#[tokio::test]
async fn every_quirk_gives_the_same_answer() {
    let quirks = [
        "usage_in_every_chunk",
        "no_done",
        "no_finish_reason",
        "always_stop",
        "repeated_ids",
        "one_index",
        "no_index",
        "reversed_indexes",
        "interleaved",
        "empty_choices",
        "null_content",
        "role_first",
        "comments",
        "crlf",
        "reversed_indexes, interleaved, repeated_ids, crlf, comments",
        "one_index, no_done, always_stop, empty_choices",
    ];
    let turns: String =
        quirks.iter().map(|quirk| format!("{ANSWER}\n    quirks: [{quirk}]")).collect();
    let server = server(&format!("{turns}{ANSWER}\n    byte_by_byte: true"));
    let model = chat(&server.url());
    for (number, quirk) in quirks.iter().chain(&["byte_by_byte"]).enumerate() {
        let got = answer(&model, &hello()).await.expect(quirk);
        let mut expected = blocks_of_the_answer();
        for block in &mut expected {
            if let Block::ToolUse { id, .. } = block {
                *id = id.replace("call_1", &format!("call_{}", number + 1));
            }
        }
        assert_eq!(got.content, expected, "{quirk}");
        assert_eq!(got.stop_reason.as_deref(), Some("tool_use"), "{quirk}");
        assert_eq!(got.usage.output_tokens, 34, "{quirk}");
    }
}

#[tokio::test]
async fn missing_and_repeated_ids_are_replaced_by_ids_of_the_conversation() {
    let turns: String = ["no_ids", "same_ids", "no_ids, no_index", "no_stream, no_ids"]
        .map(|quirk| format!("{ANSWER}\n    quirks: [{quirk}]"))
        .concat();
    let server = server(&turns);
    let model = chat(&server.url());
    let ids = |blocks: &[Block]| -> Vec<String> {
        let calls = blocks.iter().filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        });
        calls.collect()
    };
    for expected in [
        ["call_1_1", "call_1_2"],
        ["call_same", "call_2_2"],
        ["call_3_1", "call_3_2"],
        ["call_4_1", "call_4_2"],
    ] {
        let got = answer(&model, &hello()).await.expect("an answer");
        assert_eq!(ids(&got.content), expected);
    }
}

#[tokio::test]
async fn tokens_that_are_not_said_count_as_none() {
    let server = server(&format!("{ANSWER}\n    quirks: [no_usage]"));
    let got = answer(&chat(&server.url()), &hello()).await.expect("an answer");
    assert_eq!(got.usage, Usage::default());
}

#[tokio::test]
async fn fields_that_a_server_refuses_are_left_out_of_the_next_request() {
    let turns = "turns: [{content: [{type: text, text: Hi.}]}]";
    let server = with_terms(&format!("refuses: [stream_options, max_tokens]\n{turns}"));
    let model = chat(&server.url());
    for field in ["stream_options", "max_tokens"] {
        let error = failure(&model).await;
        assert_eq!((error.kind, error.status), (ModelErrorKind::Refused, Some(400)));
        assert_eq!(error.retry, Some(RetryAfter::Named(Duration::ZERO)));
        let words = format!("does not accept `{field}`, which is left out from now on");
        assert!(error.reason.contains(&words), "{error}");
    }
    assert_eq!(answer(&model, &hello()).await.expect("an answer").content, [Block::text("Hi.")]);
    let requests = server.requests();
    let fields = |number: usize| {
        let body = &requests[number].body;
        (body.get("stream_options").is_some(), body.get("max_tokens").is_some())
    };
    assert_eq!([fields(0), fields(1), fields(2)], [(true, true), (false, true), (false, false)]);
    assert_eq!(requests[2].body["max_completion_tokens"], 100);
}

#[tokio::test]
async fn a_stream_can_be_cut_anywhere_before_its_last_reason() {
    let text = "  - content: [{type: text, text: A text with some pieces and an end.}]";
    // Where the chunk with the reason ends, counted in what the server sends.
    let reason_ends = {
        let server = server(text);
        let mut stream = tokio::net::TcpStream::connect(server.url().replace("http://", ""))
            .await
            .expect("a server");
        let body = json!({ "model": "test-model", "stream": true,
            "messages": [{ "role": "user", "content": "hello" }] });
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
            body.to_string().len()
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut sent = String::new();
        while !sent.contains("[DONE]") {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).await.expect("an answer");
            sent.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        let events = sent.split("\r\n").filter(|line| line.starts_with("data: "));
        let events: Vec<&str> = events.collect();
        let last = events.iter().position(|event| event.contains("\"stop\"")).expect("a reason");
        events[..=last].iter().map(|event| event.len()).sum::<usize>()
    };
    for kind in ["cut_after", "short_after"] {
        let cuts: Vec<usize> = (0..reason_ends).step_by(61).chain([1, reason_ends - 1]).collect();
        let turns: String =
            cuts.iter().map(|bytes| format!("{text}\n    {kind}: {bytes}\n")).collect();
        let server = server(&turns);
        let model = chat(&server.url());
        let mut most = 0;
        for bytes in &cuts {
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
        assert!(most >= 3, "what came before the cut is handed on: {most}");
        // Behind the reason, all of the content is there.
        let server = crate::support::server(&format!("{text}\n    {kind}: {reason_ends}"));
        let got = answer(&chat(&server.url()), &hello()).await.expect("all that is needed");
        assert_eq!(got.content, [Block::text("A text with some pieces and an end.")]);
    }
}

#[tokio::test]
async fn a_connection_that_stays_open_behind_the_reason_does_not_hold_the_answer_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let _ = stream.read(&mut [0; 4096]).await;
        let chunk =
            json!({ "choices": [{ "delta": { "content": "Hi." }, "finish_reason": "stop" }] });
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let _ = stream.write_all(format!("{head}data: {chunk}\n\n").as_bytes()).await;
        // Until the client leaves.
        let _ = stream.read(&mut [0]).await;
    });
    let mut stream = opened(&chat(&url), &hello()).await.expect("it begins");
    loop {
        let event = stream.next().await.expect("an event").expect("no error");
        if matches!(event, StreamEvent::ContentBlockDelta { .. }) {
            break;
        }
    }
    // Everything that is sent has come, so only the clock goes on.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let (rest, end) = all(stream).await;
    assert_eq!((rest.last(), end), (Some(&StreamEvent::MessageStop), Ok(())));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    serving.await.expect("the client has left");
}

#[tokio::test]
async fn statuses_become_errors_that_say_whether_to_try_again() {
    use ModelErrorKind as Kind;

    let cases: &[(&str, Kind, Option<RetryAfter>, &str)] = &[
        (
            "error: {status: 401}",
            Kind::Unauthorised,
            None,
            "the model's server refuses the API key (status 401): Incorrect API key provided. You \
             can find your API key in your account.",
        ),
        (
            "error: {status: 404}",
            Kind::NotUnderstood,
            None,
            "the server has no chat completions API at this address (status 404): Invalid URL (POST \
             /v1/chat/completions)",
        ),
        (
            "error: {status: 429, retry_after: 7}",
            Kind::RateLimited,
            Some(RetryAfter::Named(Duration::from_secs(7))),
            "the model's server limits the rate of requests (status 429): Rate limit reached for \
             this model on tokens per min. Please try again later.",
        ),
        (
            "error: {status: 429, code: insufficient_quota, message: You exceeded your quota.}",
            Kind::RateLimited,
            None,
            "the account has no quota left (status 429): You exceeded your quota.",
        ),
        (
            "error: {status: 503}",
            Kind::Overloaded,
            Some(RetryAfter::Backoff),
            "the model's server failed (status 503): The engine is currently overloaded, please try \
             again later",
        ),
        (
            "reply: {status: 502, body: '<html><h1>Bad Gateway</h1></html>'}",
            Kind::Overloaded,
            Some(RetryAfter::Backoff),
            "the model's server failed (status 502): it sent an HTML page in place of JSON",
        ),
        (
            "error: {status: 400, code: context_length_exceeded, message: Too many words.}",
            Kind::ContextTooLong,
            None,
            "the conversation is too long for the model (status 400): Too many words.",
        ),
        (
            "reply: {status: 400, content_type: application/json, body: '{\"error\": \"m does not \
             support tools\"}'}",
            Kind::NoTools,
            None,
            "the model `test-model` cannot call tools here (status 400): m does not support tools",
        ),
        (
            "error: {status: 400, message: 'echo sk-test-0123456789 echo'}",
            Kind::Refused,
            None,
            "the model's server refuses the request (status 400): echo [API key] echo",
        ),
    ];
    let turns: String = cases.iter().map(|(turn, ..)| format!("  - {turn}\n")).collect();
    let server = server(&turns);
    let model = chat(&server.url());
    for (turn, kind, retry, reason) in cases {
        let error = failure(&model).await;
        assert_eq!(error.reason, *reason, "{turn}");
        assert_eq!((error.kind, error.retry), (*kind, *retry), "{turn}");
    }
    assert_eq!(server.requests().len(), cases.len(), "each attempt is one request");
}

#[tokio::test]
async fn a_wrong_key_and_an_unknown_model_are_told_apart() {
    let server = with_terms("key: sk-another-key\nturns: []");
    let error = failure(&chat(&server.url())).await;
    assert_eq!((error.kind, error.status), (ModelErrorKind::Unauthorised, Some(401)));
    let server = with_terms("models: [other-model]\nturns: []");
    let error = failure(&chat(&server.url())).await;
    assert_eq!((error.kind, error.status), (ModelErrorKind::UnknownModel, Some(404)));
    assert!(error.reason.starts_with("the server has no model `test-model`"), "{error}");
}

#[tokio::test]
async fn an_error_inside_a_200_is_an_error_as_json_and_as_an_event() {
    let error = r#"{"error": {"message": "no sk-test-0123456789", "code": 503}}"#;
    let server = server(&format!(
        "
  - reply: {{content_type: application/json, body: '{error}'}}
  - reply: {{content_type: text/event-stream, body: \"data: {}\\n\\n\"}}
  - {{content: [{{type: text, text: so far}}], then_error: {{status: 503}}}}
  - reply: {{content_type: application/json, body: '[]'}}
  - reply: {{content_type: application/json, body: 'no JSON'}}",
        error.replace('"', "\\\"")
    ));
    let model = chat(&server.url());
    for _ in 0..2 {
        let error = failure(&model).await;
        assert_eq!((error.kind, error.status), (ModelErrorKind::Overloaded, None));
        assert_eq!(error.retry, Some(RetryAfter::Backoff));
        assert!(error.reason.ends_with("(status 503): no [API key]"), "{error}");
    }
    let (events, end) = all(opened(&model, &hello()).await.expect("it begins")).await;
    let texts = events.iter().filter(|it| matches!(it, StreamEvent::ContentBlockDelta { .. }));
    assert_eq!(texts.count(), 1, "what came before the error is handed on");
    assert_eq!(end.expect_err("an error").kind, ModelErrorKind::Overloaded);
    assert_eq!(failure(&model).await.kind, ModelErrorKind::Unreachable, "it has no end");
    assert_eq!(failure(&model).await.kind, ModelErrorKind::NotUnderstood);
}

#[tokio::test]
async fn what_is_neither_a_stream_nor_json_is_not_understood() {
    let server = server("  - reply: {body: <html>Welcome</html>}");
    let error = failure(&chat(&server.url())).await;
    assert_eq!(error.kind, ModelErrorKind::NotUnderstood);
    let reason = "expected an answer of type `text/event-stream` but found `text/html`";
    assert_eq!(error.reason, reason);
}

#[tokio::test]
async fn a_whole_answer_has_the_limit_of_one_event() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let flooding = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let _ = stream.read(&mut [0; 4096]).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
        let _ = stream.write_all(head.as_bytes()).await;
        let flood = vec![b' '; 1024 * 1024];
        let mut sent = 0_usize;
        while stream.write_all(&flood).await.is_ok() {
            sent += flood.len();
        }
        sent
    });
    let error = failure(&chat(&url)).await;
    assert_eq!((error.kind, error.retry), (ModelErrorKind::TooLarge, None));
    assert_eq!(error.reason, "the answer has more than 4194304 bytes");
    assert!(flooding.await.expect("no panic") < 64 * 1024 * 1024, "the client has left");
}

#[tokio::test]
async fn what_the_vendor_refuses_is_refused_in_its_words() {
    let server = server("");
    let model = chat(&server.url());
    let call = Block::ToolUse { id: "a".into(), name: "bash".into(), input: Map::new() };
    let result =
        || Block::ToolResult { tool_use_id: "a".into(), content: "x".into(), is_error: false };
    let called = || Message::assistant(vec![call.clone()]);
    for (rest, words) in [
        (
            vec![called(), Message::user(vec![Block::text("and?")])],
            "did not have response messages",
        ),
        (vec![called(), Message::user(vec![result(), result()])], "Duplicate value"),
        (vec![Message::user(vec![result()])], "must be a response to a preceeding message"),
    ] {
        let mut messages = hello();
        messages.extend(rest);
        let error = answer(&model, &messages).await.expect_err(words);
        assert_eq!((error.kind, error.status), (ModelErrorKind::Refused, Some(400)));
        assert!(error.reason.contains(words), "{error}");
    }
    let request = ModelRequest { system: "", messages: &[], tools: &[], max_tokens: 1 };
    let error = model.send(&request).await.err().expect("refused");
    assert!(error.reason.contains("Invalid 'messages': empty array"), "{error}");
}

#[tokio::test]
async fn an_input_that_is_no_json_is_named_and_the_answer_stays() {
    let server = server(
        "
  - content:
      - {type: tool_use, name: bash, input_text: '{\"command\": \"ls'}
      - {type: tool_use, name: bash, input: {command: ls}}",
    );
    let got = answer(&chat(&server.url()), &hello()).await.expect("an answer");
    assert_eq!(got.content.len(), 2);
    assert_eq!(got.broken_inputs.len(), 1);
    assert_eq!(got.broken_inputs[0].0, "call_1_1");
}
