//! Requests that the vendor refuses, and its messages.

use serde_json::json;

use super::*;

fn request(body: Value, key: Option<&str>) -> ReceivedRequest {
    let headers = key.map(|key| ("authorization".to_owned(), format!("Bearer {key}")));
    let (method, path) = ("POST".into(), "/v1/chat/completions".into());
    ReceivedRequest { connection: 0, method, path, headers: headers.into_iter().collect(), body }
}

fn body(messages: Value) -> Value {
    json!({ "model": "m", "stream": true, "messages": messages })
}

/// The message of a refusal.
fn of_body(body: Value, script: &ModelScript) -> Option<String> {
    why(&request(body, None), script).map(|error| {
        assert_eq!(error.status, 400, "{error:?}");
        error.message.unwrap_or_default()
    })
}

fn of_conversation(messages: Value) -> Option<String> {
    of_body(body(messages), &ModelScript::default())
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn called(ids: &[&str]) -> Value {
    let call = |id: &&str| {
        json!({ "id": id, "type": "function",
        "function": { "name": "bash", "arguments": "{}" } })
    };
    json!({ "role": "assistant", "content": null,
        "tool_calls": ids.iter().map(call).collect::<Vec<_>>() })
}

fn result(id: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": "" })
}

#[test]
fn a_valid_conversation_is_accepted() {
    let in_order = json!([
        { "role": "system", "content": "Be brief." },
        user("go"),
        called(&["a", "b"]),
        result("b"),
        result("a"),
        user("a context"),
        called(&["c"]),
        result("c"),
        { "role": "assistant", "content": "Done." },
        user("thanks"),
    ]);
    assert_eq!(of_conversation(in_order), None);
}

#[test]
fn every_call_has_exactly_one_result_immediately_after_it() {
    let without = |ids: &str| {
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to \
             each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
        )
    };
    let no_call = "Invalid parameter: messages with role 'tool' must be a response to a preceeding \
                   message with 'tool_calls'.";
    for (messages, words) in [
        (json!([user("go"), called(&["a", "b"]), user("and?")]), without("a, b")),
        (json!([user("go"), called(&["a", "b"]), result("a")]), without("b")),
        (json!([user("go"), called(&["a", "b"]), result("a"), user("x")]), without("b")),
        (json!([user("go"), result("a")]), no_call.to_owned()),
        (json!([user("go"), called(&["a"]), result("a"), user("x"), result("a")]), no_call.into()),
        (
            json!([user("go"), called(&["a"]), result("x")]),
            "Invalid parameter: 'tool_call_id' of 'x' not found in 'tool_calls' of previous message."
                .to_owned(),
        ),
        (
            json!([user("go"), called(&["a"]), result("a"), result("a")]),
            "Duplicate value for 'tool_call_id' of 'a' in messages[3].".to_owned(),
        ),
        (
            json!([user("go"), called(&["a", "a"]), result("a")]),
            "Duplicate value for 'messages[1].tool_calls[1].id': 'a'.".to_owned(),
        ),
        (
            json!([user("go"), called(&[""])]),
            "Missing required parameter: 'messages[1].tool_calls[0].id'.".to_owned(),
        ),
    ] {
        assert_eq!(of_conversation(messages.clone()), Some(words), "{messages}");
    }
}

#[test]
fn messages_are_not_empty_and_have_the_types_of_the_protocol() {
    let call = |function: Value| {
        json!([user("go"), { "role": "assistant",
            "tool_calls": [{ "id": "a", "type": "function", "function": function }] }])
    };
    for (messages, words) in [
        (
            json!([]),
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an \
             empty array instead.",
        ),
        (json!(null), "Missing required parameter: 'messages'."),
        (json!([user(" ")]), "Invalid 'messages[0].content': it says nothing."),
        (
            json!([{ "role": "user", "content": null }]),
            "Invalid value for 'messages[0].content': expected a string, got null.",
        ),
        (
            json!([{ "role": "assistant", "content": null }]),
            "Invalid value for 'messages[0].content': expected a string, got null.",
        ),
        (
            json!([{ "role": "assistant", "content": "x", "tool_calls": [] }]),
            "Invalid 'messages[0].tool_calls': empty array. Expected an array with minimum length \
             1, but got an empty array instead.",
        ),
        (
            json!([{ "role": "robot", "content": "x" }]),
            "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', \
             'function', 'tool', and 'developer'.",
        ),
        (
            call(json!({ "name": "bash", "arguments": {} })),
            "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but \
             got {} instead.",
        ),
        (
            call(json!({ "name": "bash", "arguments": "{" })),
            "Invalid 'messages[1].tool_calls[0].function.arguments': it is no JSON object.",
        ),
        (
            call(json!({ "name": "a b", "arguments": "{}" })),
            "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. \
             Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        ),
        (
            json!([user("go"), called(&["a"]), { "role": "tool", "content": "x" }]),
            "Missing required parameter: 'messages[2].tool_call_id'.",
        ),
    ] {
        assert_eq!(of_conversation(messages.clone()).as_deref(), Some(words), "{messages}");
    }
}

#[test]
fn fields_and_tools_are_checked_too() {
    let with = |field: &str, value: Value| {
        let mut body = body(json!([user("go")]));
        body[field] = value;
        of_body(body, &ModelScript::default())
    };
    let tool = |name: &str| {
        json!({ "type": "function",
        "function": { "name": name, "parameters": { "type": "object" } } })
    };
    for (field, value, words) in [
        ("system", json!("x"), "Unrecognized request argument supplied: system"),
        ("model", json!(null), "you must provide a model parameter"),
        (
            "max_tokens",
            json!(0),
            "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 \
             instead.",
        ),
        ("stream", json!(false), "This server of tests answers only with `stream: true`."),
        ("tools", json!([tool("a"), tool("a")]), "Duplicate function name: 'a'."),
        ("tools", json!([{ "name": "a" }]), "Missing required parameter: 'tools[0].type'."),
        (
            "tools",
            json!([tool(&"x".repeat(65))]),
            "Invalid 'tools[0].function.name': string too long. Expected a string with maximum \
             length 64, but got a string with length 65 instead.",
        ),
        (
            "tools",
            json!([{ "type": "function", "function": { "name": "a" } }]),
            "Invalid schema for function 'a': schema must be a JSON Schema of 'type: \"object\"', \
             got 'type: null'.",
        ),
    ] {
        assert_eq!(with(field, value).as_deref(), Some(words));
    }
    assert_eq!(with("tools", json!([tool("a"), tool("mcp__b__c")])), None);
    let mut both = body(json!([user("go")]));
    (both["max_tokens"], both["max_completion_tokens"]) = (json!(1), json!(1));
    assert!(of_body(both, &ModelScript::default()).expect("refused").contains("at the same time"));
}

#[test]
fn fields_that_the_script_refuses_are_refused_by_name() {
    let script = |refuses: &[&str]| ModelScript {
        refuses: refuses.iter().map(|field| (*field).to_owned()).collect(),
        ..ModelScript::default()
    };
    let mut all = body(json!([user("go")]));
    all["stream_options"] = json!({ "include_usage": true });
    all["max_tokens"] = json!(1);
    all["tools"] = json!([{ "type": "function",
        "function": { "name": "a", "parameters": { "type": "object" } } }]);
    assert_eq!(of_body(all.clone(), &script(&["max_completion_tokens"])), None);
    for (field, words) in [
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
        ("tools", "\"m\" does not support tools"),
        (
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
             'max_completion_tokens' instead.",
        ),
    ] {
        assert_eq!(of_body(all.clone(), &script(&[field])).as_deref(), Some(words));
    }
}

#[test]
fn a_key_is_needed_only_if_the_script_has_one() {
    let fine = body(json!([user("go")]));
    let keyed = ModelScript { key: Some("sk-1".into()), ..ModelScript::default() };
    let status = |key: Option<&str>, script: &ModelScript| {
        why(&request(fine.clone(), key), script).map(|error| error.status)
    };
    assert_eq!(status(None, &ModelScript::default()), None);
    assert_eq!(status(Some("any"), &ModelScript::default()), None);
    assert_eq!(status(Some("sk-1"), &keyed), None);
    assert_eq!(status(None, &keyed), Some(401));
    assert_eq!(status(Some("sk-2"), &keyed), Some(401));
    let models = ModelScript { models: vec!["other".into()], ..ModelScript::default() };
    let error = why(&request(fine, None), &models).expect("unknown");
    assert_eq!((error.status, error.code.as_deref()), (404, Some("model_not_found")));
    let no_json = why(&request(Value::Null, None), &ModelScript::default()).expect("no JSON");
    assert_eq!(no_json.status, 400);
}
