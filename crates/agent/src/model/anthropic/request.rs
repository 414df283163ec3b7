//! The body of a request. Parts that stay the same are marked for the prompt cache: the server then reads
//! them from its cache if a later request begins with the same bytes.
//!
//! There are four marks, which is as many as the server allows: on the last tool, on the system prompt, on the
//! user's message before the last one, up to which the request before this one was marked, and on the last
//! message. So each request finds the part that the one before it has put into the cache.
//!
//! A conversation may have begun over another protocol. The server refuses thoughts that it did not sign, and
//! ids and names with other characters than its own: the former are left out, the latter are adapted.

use std::borrow::Cow;

use serde::Serialize;
#[cfg(test)]
use serde_json::Value;

use crate::message::{Block, Message, Role};
use crate::model::failure::not_understood;
use crate::model::{ModelError, ModelRequest, NOTHING_SAID};
use crate::tool::ToolSpec;

#[derive(Serialize)]
struct RequestWire<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<MaybeMarked<&'a ToolSpec>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[MaybeMarked<SystemWire<'a>>; 1]>,
    messages: Vec<MessageWire<'a>>,
}

#[derive(Serialize)]
struct SystemWire<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct MessageWire<'a> {
    role: Role,
    content: Vec<MaybeMarked<Cow<'a, Block>>>,
}

/// Something that may have a mark. Only what has one is flattened: serde takes several times as long
/// for that, and almost the whole conversation has none.
#[derive(Serialize)]
#[serde(untagged)]
enum MaybeMarked<T> {
    Unmarked(T),
    Marked {
        #[serde(flatten)]
        inner: T,
        cache_control: CacheMark,
    },
}

#[derive(Serialize)]
struct CacheMark {
    r#type: &'static str,
}

impl<T> MaybeMarked<T> {
    fn new(inner: T, is_marked: bool) -> Self {
        match is_marked {
            true => Self::Marked { inner, cache_control: CacheMark { r#type: "ephemeral" } },
            false => Self::Unmarked(inner),
        }
    }
}

/// The body, as bytes.
pub(super) fn body(model: &str, request: &ModelRequest<'_>) -> Result<Vec<u8>, ModelError> {
    let tools = request.tools.iter().enumerate();
    let is_last = |index| index + 1 == request.tools.len();
    let system = SystemWire { r#type: "text", text: request.system };
    let has_system = !request.system.trim().is_empty();
    let wire = RequestWire {
        model,
        max_tokens: request.max_tokens,
        stream: true,
        tools: tools.map(|(index, tool)| MaybeMarked::new(*tool, is_last(index))).collect(),
        system: has_system.then(|| [MaybeMarked::new(system, true)]),
        messages: messages(request.messages),
    };
    serde_json::to_vec(&wire)
        .map_err(|error| not_understood(format!("the request cannot be written as JSON: {error}")))
}

fn messages(messages: &[Message]) -> Vec<MessageWire<'_>> {
    let mut users = messages.iter().enumerate().rev().filter(|(_, it)| it.role == Role::User);
    let marked: [Option<usize>; 2] = std::array::from_fn(|_| users.next().map(|(index, _)| index));
    let wire = messages.iter().enumerate().map(|(index, message)| {
        let mut blocks: Vec<Cow<'_, Block>> = message.content.iter().filter_map(accepted).collect();
        if blocks.is_empty() && !message.content.is_empty() {
            blocks.push(Cow::Owned(Block::text(NOTHING_SAID)));
        }
        let mark = match marked.contains(&Some(index)) {
            true => blocks.iter().rposition(|block| can_be_marked(block)),
            false => None,
        };
        let blocks = blocks.into_iter().enumerate();
        let content = blocks.map(|(place, block)| MaybeMarked::new(block, mark == Some(place)));
        MessageWire { role: message.role, content: content.collect() }
    });
    wire.collect()
}

/// The block as the server accepts it; `None` if it does not.
fn accepted(block: &Block) -> Option<Cow<'_, Block>> {
    let is_adapted = |text: &str| matches!(adapted(text), Cow::Owned(_));
    match block {
        Block::Thinking { signature, .. } if signature.is_empty() => None,
        Block::ToolUse { id, name, input } if is_adapted(id) || is_adapted(name) => {
            let (id, name) = (adapted(id).into_owned(), adapted(name).into_owned());
            Some(Cow::Owned(Block::ToolUse { id, name, input: input.clone() }))
        }
        Block::ToolResult { tool_use_id, content, is_error } if is_adapted(tool_use_id) => {
            let tool_use_id = adapted(tool_use_id).into_owned();
            let (content, is_error) = (content.clone(), *is_error);
            Some(Cow::Owned(Block::ToolResult { tool_use_id, content, is_error }))
        }
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolUse { .. }
        | Block::ToolResult { .. } => Some(Cow::Borrowed(block)),
    }
}

/// An id or a name with the letters that the server accepts.
fn adapted(text: &str) -> Cow<'_, str> {
    let is_accepted = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match text.chars().all(is_accepted) {
        true => Cow::Borrowed(text),
        false => {
            let letters = text.chars();
            letters.map(|letter| if is_accepted(letter) { letter } else { '_' }).collect()
        }
    }
}

/// The server refuses a mark on a thought or on an empty text.
fn can_be_marked(block: &Block) -> bool {
    match block {
        Block::Text { text } => !text.is_empty(),
        Block::ToolUse { .. } | Block::ToolResult { .. } => true,
        Block::Thinking { .. } | Block::RedactedThinking { .. } => false,
    }
}

/// The body without its marks, for comparison.
#[cfg(test)]
fn without_marks(body: &Value) -> Value {
    match body {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "cache_control")
            .map(|(name, value)| (name.clone(), without_marks(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn written(messages: &[Message], system: &str, tools: &[ToolSpec]) -> Value {
        let tools: Vec<&ToolSpec> = tools.iter().collect();
        let request = ModelRequest { system, messages, tools: &tools, max_tokens: 100 };
        serde_json::from_slice(&body("m", &request).expect("a body")).expect("JSON")
    }

    fn tool(name: &str) -> ToolSpec {
        let input_schema = json!({ "type": "object", "properties": {} });
        ToolSpec { name: name.into(), description: "does it".into(), input_schema }
    }

    fn call(id: &str) -> Message {
        let thinking = Block::Thinking { thinking: "hm".into(), signature: "s".into() };
        let input = Map::from_iter([("command".to_owned(), json!("ls"))]);
        let call = Block::ToolUse { id: id.into(), name: "bash".into(), input };
        Message::assistant(vec![thinking, call])
    }

    fn result(id: &str, context: Option<&str>) -> Message {
        let (tool_use_id, content) = (id.to_owned(), "done".to_owned());
        let mut blocks = vec![Block::ToolResult { tool_use_id, content, is_error: false }];
        blocks.extend(context.map(Block::text));
        Message::user(blocks)
    }

    #[test]
    fn a_request_has_the_shape_of_the_protocol_and_four_marks() {
        let conversation =
            [Message::user(vec![Block::text("go")]), call("a"), result("a", Some("a context"))];
        let mark = json!({ "type": "ephemeral" });
        assert_eq!(
            written(&conversation, "Be brief.", &[tool("bash"), tool("read")]),
            json!({
                "model": "m", "max_tokens": 100, "stream": true,
                "tools": [
                    { "name": "bash", "description": "does it",
                        "input_schema": { "type": "object", "properties": {} } },
                    { "name": "read", "description": "does it",
                        "input_schema": { "type": "object", "properties": {} },
                        "cache_control": mark },
                ],
                "system": [{ "type": "text", "text": "Be brief.", "cache_control": mark }],
                "messages": [
                    { "role": "user",
                        "content": [{ "type": "text", "text": "go", "cache_control": mark }] },
                    { "role": "assistant", "content": [
                        { "type": "thinking", "thinking": "hm", "signature": "s" },
                        { "type": "tool_use", "id": "a", "name": "bash",
                            "input": { "command": "ls" } }] },
                    { "role": "user", "content": [
                        { "type": "tool_result", "tool_use_id": "a", "content": "done" },
                        { "type": "text", "text": "a context", "cache_control": mark }] },
                ],
            })
        );
    }

    #[test]
    fn without_tools_and_a_system_prompt_neither_is_sent() {
        let body = written(&[Message::user(vec![Block::text("go")])], " ", &[]);
        let fields: Vec<&String> = body.as_object().expect("an object").keys().collect();
        assert_eq!(fields, ["model", "max_tokens", "stream", "messages"]);
    }

    #[test]
    fn each_request_begins_with_the_one_before_it_and_marks_where_that_one_ended() {
        let mut conversation = vec![Message::user(vec![Block::text("go")])];
        let mut before: Option<Value> = None;
        for (number, context) in
            [None, Some("a hook's context"), None, Some("another")].iter().enumerate()
        {
            let now = written(&conversation, "Be brief.", &[tool("bash")]);
            if let Some(before) = before.replace(now.clone()) {
                for part in ["system", "tools"] {
                    assert_eq!(before[part], now[part], "{part}");
                }
                let then = before["messages"].as_array().expect("messages");
                let now = &now["messages"];
                for (index, message) in then.iter().enumerate() {
                    assert_eq!(without_marks(message), without_marks(&now[index]));
                }
                let last = then.len() - 1;
                assert_eq!(then[last], now[last], "the mark is where the last request had it");
                assert!(then[last].to_string().contains("cache_control"));
            }
            let id = format!("call_{number}");
            conversation.extend([call(&id), result(&id, *context)]);
        }
    }

    #[test]
    fn a_mark_goes_before_what_cannot_have_one() {
        let thinking = Block::Thinking { thinking: "x".into(), signature: "s".into() };
        let body = written(&[Message::user(vec![Block::text("go"), thinking])], "", &[]);
        let content = &body["messages"][0]["content"];
        assert_eq!(content[0]["cache_control"], json!({ "type": "ephemeral" }));
        assert_eq!(content[1]["cache_control"], Value::Null);
    }

    #[test]
    fn a_conversation_that_began_over_another_protocol_is_adapted() {
        let thinking = Block::Thinking { thinking: "hm".into(), signature: String::new() };
        let input = Map::from_iter([("command".to_owned(), json!("ls"))]);
        let (id, name) = ("functions.bash:0".to_owned(), "run this".to_owned());
        let call = Block::ToolUse { id, name, input };
        let conversation = [
            Message::user(vec![Block::text("go")]),
            Message::assistant(vec![thinking.clone(), call]),
            result("functions.bash:0", None),
            Message::assistant(vec![thinking]),
            Message::user(vec![Block::text("and?")]),
        ];
        let body = written(&conversation, "", &[]);
        assert_eq!(
            without_marks(&body["messages"]),
            json!([
                { "role": "user", "content": [{ "type": "text", "text": "go" }] },
                { "role": "assistant", "content": [{ "type": "tool_use",
                    "id": "functions_bash_0", "name": "run_this", "input": { "command": "ls" } }] },
                { "role": "user", "content": [{ "type": "tool_result",
                    "tool_use_id": "functions_bash_0", "content": "done" }] },
                { "role": "assistant",
                    "content": [{ "type": "text", "text": "(The model said nothing.)" }] },
                { "role": "user", "content": [{ "type": "text", "text": "and?" }] },
            ])
        );
    }
}
