//! What the vendor's own server refuses, and its messages. A test that passes here must not fail
//! there.
//!
//! In one point this server is stricter: the vendor's server now joins consecutive messages of one
//! role, which it used to refuse. An agent that sends them has lost track of its turns.

use std::collections::HashSet;

use hookwright_model_script::{ModelScript, ScriptedError};
use serde_json::Value;

use crate::http::ReceivedRequest;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "metadata",
    "stop_sequences",
    "temperature",
    "top_k",
    "top_p",
    "thinking",
    "service_tier",
    "container",
    "output_config",
    "context_management",
];

/// The maximum number of prompt cache marks in one request.
const CACHE_MARKS_MAX: usize = 4;

/// Why a request is refused; `None` if it is valid.
pub(crate) fn why(request: &ReceivedRequest, script: &ModelScript) -> Option<ScriptedError> {
    of_headers(request, script).err().or_else(|| {
        let body = &request.body;
        let checked = of_fields(body)
            .and_then(|()| of_tools(&body["tools"]))
            .and_then(|()| of_system(&body["system"]))
            .and_then(|()| of_messages(&body["messages"]))
            .and_then(|()| of_cache_marks(body));
        checked.err().map(invalid).or_else(|| of_model(body, script))
    })
}

fn of_headers(request: &ReceivedRequest, script: &ModelScript) -> Result<(), ScriptedError> {
    let unauthorised = |message: &str| Err(ScriptedError::with_message(401, message));
    let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let Some(key) = request.header("x-api-key").or(bearer).filter(|key| !key.is_empty()) else {
        return unauthorised("x-api-key header is required");
    };
    if script.key.as_ref().is_some_and(|known| known != key) {
        return unauthorised("invalid x-api-key");
    }
    match request.header("anthropic-version") {
        None => return Err(invalid("anthropic-version: header is required")),
        Some("2023-06-01" | "2023-01-01") => {}
        Some(other) => {
            return Err(invalid(format!(
                "anthropic-version: \"{other}\" is not a valid version for this organization and/or \
                 model."
            )));
        }
    }
    match request.body.is_object() {
        true => Ok(()),
        false => Err(invalid("The request body is not valid JSON.")),
    }
}

fn of_model(body: &Value, script: &ModelScript) -> Option<ScriptedError> {
    let model = body["model"].as_str().unwrap_or_default();
    let is_known = script.models.is_empty() || script.models.iter().any(|known| known == model);
    let message = format!("model: {model}");
    (!is_known).then(|| ScriptedError::with_message(404, message))
}

fn invalid(message: impl Into<String>) -> ScriptedError {
    ScriptedError::with_message(400, message)
}

fn of_fields(body: &Value) -> Result<(), String> {
    for needed in ["model", "max_tokens", "messages"] {
        if body[needed].is_null() {
            return Err(format!("{needed}: Field required"));
        }
    }
    for field in body.as_object().into_iter().flatten().map(|(field, _)| field.as_str()) {
        if !FIELDS.contains(&field) {
            return Err(format!("{field}: Extra inputs are not permitted"));
        }
    }
    if !body["model"].is_string() {
        return Err("model: Input should be a valid string".to_owned());
    }
    match body["max_tokens"].as_u64() {
        None => Err("max_tokens: Input should be a valid integer".to_owned()),
        Some(0) => Err("max_tokens: Input should be greater than or equal to 1".to_owned()),
        Some(_) if body["stream"] != true => {
            Err("stream: this server of tests answers only with `stream: true`".to_owned())
        }
        Some(_) => Ok(()),
    }
}

fn of_tools(tools: &Value) -> Result<(), String> {
    let mut names = HashSet::new();
    for (index, tool) in list(tools).iter().enumerate() {
        let at = format!("tools.{index}.custom");
        let Some(name) = tool["name"].as_str() else {
            return Err(format!("{at}.name: Field required"));
        };
        if !is_name(name) || name.len() > 128 {
            return Err(format!(
                "{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if !names.insert(name) {
            return Err("tools: Tool names must be unique.".to_owned());
        }
        if !tool["input_schema"].is_object() {
            return Err(format!("{at}.input_schema: Field required"));
        }
        match tool["input_schema"]["type"].as_str() {
            None => return Err(format!("{at}.input_schema.type: Field required")),
            Some("object") => {}
            Some(_) => return Err(format!("{at}.input_schema.type: Input should be 'object'")),
        }
        extra(&at, tool, &["type", "name", "description", "input_schema", "cache_control"])?;
    }
    Ok(())
}

fn of_system(system: &Value) -> Result<(), String> {
    let texts: Vec<&str> = match system {
        Value::String(text) if text.is_empty() => return Ok(()),
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => return Ok(()),
    };
    if texts.iter().any(|text| text.is_empty()) {
        return Err("system: text content blocks must be non-empty".to_owned());
    }
    if !texts.is_empty() && texts.iter().all(|text| text.trim().is_empty()) {
        return Err("system: text content blocks must contain non-whitespace text".to_owned());
    }
    Ok(())
}

fn of_messages(messages: &Value) -> Result<(), String> {
    let Some(messages) = messages.as_array() else {
        return Err("messages: Input should be a valid list".to_owned());
    };
    if messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    of_roles(messages)?;
    let mut ids = HashSet::new();
    let mut calls: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages.{index}");
        of_content(&at, message)?;
        let blocks = list(&message["content"]);
        of_results(index, blocks, &calls)?;
        calls = of_type(blocks, "tool_use").filter_map(|block| block["id"].as_str()).collect();
        for (place, call) in of_type(blocks, "tool_use").enumerate() {
            let id = call["id"].as_str().unwrap_or_default();
            if !ids.insert(id) {
                return Err(format!("{at}.content.{place}: `tool_use` ids must be unique"));
            }
        }
    }
    match calls.is_empty() {
        true => Ok(()),
        false => Err(without_results(messages.len() - 1, &calls)),
    }
}

fn of_roles(messages: &[Value]) -> Result<(), String> {
    let mut last = "";
    for (index, message) in messages.iter().enumerate() {
        let role = match message["role"].as_str() {
            Some(role @ ("user" | "assistant")) => role,
            Some("system") => {
                return Err("messages: Unexpected role \"system\". The Messages API accepts a \
                            top-level `system` parameter, not \"system\" as an input message role."
                    .to_owned());
            }
            _ => {
                return Err(format!(
                    "messages.{index}.role: Input should be 'user' or 'assistant'"
                ));
            }
        };
        if index == 0 && role != "user" {
            return Err("messages: first message must use the \"user\" role".to_owned());
        }
        if role == last {
            return Err(format!(
                "messages: roles must alternate between \"user\" and \"assistant\", but found \
                 multiple \"{role}\" roles in a row"
            ));
        }
        last = role;
    }
    if last == "assistant" {
        return Err(
            "This model does not support assistant message prefill. The conversation must \
                    end with a user message."
                .to_owned(),
        );
    }
    Ok(())
}

fn of_content(at: &str, message: &Value) -> Result<(), String> {
    extra(at, message, &["role", "content"])?;
    let is_user = message["role"] == "user";
    let texts: Vec<&str> = match &message["content"] {
        Value::String(text) if !text.is_empty() => vec![text],
        Value::Array(blocks) if !blocks.is_empty() => {
            for (place, block) in blocks.iter().enumerate() {
                of_block(&format!("{at}.content.{place}"), block, is_user)?;
            }
            of_type(blocks, "text").filter_map(|block| block["text"].as_str()).collect()
        }
        Value::String(_) | Value::Array(_) if is_user => {
            return Err(format!("{at}: user messages must have non-empty content"));
        }
        Value::String(_) | Value::Array(_) => {
            return Err(format!(
                "{at}: all messages must have non-empty content except for the optional final \
                 assistant message"
            ));
        }
        _ => return Err(format!("{at}.content: Field required")),
    };
    if texts.iter().any(|text| text.is_empty()) {
        return Err("messages: text content blocks must be non-empty".to_owned());
    }
    let has_only_texts = list(&message["content"]).iter().all(|block| block["type"] == "text");
    if has_only_texts && texts.iter().all(|text| text.trim().is_empty()) {
        return Err("messages: text content blocks must contain non-whitespace text".to_owned());
    }
    Ok(())
}

fn of_block(at: &str, block: &Value, is_user: bool) -> Result<(), String> {
    let kind = block["type"].as_str().unwrap_or_default();
    let required = |field: &str| match block[field].is_string() {
        true => Ok(()),
        false => Err(format!("{at}.{kind}.{field}: Field required")),
    };
    let at_kind = format!("{at}.{kind}");
    match (kind, is_user) {
        ("text", _) => {
            required("text")?;
            extra(&at_kind, block, &["type", "text", "cache_control", "citations"])
        }
        ("thinking", false) => {
            required("thinking")?;
            required("signature")?;
            extra(&at_kind, block, &["type", "thinking", "signature"])
        }
        ("redacted_thinking", false) => {
            required("data")?;
            extra(&at_kind, block, &["type", "data"])
        }
        ("tool_use", false) => {
            required("id")?;
            required("name")?;
            if !block["id"].as_str().is_some_and(is_name) {
                return Err(format!(
                    "{at_kind}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
                ));
            }
            if !block["input"].is_object() {
                return Err(format!("{at_kind}.input: Input should be a valid dictionary"));
            }
            extra(&at_kind, block, &["type", "id", "name", "input", "cache_control"])
        }
        ("tool_result", true) => {
            required("tool_use_id")?;
            let fields = ["type", "tool_use_id", "content", "is_error", "cache_control"];
            extra(&at_kind, block, &fields)
        }
        ("image" | "document", true) => Ok(()),
        ("tool_use" | "thinking" | "redacted_thinking", true) => {
            Err(format!("messages: `{kind}` blocks can only be in `assistant` messages"))
        }
        ("tool_result", false) => {
            Err("messages: `tool_result` blocks can only be in `user` messages".to_owned())
        }
        _ => Err(format!(
            "{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )),
    }
}

/// Checks that the results at the start of message `index` belong to the calls of the message
/// before it.
fn of_results(index: usize, blocks: &[Value], calls: &[&str]) -> Result<(), String> {
    let id = |block: &Value| block["tool_use_id"].as_str().unwrap_or_default().to_owned();
    let mut answered = HashSet::new();
    for (place, result) in blocks.iter().enumerate() {
        if result["type"] != "tool_result" {
            continue;
        }
        let (at, id) = (format!("messages.{index}.content.{place}"), id(result));
        if !calls.contains(&id.as_str()) {
            return Err(format!(
                "{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous \
                 message."
            ));
        }
        if !answered.insert(id.clone()) {
            return Err(format!(
                "{at}: each tool_use must have a single result. Found multiple `tool_result` blocks \
                 with id: {id}"
            ));
        }
    }
    // A result behind a text does not follow its call immediately.
    let at_once: HashSet<String> =
        blocks.iter().take_while(|block| block["type"] == "tool_result").map(id).collect();
    let missing: Vec<&str> =
        calls.iter().copied().filter(|call| !at_once.contains(*call)).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(without_results(index - 1, &missing)),
    }
}

fn without_results(index: usize, calls: &[&str]) -> String {
    format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: \
         {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        calls.join(", ")
    )
}

fn of_cache_marks(body: &Value) -> Result<(), String> {
    let contents = list(&body["messages"]).iter().flat_map(|message| list(&message["content"]));
    let blocks = list(&body["tools"]).iter().chain(list(&body["system"])).chain(contents);
    let found = blocks.filter(|block| !block["cache_control"].is_null()).count();
    if found > CACHE_MARKS_MAX {
        return Err(format!(
            "A maximum of {CACHE_MARKS_MAX} blocks with cache_control may be provided. Found {found}."
        ));
    }
    Ok(())
}

fn extra(at: &str, value: &Value, known: &[&str]) -> Result<(), String> {
    let mut fields = value.as_object().into_iter().flatten().map(|(field, _)| field.as_str());
    match fields.find(|field| !known.contains(field)) {
        Some(field) => Err(format!("{at}.{field}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_letter)
}

fn of_type<'a>(blocks: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    blocks.iter().filter(move |block| block["type"] == kind)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests;
