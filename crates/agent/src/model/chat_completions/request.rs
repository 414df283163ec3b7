//! The body of a request: the conversation in the shape of chat completions.
//!
//! - The system prompt is the first message.
//! - A result of a tool is a message of its own, of role `tool`, right behind the message with the call. The
//!   protocol has no mark for a result that is an error; its words say so.
//! - Texts of one message become one text. Many compatible servers accept nothing else.
//! - Thoughts are left out: some servers refuse them, and no model needs them back.
//! - A tool's name that the protocol does not allow is adapted. A model can make up such a name, and the server
//!   would refuse the whole conversation for it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::optional_fields::{SentFields, TokenLimit};
use crate::message::{Block, Message, Role};
use crate::model::failure::not_understood;
use crate::model::{ModelError, ModelRequest, NOTHING_SAID};
use crate::tool::ToolSpec;

/// Characters of a tool's name in a call.
const NAME_CHARS_MAX: usize = 64;

#[derive(Serialize)]
struct ChatRequestWire<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptionsWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatToolWire<'a>>,
    messages: Vec<ChatMessageWire<'a>>,
}

#[derive(Serialize)]
struct StreamOptionsWire {
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatToolWire<'a> {
    r#type: &'static str,
    function: ChatFunctionWire<'a>,
}

#[derive(Serialize)]
struct ChatFunctionWire<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum ChatMessageWire<'a> {
    System {
        content: &'a str,
    },
    User {
        content: String,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatCallWire<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct ChatCallWire<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunctionWire<'a>,
}

#[derive(Serialize)]
struct CalledFunctionWire<'a> {
    name: Cow<'a, str>,
    /// JSON as a text.
    arguments: String,
}

/// The body, as bytes.
pub(super) fn body(
    model: &str,
    request: &ModelRequest<'_>,
    sent: SentFields,
) -> Result<Vec<u8>, ModelError> {
    let limit = |name| (sent.token_limit == Some(name)).then_some(request.max_tokens);
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(ChatMessageWire::System { content: request.system });
    }
    for message in request.messages {
        match message.role {
            Role::User => add_user(message, &mut messages),
            Role::Assistant => messages.push(assistant(message)),
        }
    }
    let wire = ChatRequestWire {
        model,
        stream: true,
        stream_options: sent.asks_usage.then_some(StreamOptionsWire { include_usage: true }),
        max_tokens: limit(TokenLimit::MaxTokens),
        max_completion_tokens: limit(TokenLimit::MaxCompletionTokens),
        tools: request.tools.iter().map(|spec| tool(spec)).collect(),
        messages,
    };
    serde_json::to_vec(&wire)
        .map_err(|error| not_understood(format!("the request cannot be written as JSON: {error}")))
}

fn tool(spec: &ToolSpec) -> ChatToolWire<'_> {
    let ToolSpec { name, description, input_schema } = spec;
    let function = ChatFunctionWire { name, description, parameters: input_schema };
    ChatToolWire { r#type: "function", function }
}

/// The results come first, each behind the call that it belongs to, and then what else the user says.
fn add_user<'a>(message: &'a Message, messages: &mut Vec<ChatMessageWire<'a>>) {
    for block in &message.content {
        if let Block::ToolResult { tool_use_id, content, is_error: _ } = block {
            messages.push(ChatMessageWire::Tool { tool_call_id: tool_use_id, content });
        }
    }
    if let Some(content) = joined_texts(message) {
        messages.push(ChatMessageWire::User { content });
    }
}

fn assistant(message: &Message) -> ChatMessageWire<'_> {
    let calls = message.content.iter().filter_map(|block| match block {
        Block::ToolUse { id, name, input } => {
            let arguments = serde_json::to_string(input).unwrap_or_else(|_| "{}".to_owned());
            let function = CalledFunctionWire { name: allowed_name(name), arguments };
            Some(ChatCallWire { id, r#type: "function", function })
        }
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolResult { .. } => None,
    });
    let tool_calls: Vec<ChatCallWire<'_>> = calls.collect();
    let text = joined_texts(message);
    let content = match tool_calls.is_empty() {
        true => Some(text.unwrap_or_else(|| NOTHING_SAID.to_owned())),
        false => text,
    };
    ChatMessageWire::Assistant { content, tool_calls }
}

/// The texts that say something, with a blank line between them.
fn joined_texts(message: &Message) -> Option<String> {
    let texts = message.content.iter().filter_map(|block| match block {
        Block::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let joined = texts.collect::<Vec<_>>().join("\n\n");
    (!joined.is_empty()).then_some(joined)
}

/// A name that every server accepts.
fn allowed_name(name: &str) -> Cow<'_, str> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if name.len() <= NAME_CHARS_MAX && name.chars().all(is_allowed) {
        return Cow::Borrowed(name);
    }
    let letters = name.chars().take(NAME_CHARS_MAX);
    letters.map(|letter| if is_allowed(letter) { letter } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    const ALL: SentFields =
        SentFields { asks_usage: true, token_limit: Some(TokenLimit::MaxTokens) };

    fn written(messages: &[Message], system: &str, tools: &[ToolSpec], sent: SentFields) -> Value {
        let tools: Vec<&ToolSpec> = tools.iter().collect();
        let request = ModelRequest { system, messages, tools: &tools, max_tokens: 100 };
        serde_json::from_slice(&body("m", &request, sent).expect("a body")).expect("JSON")
    }

    fn call(id: &str, name: &str) -> Block {
        let input = Map::from_iter([("command".to_owned(), json!("ls"))]);
        Block::ToolUse { id: id.into(), name: name.into(), input }
    }

    fn result(id: &str) -> Block {
        let (tool_use_id, content) = (id.to_owned(), format!("result of {id}"));
        Block::ToolResult { tool_use_id, content, is_error: true }
    }

    #[test]
    fn a_conversation_has_the_shape_of_the_protocol() {
        let thinking = Block::Thinking { thinking: "hm".into(), signature: "s".into() };
        let redacted = Block::RedactedThinking { data: "x".into() };
        let conversation = [
            Message::user(vec![Block::text("piped"), Block::text("go")]),
            Message::assistant(vec![
                thinking,
                redacted,
                Block::text("I look."),
                call("a", "bash"),
                call("b", "bash"),
            ]),
            Message::user(vec![result("b"), result("a"), Block::text("From a hook:\nx")]),
            Message::assistant(vec![call("c", "bash")]),
            Message::user(vec![result("c")]),
        ];
        let schema = json!({ "type": "object", "properties": {} });
        let tool = ToolSpec {
            name: "bash".into(),
            description: "runs it".into(),
            input_schema: schema.clone(),
        };
        let called = |id: &str| {
            json!({ "id": id, "type": "function",
            "function": { "name": "bash", "arguments": "{\"command\":\"ls\"}" } })
        };
        let answered = |id: &str| {
            json!({ "role": "tool", "tool_call_id": id,
            "content": format!("result of {id}") })
        };
        assert_eq!(
            written(&conversation, "Be brief.", &[tool], ALL),
            json!({
                "model": "m", "stream": true, "stream_options": { "include_usage": true },
                "max_tokens": 100,
                "tools": [{ "type": "function", "function": { "name": "bash",
                    "description": "runs it", "parameters": schema } }],
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "piped\n\ngo" },
                    { "role": "assistant", "content": "I look.",
                        "tool_calls": [called("a"), called("b")] },
                    answered("b"),
                    answered("a"),
                    { "role": "user", "content": "From a hook:\nx" },
                    { "role": "assistant", "content": null, "tool_calls": [called("c")] },
                    answered("c"),
                ],
            })
        );
    }

    #[test]
    fn what_is_not_there_is_not_sent() {
        let go = [Message::user(vec![Block::text("go")])];
        let none = SentFields { asks_usage: false, token_limit: None };
        assert_eq!(
            written(&go, " ", &[], none),
            json!({ "model": "m", "stream": true,
                "messages": [{ "role": "user", "content": "go" }] })
        );
        let renamed = SentFields { token_limit: Some(TokenLimit::MaxCompletionTokens), ..none };
        let body = written(&go, " ", &[], renamed);
        assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(100), None));
    }

    #[test]
    fn a_message_of_thoughts_alone_says_that_nothing_was_said() {
        let thinking = Block::Thinking { thinking: "hm".into(), signature: String::new() };
        let conversation = [Message::assistant(vec![thinking, Block::text(" ")])];
        let body = written(&conversation, "", &[], ALL);
        let expected = json!([{ "role": "assistant", "content": "(The model said nothing.)" }]);
        assert_eq!(body["messages"], expected);
    }

    #[test]
    fn a_name_that_no_server_accepts_is_adapted() {
        let long = "x".repeat(70);
        for (name, expected) in
            [("mcp__a-b__c", "mcp__a-b__c"), ("bash run.sh", "bash_run_sh"), (&long, &long[..64])]
        {
            let body = written(&[Message::assistant(vec![call("a", name)])], "", &[], ALL);
            let name = &body["messages"][0]["tool_calls"][0]["function"]["name"];
            assert_eq!(name, &json!(expected));
        }
    }
}
