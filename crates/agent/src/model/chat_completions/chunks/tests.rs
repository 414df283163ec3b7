//! What streams of compatible servers mean.

use super::*;
use crate::model::collect::Collector;
use crate::model::{ModelAnswer, ModelErrorKind, RetryAfter};

/// The answer that these data lines make, when the connection ends behind them.
fn answer_to(conversation: &[Message], data: &[&str]) -> Result<ModelAnswer, ModelError> {
    let mut translation = ChunkTranslation::new("m", conversation, 2);
    let mut events = VecDeque::new();
    for data in data {
        let event = SseEvent { name: String::new(), data: (*data).to_owned() };
        translation.read(&event, &mut events)?;
    }
    translation.end(&mut events)?;
    let mut collector = Collector::default();
    for event in &events {
        collector.push(event)?;
    }
    collector.finish()
}

fn answer(data: &[&str]) -> Result<ModelAnswer, ModelError> {
    answer_to(&[], data)
}

fn said(delta: Value) -> String {
    json!({ "id": "c1", "model": "m-2", "choices": [{ "index": 0, "delta": delta }] }).to_string()
}

fn ended(reason: &str) -> String {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }).to_string()
}

fn call(index: usize, id: &str, arguments: &str) -> String {
    said(json!({ "tool_calls": [{ "index": index, "id": id, "type": "function",
        "function": { "name": "bash", "arguments": arguments } }] }))
}

fn ids(answer: &ModelAnswer) -> Vec<&str> {
    let calls = answer.content.iter().filter_map(|block| match block {
        Block::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    });
    calls.collect()
}

#[test]
fn texts_thoughts_calls_and_usage_become_one_answer() {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 7,
        "prompt_tokens_details": { "cached_tokens": 60 } } });
    let got = answer(&[
        &said(json!({ "role": "assistant", "content": null })),
        &said(json!({ "reasoning_content": "hm" })),
        &said(json!({ "reasoning": "m" })),
        &said(json!({ "content": "Hel" })),
        &said(json!({ "content": [{ "type": "text", "text": "lo" }] })),
        &call(0, "a", "{\"command\": \"ls\"}"),
        &ended("tool_calls"),
        &usage.to_string(),
        DONE,
        "{behind the end",
    ]);
    let input = json!({ "command": "ls" }).as_object().expect("an object").clone();
    let expected = ModelAnswer {
        id: "c1".into(),
        model: "m-2".into(),
        content: vec![
            Block::Thinking { thinking: "hmm".into(), signature: String::new() },
            Block::text("Hello"),
            Block::ToolUse { id: "a".into(), name: "bash".into(), input },
        ],
        broken_inputs: vec![],
        stop_reason: Some("tool_use".into()),
        usage: Usage {
            input_tokens: 40,
            output_tokens: 7,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 60,
        },
    };
    assert_eq!(got, Ok(expected));
}

#[test]
fn an_answer_needs_one_mark_of_its_end() {
    let text = said(json!({ "content": "Hi" }));
    for end in [&[ended("stop").as_str(), DONE][..], &[&ended("stop")], &[DONE]] {
        let all: Vec<&str> = [text.as_str()].iter().chain(end).copied().collect();
        let got = answer(&all).expect("an answer");
        assert_eq!(got.content, [Block::text("Hi")]);
        assert_eq!(got.stop_reason.as_deref(), Some("end_turn"));
    }
    assert_eq!(answer(&[&text]), Err(incomplete()), "neither came");
    assert_eq!(answer(&[]), Err(incomplete()));
}

#[test]
fn an_answer_that_never_began_may_be_asked_for_again() {
    let empty = json!({ "id": "x", "choices": [], "usage": null }).to_string();
    for data in [&[DONE][..], &[&empty, DONE]] {
        let error = answer(data).expect_err("nothing was said");
        assert_eq!(error.kind, ModelErrorKind::Unreachable);
        assert_eq!(error.retry, Some(RetryAfter::Backoff));
    }
    let silent = answer(&[&empty, &ended("stop"), DONE]).expect("it says that it ended");
    assert_eq!(silent.content, []);
}

#[test]
fn every_call_has_an_id_of_its_own_in_the_conversation() {
    let used = Block::ToolUse { id: "same".into(), name: "bash".into(), input: Map::new() };
    let made = Block::ToolUse { id: "call_2_2".into(), name: "bash".into(), input: Map::new() };
    let conversation = [Message::assistant(vec![used, made]), Message::user(vec![])];
    let data =
        [call(0, "same", "{}"), call(1, "", "{}"), call(2, "new", "{}"), call(3, "new", "{}")];
    let mut data: Vec<&str> = data.iter().map(String::as_str).collect();
    data.push(DONE);
    let got = answer_to(&conversation, &data).expect("an answer");
    assert_eq!(ids(&got), ["call_2_1", "call_2_2_1", "new", "call_2_4"]);
}

#[test]
fn reasons_are_translated() {
    let text = said(json!({ "content": "x" }));
    let call = call(0, "a", "{}");
    for (content, reason, expected) in [
        (&text, "stop", "end_turn"),
        (&text, "tool_calls", "end_turn"),
        (&text, "length", "max_tokens"),
        (&text, "content_filter", "refusal"),
        (&text, "eos", "eos"),
        (&call, "stop", "tool_use"),
        (&call, "tool_calls", "tool_use"),
        (&call, "length", "max_tokens"),
    ] {
        let got = answer(&[content, &ended(reason)]).expect("an answer");
        assert_eq!(got.stop_reason.as_deref(), Some(expected), "{reason}");
    }
    let refused = answer(&[&said(json!({ "refusal": "No." })), &ended("stop")]).expect("words");
    assert_eq!(refused.content, [Block::text("No.")]);
    assert_eq!(refused.stop_reason.as_deref(), Some("refusal"));
}

#[test]
fn an_answer_in_one_piece_is_an_answer_too() {
    let whole = json!({ "object": "chat.completion", "choices": [{ "message": {
        "role": "assistant", "content": "Hi", "tool_calls": [{ "id": "a", "type": "function",
            "function": { "name": "bash", "arguments": "{}" } }] } }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 2 } });
    let got = answer(&[&whole.to_string()]).expect("an answer");
    assert_eq!((got.content.len(), ids(&got)), (2, vec!["a"]));
    assert_eq!((got.usage.input_tokens, got.usage.output_tokens), (3, 2));
}

#[test]
fn errors_end_the_answer_wherever_they_are() {
    use ModelErrorKind as Kind;

    let text = said(json!({ "content": "so far" }));
    for (data, kind) in [
        (json!({ "error": { "message": "x", "code": 429 } }), Kind::RateLimited),
        (json!({ "error": "the model crashed" }), Kind::Overloaded),
        (json!({ "error": { "message": "x", "type": "invalid_request_error" } }), Kind::Refused),
        (
            json!({ "error": { "message": "x", "code": 502 },
                "choices": [{ "delta": {}, "finish_reason": "error" }] }),
            Kind::Overloaded,
        ),
        (json!({ "choices": [{ "delta": {}, "finish_reason": "error" }] }), Kind::Overloaded),
        (json!({ "object": "error", "message": "x", "code": 400 }), Kind::Refused),
    ] {
        let error = answer(&[&text, &data.to_string()]).expect_err("an error");
        assert_eq!(error.kind, kind, "{data}");
    }
    let mut translation = ChunkTranslation::new("m", &[], 1);
    let event = SseEvent { name: "error".into(), data: "{\"why\": 1}".into() };
    let error = translation.read(&event, &mut VecDeque::new()).expect_err("an event `error`");
    assert!(error.reason.ends_with("{\"why\": 1}"), "{error}");
}

#[test]
fn what_is_not_understood_is_an_error_and_what_is_new_is_skipped() {
    let error = answer(&["no JSON"]).expect_err("no JSON");
    assert_eq!((error.kind, error.retry), (ModelErrorKind::NotUnderstood, None));
    let nameless =
        said(json!({ "tool_calls": [{ "id": "a", "function": { "arguments": "{}" } }] }));
    let error = answer(&[&nameless, DONE]).expect_err("no name");
    assert_eq!(error.kind, ModelErrorKind::NotUnderstood);
    assert!(error.reason.ends_with("a tool call has no name"), "{error}");
    let other = json!({ "choices": [{ "index": 1, "delta": { "content": "not asked for" } }] });
    let got = answer(&[
        "{}",
        "[]",
        "3",
        "",
        &json!({ "something": "new" }).to_string(),
        &other.to_string(),
        &said(json!({ "content": 7, "audio": {}, "tool_calls": null })),
        &ended("stop"),
    ]);
    assert_eq!(got.expect("an answer").content, []);
}
