//! What a scenario's requests had that those before them did not have.

use std::collections::BTreeMap;

use hookwright_model_server::{ModelServer, ReceivedRequest};
use serde_json::{Value, json};

/// The last text of a request for a summary begins like this. What it is part of is not the conversation.
const SUMMARY_WANTED: &str = "The context is full";

/// What each request had that the one before did not have, for each conversation. What comes before that must
/// be the same, so that the server's cache holds. Conversations beside the first are in the order of their
/// first messages, since their requests come at any time.
pub(super) fn requests(server: &ModelServer) -> Result<String, String> {
    let received = server.requests();
    let Some(first) = received.first() else { return Ok(String::new()) };
    let mut conversations: BTreeMap<(bool, String), Vec<&ReceivedRequest>> = BTreeMap::new();
    for (number, request) in received.iter().enumerate() {
        for same in ["system", "tools", "model"] {
            if request.body[same] != first.body[same] {
                return Err(format!("request {}: `{same}` has changed", number + 1));
            }
        }
        let key = first_text(request);
        conversations.entry((key != first_text(first), key)).or_default().push(request);
    }
    let are_several = conversations.len() > 1;
    let mut shown = Vec::new();
    for (number, requests) in conversations.into_values().enumerate() {
        for mut entry in of_conversation(&requests)? {
            if are_several {
                entry["conversation"] = (number + 1).into();
            }
            shown.push(entry);
        }
    }
    let body = &first.body;
    shown[0]["model"] = body["model"].clone();
    let tools = body["tools"].as_array().into_iter().flatten();
    shown[0]["tools"] = tools.map(|tool| tool["name"].clone()).collect();
    Ok(format!("{}\n", serde_json::to_string_pretty(&shown).unwrap()))
}

fn of_conversation(requests: &[&ReceivedRequest]) -> Result<Vec<Value>, String> {
    let mut shown = Vec::new();
    let mut before: Vec<Value> = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let mut messages = request.body["messages"].clone();
        if without_marks(&mut messages) == 0 {
            return Err(format!("request {}: nothing is marked for the cache", number + 1));
        }
        let messages = messages.as_array().cloned().unwrap_or_default();
        let same = before.iter().zip(&messages).take_while(|(old, new)| old == new).count();
        let is_summary = last_text(&messages).starts_with(SUMMARY_WANTED);
        if same < before.len() && !is_longer(&before, &messages, same) && !is_summary {
            return Err(format!("request {}: a message that was sent has changed", number + 1));
        }
        shown.push(json!({ "new_messages": messages[same..] }));
        if !is_summary {
            before = messages;
        }
    }
    Ok(shown)
}

/// The first text of a request's first message, without what hooks added behind it.
fn first_text(request: &ReceivedRequest) -> String {
    let content = &request.body["messages"][0]["content"];
    content[0]["text"].as_str().or_else(|| content.as_str()).unwrap_or_default().to_owned()
}

fn last_text(messages: &[Value]) -> &str {
    let blocks = messages.last().and_then(|message| message["content"].as_array());
    blocks.and_then(|blocks| blocks.last()?["text"].as_str()).unwrap_or_default()
}

/// Whether the last message that was sent before only has more blocks now.
fn is_longer(before: &[Value], now: &[Value], same: usize) -> bool {
    let blocks = |messages: &[Value]| messages.get(same)?["content"].as_array().cloned();
    let (Some(old), Some(new)) = (blocks(before), blocks(now)) else { return false };
    same + 1 == before.len() && new.starts_with(&old)
}

/// Removes the marks for the cache and counts them.
fn without_marks(value: &mut Value) -> usize {
    match value {
        Value::Object(fields) => {
            let here = usize::from(fields.remove("cache_control").is_some());
            here + fields.values_mut().map(without_marks).sum::<usize>()
        }
        Value::Array(items) => items.iter_mut().map(without_marks).sum(),
        _ => 0,
    }
}
