//! What a scenario's requests had that those before them did not have.

use std::collections::BTreeMap;

use hookwright_model_server::{ModelServer, ReceivedRequest};
use serde_json::{Value, json};

use super::KEY;

/// The last text of a request for a summary begins like this. What it is part of is not the conversation.
const SUMMARY_WANTED: &str = "A summary will take the place";

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
    let name = |tool: &Value| match is_chat(first) {
        true => tool["function"]["name"].clone(),
        false => tool["name"].clone(),
    };
    shown[0]["tools"] = tools.map(name).collect();
    Ok(format!("{}\n", serde_json::to_string_pretty(&shown).unwrap()))
}

fn of_conversation(requests: &[&ReceivedRequest]) -> Result<Vec<Value>, String> {
    let mut shown = Vec::new();
    let mut before: Vec<Value> = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let mut messages = request.body["messages"].clone();
        // Servers of chat completions find out for themselves what they can cache.
        if !is_chat(request) && without_marks(&mut messages) == 0 {
            return Err(format!("request {}: nothing is marked for the cache", number + 1));
        }
        let messages = messages.as_array().cloned().unwrap_or_default();
        let same = before.iter().zip(&messages).take_while(|(old, new)| old == new).count();
        let is_summary = last_text(&messages).starts_with(SUMMARY_WANTED);
        if same < before.len() && !is_longer(&before, &messages, same) && !is_summary {
            return Err(format!("request {}: a message that was sent has changed", number + 1));
        }
        let mut entry = json!({ "new_messages": messages[same..] });
        if is_chat(request) {
            entry["sent"] = sent_beside_messages(request);
        }
        shown.push(entry);
        if !is_summary {
            before = messages;
        }
    }
    Ok(shown)
}

fn is_chat(request: &ReceivedRequest) -> bool {
    request.path.ends_with("/chat/completions")
}

/// What a request for chat completions has beside the conversation, without the key.
fn sent_beside_messages(request: &ReceivedRequest) -> Value {
    let mut sent = json!({ "path": request.path });
    if let Some(value) = request.header("authorization") {
        sent["authorization"] = value.replace(KEY, "KEY").into();
    }
    let fields = request.body.as_object().into_iter().flatten();
    for (name, value) in
        fields.filter(|(name, _)| !["messages", "tools", "model"].contains(&name.as_str()))
    {
        sent[name] = value.clone();
    }
    sent
}

/// The first text of a request's first message of the user, without what hooks added behind it.
fn first_text(request: &ReceivedRequest) -> String {
    let messages = request.body["messages"].as_array().into_iter().flatten();
    let mut users = messages.filter(|message| message["role"] == "user");
    let Some(content) = users.next().map(|message| &message["content"]) else {
        return String::new();
    };
    content[0]["text"].as_str().or_else(|| content.as_str()).unwrap_or_default().to_owned()
}

fn last_text(messages: &[Value]) -> &str {
    let blocks = messages.last().and_then(|message| message["content"].as_array());
    blocks.and_then(|blocks| blocks.last()?["text"].as_str()).unwrap_or_default()
}

/// Whether the last message that was sent before only has more blocks, or more text, now.
fn is_longer(before: &[Value], now: &[Value], same: usize) -> bool {
    let text = |messages: &[Value]| Some(messages.get(same)?["content"].as_str()?.to_owned());
    if let (Some(old), Some(new)) = (text(before), text(now)) {
        return same + 1 == before.len() && new.starts_with(&old);
    }
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
