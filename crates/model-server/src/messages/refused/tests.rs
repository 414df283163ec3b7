//! Requests that the vendor refuses. The messages are those of its own responses.

use serde_json::json;

use super::*;

fn request(body: Value) -> ReceivedRequest {
    let headers = [("x-api-key", "sk-test"), ("anthropic-version", "2023-06-01")];
    let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let (method, path) = ("POST".into(), "/v1/messages".into());
    ReceivedRequest { connection: 0, method, path, headers, body }
}

fn body(messages: Value) -> Value {
    json!({ "model": "m", "max_tokens": 1, "stream": true, "messages": messages })
}

/// The status and the message.
fn refused(request: &ReceivedRequest, script: &ModelScript) -> Option<(u16, String, String)> {
    let error = why(request, script)?;
    Some((error.status, error.name().to_owned(), error.message().to_owned()))
}

fn of_conversation(messages: Value) -> Option<String> {
    let (status, name, message) = refused(&request(body(messages)), &ModelScript::default())?;
    assert_eq!((status, name.as_str()), (400, "invalid_request_error"), "{message}");
    Some(message)
}

fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn assistant(content: Value) -> Value {
    json!({ "role": "assistant", "content": content })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "bash", "input": { "command": "ls" } })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "" })
}

#[test]
fn a_valid_conversation_is_accepted() {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    let in_order = json!([
        user(json!("hello")),
        assistant(json!([thinking, text("Let me look."), call("a"), call("b")])),
        user(json!([result("b"), result("a"), text("and a context")])),
        assistant(json!([text(" "), call("c")])),
        user(json!([{ "type": "tool_result", "tool_use_id": "c", "content": "no",
            "is_error": true, "cache_control": { "type": "ephemeral" } }])),
        assistant(json!([text("done")])),
        user(json!([text("thanks"), text(" ")])),
    ]);
    assert_eq!(of_conversation(in_order), None);
}

#[test]
fn every_call_has_exactly_one_result_in_the_next_message() {
    let asked = || user(json!("go"));
    let called = |ids: &[&str]| assistant(ids.iter().map(|id| call(id)).collect());
    let without = |index: usize, ids: &str| {
        format!(
            "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately \
             after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in \
             the next message."
        )
    };
    let unexpected = |at: &str, id: &str| {
        format!(
            "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
             `tool_result` block must have a corresponding `tool_use` block in the previous message."
        )
    };
    for (messages, words) in [
        (json!([asked(), called(&["a"]), user(json!("what?"))]), without(1, "a")),
        (
            json!([asked(), called(&["a", "b", "c"]), user(json!([result("b")]))]),
            without(1, "a, c"),
        ),
        (
            json!([asked(), called(&["a"]), user(json!([text("first a word"), result("a")]))]),
            without(1, "a"),
        ),
        (
            json!([asked(), called(&["a"]), user(json!([result("a"), result("a")]))]),
            "messages.2.content.1: each tool_use must have a single result. Found multiple \
             `tool_result` blocks with id: a"
                .to_owned(),
        ),
        (json!([user(json!([result("x")]))]), unexpected("0.content.0", "x")),
        (
            json!([asked(), called(&["a"]), user(json!([result("a"), result("x")]))]),
            unexpected("2.content.1", "x"),
        ),
        (
            json!([
                asked(),
                called(&["a"]),
                user(json!([result("a")])),
                assistant(json!([text("next")])),
                user(json!([result("a")]))
            ]),
            unexpected("4.content.0", "a"),
        ),
        (
            json!([asked(), called(&["a", "a"]), user(json!([result("a")]))]),
            "messages.1.content.1: `tool_use` ids must be unique".to_owned(),
        ),
    ] {
        assert_eq!(of_conversation(messages.clone()), Some(words), "{messages}");
    }
}

#[test]
fn roles_take_turns_and_nothing_is_empty() {
    for (messages, words) in [
        (json!([]), "messages: at least one message is required"),
        (json!([assistant(json!("hi"))]), "messages: first message must use the \"user\" role"),
        (
            json!([user(json!("a")), user(json!("b"))]),
            "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \
             \"user\" roles in a row",
        ),
        (
            json!([user(json!("a")), assistant(json!("b")), assistant(json!("c"))]),
            "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \
             \"assistant\" roles in a row",
        ),
        (
            json!([user(json!("a")), assistant(json!("b"))]),
            "This model does not support assistant message prefill. The conversation must end with a \
             user message.",
        ),
        (
            json!([{ "role": "system", "content": "a" }]),
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` \
             parameter, not \"system\" as an input message role.",
        ),
        (json!([user(json!([text("")]))]), "messages: text content blocks must be non-empty"),
        (
            json!([user(json!([text("a"), text("")]))]),
            "messages: text content blocks must be non-empty",
        ),
        (
            json!([user(json!([text(" \n")]))]),
            "messages: text content blocks must contain non-whitespace text",
        ),
        (json!([user(json!([]))]), "messages.0: user messages must have non-empty content"),
        (json!([user(json!(""))]), "messages.0: user messages must have non-empty content"),
        (
            json!([user(json!("a")), assistant(json!([])), user(json!("b"))]),
            "messages.1: all messages must have non-empty content except for the optional final \
             assistant message",
        ),
        (
            json!([user(json!([{ "type": "text", "text": "a", "note": 1 }]))]),
            "messages.0.content.0.text.note: Extra inputs are not permitted",
        ),
        (
            json!([
                user(json!("a")),
                assistant(json!([
                    { "type": "tool_use", "id": "a", "name": "b", "input": "{" }
                ])),
                user(json!([result("a")]))
            ]),
            "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        ),
    ] {
        assert_eq!(of_conversation(messages.clone()).as_deref(), Some(words), "{messages}");
    }
}

#[test]
fn missing_required_headers_and_fields_are_refused() {
    let fine = body(json!([user(json!("a"))]));
    let keyed = ModelScript { key: Some("sk-other".into()), ..ModelScript::default() };
    let script = ModelScript::default();
    let without = |header: &str| {
        let mut request = request(fine.clone());
        request.headers.retain(|(name, _)| name != header);
        request
    };
    let said = |status: u16, name: &str, message: &str| {
        Some((status, name.to_owned(), message.to_owned()))
    };
    assert_eq!(refused(&request(fine.clone()), &script), None);
    assert_eq!(
        refused(&without("x-api-key"), &script),
        said(401, "authentication_error", "x-api-key header is required")
    );
    assert_eq!(
        refused(&request(fine.clone()), &keyed),
        said(401, "authentication_error", "invalid x-api-key")
    );
    assert_eq!(
        refused(&without("anthropic-version"), &script),
        said(400, "invalid_request_error", "anthropic-version: header is required")
    );
    for field in ["model", "max_tokens", "messages"] {
        let mut body = fine.clone();
        body.as_object_mut().expect("an object").remove(field);
        let words = format!("{field}: Field required");
        assert_eq!(refused(&request(body), &script), said(400, "invalid_request_error", &words));
    }
    let models = ModelScript { models: vec!["other".into()], ..ModelScript::default() };
    assert_eq!(refused(&request(fine), &models), said(404, "not_found_error", "model: m"));
}

#[test]
fn tools_the_system_prompt_and_marks_are_checked_too() {
    let with = |field: &str, value: Value| {
        let mut body = body(json!([user(json!([text("a")]))]));
        body[field] = value;
        refused(&request(body), &ModelScript::default()).map(|(_, _, message)| message)
    };
    let tool = |name: &str| json!({ "name": name, "input_schema": { "type": "object" } });
    let marked = json!({ "type": "text", "text": "a", "cache_control": { "type": "ephemeral" } });
    for (field, value, words) in [
        (
            "tools",
            json!([tool("a b")]),
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        ("tools", json!([tool("a"), tool("a")]), "tools: Tool names must be unique."),
        ("tools", json!([{ "name": "a" }]), "tools.0.custom.input_schema: Field required"),
        ("system", json!([text("")]), "system: text content blocks must be non-empty"),
        ("system", json!(" "), "system: text content blocks must contain non-whitespace text"),
        ("max_tokens", json!(0), "max_tokens: Input should be greater than or equal to 1"),
        ("hooks", json!(1), "hooks: Extra inputs are not permitted"),
        (
            "system",
            json!(vec![marked.clone(); 5]),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
    ] {
        assert_eq!(with(field, value).as_deref(), Some(words));
    }
    assert_eq!(with("tools", json!([tool("a"), tool("mcp__b__c")])), None);
    assert_eq!(with("system", json!(vec![marked; 4])), None);
}
