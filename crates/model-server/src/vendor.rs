//! [`Vendor`]: the request and response formats of four vendors' models.

use serde_json::{Value, json};

use crate::ModelTurn;
use crate::http::ServerAnswer;

/// The API that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's chat completions, and compatible ones.
    Chat,
    /// Google's `generateContent`.
    Gemini,
}

/// Responses to requests outside of the conversation.
pub(crate) fn aside(path: &str) -> Value {
    if path.contains("count_tokens") {
        json!({ "input_tokens": 10 })
    } else if path.contains(":countTokens") {
        json!({ "totalTokens": 10 })
    } else if path.contains("/models") {
        json!({ "object": "list", "data": [], "models": [] })
    } else {
        json!({})
    }
}

/// The agents' names for a tool that runs commands.
const SHELL_TOOLS: &[&str] =
    &["Bash", "bash", "shell", "exec_command", "shell_command", "run_shell_command"];

impl Vendor {
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.contains(":generateContent") || path.contains(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// The tools that the model may call.
    pub(crate) fn tools(self, request: &Value) -> Vec<String> {
        let listed = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&Value> = match self {
            Self::Messages => listed.iter().map(name_or_type).collect(),
            // Codex may send them as the first item of the conversation.
            Self::Responses => {
                let items = self.conversation(request).as_array().into_iter().flatten();
                let added = items.filter_map(|item| item["tools"].as_array()).flatten();
                listed.iter().chain(added).map(name_or_type).collect()
            }
            Self::Chat => listed.iter().map(|tool| &tool["function"]["name"]).collect(),
            Self::Gemini => listed
                .iter()
                .filter_map(|tool| tool["functionDeclarations"].as_array())
                .flatten()
                .map(|tool| &tool["name"])
                .collect(),
        };
        names.into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(crate) fn conversation(self, request: &Value) -> &Value {
        match self {
            Self::Messages | Self::Chat => &request["messages"],
            Self::Responses => &request["input"],
            Self::Gemini => &request["contents"],
        }
    }

    /// The number of turns that the model has had in this conversation.
    pub(crate) fn turns_done(self, request: &Value) -> usize {
        let said = self.conversation(request).as_array().map(Vec::as_slice).unwrap_or_default();
        let is_models = |item: &&Value| match self {
            Self::Messages | Self::Chat => item["role"] == "assistant",
            Self::Responses => {
                item["type"] == "function_call"
                    || item["type"] == "custom_tool_call"
                    || (item["type"] == "message" && item["role"] == "assistant")
            }
            Self::Gemini => item["role"] == "model",
        };
        said.iter().filter(is_models).count()
    }

    pub(crate) fn says(
        self,
        turn: &ModelTurn,
        path: &str,
        request: &Value,
        tools: &[String],
    ) -> ServerAnswer {
        let number = self.turns_done(request);
        let call = match turn {
            ModelTurn::Text(_) => None,
            ModelTurn::Bash(command) => Some(VendorCall::new(command, tools, number)),
            ModelTurn::Call { tool, input } => {
                let id = format!("toolu_{number}");
                Some(VendorCall { id, tool: tool.clone(), input: input.clone() })
            }
            // A string as input is a text; see `responses`.
            ModelTurn::TextCall { tool, input } => {
                let id = format!("toolu_{number}");
                Some(VendorCall { id, tool: tool.clone(), input: Value::from(&**input) })
            }
        };
        let text = match turn {
            ModelTurn::Text(text) => *text,
            ModelTurn::Bash(_) | ModelTurn::Call { .. } | ModelTurn::TextCall { .. } => "",
        };
        match self {
            Self::Messages => messages(text, call.as_ref(), request, number),
            Self::Responses => responses(text, call.as_ref()),
            Self::Chat => chat(text, call.as_ref(), request),
            Self::Gemini => gemini(text, call.as_ref(), path.contains(":stream")),
        }
    }
}

/// Tools of the vendor's own have a type instead of a name.
fn name_or_type(tool: &Value) -> &Value {
    tool.get("name").unwrap_or(&tool["type"])
}

/// A tool call in the model's answer.
struct VendorCall {
    id: String,
    tool: String,
    input: Value,
}

impl VendorCall {
    fn new(command: &str, tools: &[String], number: usize) -> Self {
        let known = SHELL_TOOLS.iter().find(|name| tools.iter().any(|tool| tool == *name));
        let tool = known.copied().unwrap_or("Bash").to_owned();
        let description = "as the script says";
        let input = match &*tool {
            "shell" => json!({ "command": ["bash", "-c", command] }),
            "exec_command" => json!({ "cmd": command }),
            "shell_command" => json!({ "command": command }),
            _ => json!({ "command": command, "description": description }),
        };
        Self { id: format!("toolu_{number}"), tool, input }
    }
}

/// Each turn has its own id, because Claude Code joins messages with the same id.
fn messages(text: &str, call: Option<&VendorCall>, request: &Value, number: usize) -> ServerAnswer {
    let (block, stop_reason) = match call {
        None => (json!({ "type": "text", "text": text }), "end_turn"),
        Some(VendorCall { id, tool, input }) => {
            (json!({ "type": "tool_use", "id": id, "name": tool, "input": input }), "tool_use")
        }
    };
    let message = json!({
        "id": format!("msg_script_{number}"), "type": "message", "role": "assistant",
        "model": request["model"],
        "content": [block], "stop_reason": stop_reason, "stop_sequence": null,
        "usage": { "input_tokens": 10, "output_tokens": 10 },
    });
    if request["stream"] == json!(true) {
        ServerAnswer::stream(streamed_message(message))
    } else {
        ServerAnswer::json(&message)
    }
}

/// The same message as a stream.
fn streamed_message(mut message: Value) -> String {
    let mut block = message["content"][0].take();
    let (stop_reason, usage) = (message["stop_reason"].take(), message["usage"].clone());
    message["content"] = json!([]);
    let delta = match block["type"].as_str() {
        Some("tool_use") => {
            let input = std::mem::replace(&mut block["input"], json!({}));
            json!({ "type": "input_json_delta", "partial_json": input.to_string() })
        }
        _ => {
            let text = std::mem::replace(&mut block["text"], json!(""));
            json!({ "type": "text_delta", "text": text })
        }
    };
    named_events(&[
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "usage": usage,
            "delta": { "stop_reason": stop_reason, "stop_sequence": null } }),
        json!({ "type": "message_stop" }),
    ])
}

fn responses(text: &str, call: Option<&VendorCall>) -> ServerAnswer {
    let item = match call {
        None => json!({
            "type": "message", "id": "msg_script", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Some(VendorCall { id, tool, input: Value::String(text) }) => json!({
            "type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": id, "name": tool,
            "input": text, "status": "completed",
        }),
        Some(VendorCall { id, tool, input }) => {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": tool,
                "arguments": input.to_string(), "status": "completed",
            });
            if let Some((namespace, name)) = tool.split_once('.') {
                item["namespace"] = namespace.into();
                item["name"] = name.into();
            }
            item
        }
    };
    let usage = json!({
        "input_tokens": 1000, "input_tokens_details": { "cached_tokens": 400 },
        "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 1020,
    });
    ServerAnswer::stream(named_events(&[
        json!({ "type": "response.created", "response": { "id": "resp_script" } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed",
            "response": { "id": "resp_script", "status": "completed", "output": [item],
                "usage": usage } }),
    ]))
}

fn chat(text: &str, call: Option<&VendorCall>, request: &Value) -> ServerAnswer {
    let usage = json!({
        "prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020,
        "prompt_tokens_details": { "cached_tokens": 400 },
    });
    let head = |object: &str, choices: Value, usage: Value| {
        json!({ "id": "chatcmpl-script", "object": object, "created": 0, "model": request["model"],
            "choices": choices, "usage": usage })
    };
    let (said, reason) = match call {
        None => (json!({ "role": "assistant", "content": text }), "stop"),
        Some(VendorCall { id, tool, input }) => {
            let function = json!({ "name": tool, "arguments": input.to_string() });
            let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
    };
    if request["stream"] != json!(true) {
        let choice = json!([{ "index": 0, "message": said, "finish_reason": reason }]);
        return ServerAnswer::json(&head("chat.completion", choice, usage));
    }
    let object = "chat.completion.chunk";
    let first = json!([{ "index": 0, "delta": said, "finish_reason": null }]);
    let last = json!([{ "index": 0, "delta": {}, "finish_reason": reason }]);
    let events = [
        head(object, first, Value::Null),
        head(object, last, Value::Null),
        head(object, json!([]), usage),
    ];
    ServerAnswer::stream(plain_events(&events) + "data: [DONE]\n\n")
}

fn gemini(text: &str, call: Option<&VendorCall>, is_stream: bool) -> ServerAnswer {
    let part = match call {
        None => json!({ "text": text }),
        Some(VendorCall { tool, input, .. }) => {
            json!({ "functionCall": { "name": tool, "args": input } })
        }
    };
    let body = json!({
        "candidates": [{ "index": 0, "finishReason": "STOP",
            "content": { "role": "model", "parts": [part] } }],
        "usageMetadata": { "promptTokenCount": 1000, "cachedContentTokenCount": 400,
            "candidatesTokenCount": 20, "totalTokenCount": 1020 },
        "modelVersion": "script", "responseId": "script",
    });
    if is_stream { ServerAnswer::stream(plain_events(&[body])) } else { ServerAnswer::json(&body) }
}

fn named_events(events: &[Value]) -> String {
    let line = |event: &Value| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(line).collect()
}

fn plain_events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}
