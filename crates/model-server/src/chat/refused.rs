//! What the vendor's own server refuses, and its messages. A test that passes here must not fail
//! there.
//!
//! In some points this server is stricter, because compatible servers are: a message has content,
//! and the arguments of a call are a JSON object. In one it is more lenient: if the script sets no
//! key, it needs none, like servers on one's own machine.

use std::collections::HashSet;

use hookwright_model_script::{ModelScript, ScriptedError};
use serde_json::Value;

use crate::http::ReceivedRequest;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "stop",
    "user",
];

/// Characters of a function's name.
const NAME_CHARS_MAX: usize = 64;

/// Why a request is refused; `None` if it is valid.
pub(crate) fn why(request: &ReceivedRequest, script: &ModelScript) -> Option<ScriptedError> {
    of_headers(request, script).err().or_else(|| {
        let body = &request.body;
        let checked = of_fields(body, script)
            .and_then(|()| of_tools(&body["tools"]))
            .and_then(|()| of_messages(&body["messages"]));
        checked.err().or_else(|| of_model(body, script))
    })
}

fn of_headers(request: &ReceivedRequest, script: &ModelScript) -> Result<(), ScriptedError> {
    let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    match (&script.key, bearer) {
        (None, _) => {}
        (Some(_), None | Some("")) => {
            return Err(ScriptedError::with_message(
                401,
                "You didn't provide an API key. You need to provide your API key in an \
                 Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            ));
        }
        (Some(known), Some(key)) if known == key => {}
        (Some(_), Some(_)) => return Err(ScriptedError::of_status(401)),
    }
    match request.body.is_object() {
        true => Ok(()),
        false => Err(invalid("", "We could not parse the JSON body of your request.")),
    }
}

fn of_model(body: &Value, script: &ModelScript) -> Option<ScriptedError> {
    let model = body["model"].as_str().unwrap_or_default();
    let is_known = script.models.is_empty() || script.models.iter().any(|known| known == model);
    let message = format!("The model `{model}` does not exist or you do not have access to it.");
    let error = ScriptedError::with_message(404, message);
    (!is_known).then(|| ScriptedError { code: Some("model_not_found".to_owned()), ..error })
}

fn of_fields(body: &Value, script: &ModelScript) -> Result<(), ScriptedError> {
    let fields = || body.as_object().into_iter().flatten().map(|(field, _)| field.as_str());
    if let Some(field) = fields().find(|field| script.refuses.iter().any(|it| it == field)) {
        return Err(match field {
            "tools" => invalid("", format!("{} does not support tools", body["model"])),
            "max_tokens" => invalid(
                "unsupported_parameter",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                 'max_completion_tokens' instead.",
            ),
            _ => unknown(field),
        });
    }
    if let Some(field) = fields().find(|field| !FIELDS.contains(field)) {
        return Err(unknown(field));
    }
    if !body["model"].is_string() {
        return Err(invalid("", "you must provide a model parameter"));
    }
    for limit in ["max_tokens", "max_completion_tokens"] {
        if !body[limit].is_null() && body[limit].as_u64().is_none_or(|tokens| tokens == 0) {
            let message = format!(
                "Invalid '{limit}': integer below minimum value. Expected a value >= 1, but got {} \
                 instead.",
                body[limit]
            );
            return Err(invalid("integer_below_min_value", message));
        }
    }
    if !body["max_tokens"].is_null() && !body["max_completion_tokens"].is_null() {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not \
                       supported.";
        return Err(invalid("invalid_parameter_combination", message));
    }
    match body["stream"] == true {
        true => Ok(()),
        false => Err(invalid("", "This server of tests answers only with `stream: true`.")),
    }
}

fn of_tools(tools: &Value) -> Result<(), ScriptedError> {
    if tools.as_array().is_some_and(Vec::is_empty) {
        return Err(empty_array("tools"));
    }
    let mut names = HashSet::new();
    for (index, tool) in list(tools).iter().enumerate() {
        let at = format!("tools[{index}]");
        if tool["type"] != "function" {
            return Err(missing(&format!("{at}.type")));
        }
        let function = &tool["function"];
        let name = of_name(&format!("{at}.function.name"), &function["name"])?;
        if !names.insert(name) {
            return Err(invalid("", format!("Duplicate function name: '{name}'.")));
        }
        if function["parameters"]["type"] != "object" {
            let message = format!(
                "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \
                 \"object\"', got 'type: {}'.",
                function["parameters"]["type"]
            );
            return Err(invalid("invalid_function_parameters", message));
        }
    }
    Ok(())
}

fn of_messages(messages: &Value) -> Result<(), ScriptedError> {
    let Some(messages) = messages.as_array() else { return Err(missing("messages")) };
    if messages.is_empty() {
        return Err(empty_array("messages"));
    }
    // Calls that have no result yet.
    let mut open: Vec<&str> = Vec::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            of_result(&at, message, &mut open, &mut answered)?;
            continue;
        }
        if !open.is_empty() {
            return Err(without_results(&open));
        }
        answered.clear();
        match role {
            "system" | "developer" | "user" => of_content(&at, &message["content"])?,
            "assistant" => {
                if message["tool_calls"].is_null() {
                    of_content(&at, &message["content"])?;
                }
                open = of_calls(&at, &message["tool_calls"])?;
            }
            other => {
                let message = format!(
                    "Invalid value: '{other}'. Supported values are: 'system', 'assistant', 'user', \
                     'function', 'tool', and 'developer'."
                );
                return Err(invalid("invalid_value", message));
            }
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(without_results(&open)),
    }
}

fn of_content(at: &str, content: &Value) -> Result<(), ScriptedError> {
    match content {
        Value::String(text) if text.trim().is_empty() => {
            Err(invalid("", format!("Invalid '{at}.content': it says nothing.")))
        }
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() => Ok(()),
        other => Err(invalid(
            "invalid_type",
            format!("Invalid value for '{at}.content': expected a string, got {other}."),
        )),
    }
}

/// The ids of the calls of a message.
fn of_calls<'a>(at: &str, calls: &'a Value) -> Result<Vec<&'a str>, ScriptedError> {
    if calls.as_array().is_some_and(Vec::is_empty) {
        return Err(empty_array(&format!("{at}.tool_calls")));
    }
    let mut ids = Vec::new();
    for (index, call) in list(calls).iter().enumerate() {
        let at = format!("{at}.tool_calls[{index}]");
        let Some(id) = call["id"].as_str().filter(|id| !id.is_empty()) else {
            return Err(missing(&format!("{at}.id")));
        };
        if ids.contains(&id) {
            return Err(invalid("", format!("Duplicate value for '{at}.id': '{id}'.")));
        }
        if call["type"] != "function" {
            return Err(missing(&format!("{at}.type")));
        }
        of_name(&format!("{at}.function.name"), &call["function"]["name"])?;
        let arguments = &call["function"]["arguments"];
        let Some(text) = arguments.as_str() else {
            let message = format!(
                "Invalid type for '{at}.function.arguments': expected a string, but got {arguments} \
                 instead."
            );
            return Err(invalid("invalid_type", message));
        };
        if !serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()) {
            let message = format!("Invalid '{at}.function.arguments': it is no JSON object.");
            return Err(invalid("", message));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn of_result<'a>(
    at: &str,
    message: &'a Value,
    open: &mut Vec<&'a str>,
    answered: &mut HashSet<&'a str>,
) -> Result<(), ScriptedError> {
    let Some(id) = message["tool_call_id"].as_str() else {
        return Err(missing(&format!("{at}.tool_call_id")));
    };
    if !message["content"].is_string() && !message["content"].is_array() {
        return Err(missing(&format!("{at}.content")));
    }
    if answered.contains(id) {
        return Err(invalid("", format!("Duplicate value for 'tool_call_id' of '{id}' in {at}.")));
    }
    if open.is_empty() && answered.is_empty() {
        return Err(invalid(
            "",
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding \
             message with 'tool_calls'.",
        ));
    }
    let Some(place) = open.iter().position(|call| *call == id) else {
        return Err(invalid(
            "",
            format!(
                "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous \
                 message."
            ),
        ));
    };
    answered.insert(open.remove(place));
    Ok(())
}

fn of_name<'a>(at: &str, name: &'a Value) -> Result<&'a str, ScriptedError> {
    let Some(name) = name.as_str() else { return Err(missing(at)) };
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
    if name.len() > NAME_CHARS_MAX {
        let message = format!(
            "Invalid '{at}': string too long. Expected a string with maximum length \
             {NAME_CHARS_MAX}, but got a string with length {} instead.",
            name.len()
        );
        return Err(invalid("string_above_max_length", message));
    }
    if name.is_empty() || !name.bytes().all(is_letter) {
        let message = format!(
            "Invalid '{at}': string does not match pattern. Expected a string that matches the \
             pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(invalid("invalid_value", message));
    }
    Ok(name)
}

fn without_results(calls: &[&str]) -> ScriptedError {
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
         'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        calls.join(", ")
    );
    invalid("", message)
}

fn unknown(field: &str) -> ScriptedError {
    invalid("", format!("Unrecognized request argument supplied: {field}"))
}

fn missing(parameter: &str) -> ScriptedError {
    let message = format!("Missing required parameter: '{parameter}'.");
    invalid("missing_required_parameter", message)
}

fn empty_array(parameter: &str) -> ScriptedError {
    let message = format!(
        "Invalid '{parameter}': empty array. Expected an array with minimum length 1, but got an empty \
         array instead."
    );
    invalid("empty_array", message)
}

fn invalid(code: &str, message: impl Into<String>) -> ScriptedError {
    let code = (!code.is_empty()).then(|| code.to_owned());
    ScriptedError { code, ..ScriptedError::with_message(400, message) }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests;
