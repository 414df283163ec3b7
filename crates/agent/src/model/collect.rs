//! [`Collector`]: a whole [`ModelAnswer`] out of the events of a stream.
//!
//! What is newer than this program is skipped: events, deltas, and blocks of unknown types. What contradicts
//! the protocol is an error, because half an answer must not run tools. A text without anything to read is
//! left out: servers send such texts, and refuse them when they are sent back.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    AnswerEnd, AnswerStart, Delta, ModelAnswer, ModelError, ModelErrorKind, RetryAfter, StreamEvent,
};
use crate::message::{Block, Usage};

/// Collects one answer.
#[derive(Debug, Default)]
pub struct Collector {
    start: Option<AnswerStart>,
    blocks: Vec<OpenBlock>,
    stop_reason: Option<String>,
    usage: Usage,
    is_complete: bool,
}

#[derive(Debug)]
struct OpenBlock {
    content: OpenContent,
    is_complete: bool,
}

/// A block that grows.
#[derive(Debug)]
enum OpenContent {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    Redacted(String),
    ToolUse {
        id: String,
        name: String,
        at_start: Value,
        json: String,
    },
    /// Of a type that is newer than this program.
    Unknown,
}

impl Collector {
    /// Adds the next event.
    pub fn push(&mut self, event: &StreamEvent) -> Result<(), ModelError> {
        if matches!(event, StreamEvent::Ping | StreamEvent::Unknown) {
            return Ok(());
        }
        if self.is_complete {
            return Err(misfit("an event came behind the end of the answer"));
        }
        if self.start.is_none() && !matches!(event, StreamEvent::MessageStart { .. }) {
            return Err(misfit("the answer does not begin with `message_start`"));
        }
        match event {
            StreamEvent::MessageStart { message } => self.begin(message),
            StreamEvent::ContentBlockStart { index, content_block } => {
                self.begin_block(*index, content_block)
            }
            StreamEvent::ContentBlockDelta { index, delta } => self.grow(*index, delta),
            StreamEvent::ContentBlockStop { index } => {
                self.open_block(*index)?.is_complete = true;
                Ok(())
            }
            StreamEvent::MessageDelta { delta, usage } => {
                self.note_end(delta, *usage);
                Ok(())
            }
            StreamEvent::MessageStop => {
                self.is_complete = true;
                Ok(())
            }
            StreamEvent::Ping | StreamEvent::Unknown => Ok(()),
        }
    }

    /// The answer. One that has not come to its end is an error.
    pub fn finish(self) -> Result<ModelAnswer, ModelError> {
        if !self.is_complete {
            return Err(incomplete());
        }
        if self.blocks.iter().any(|block| !block.is_complete) {
            return Err(misfit("a block of the answer has no end"));
        }
        let start = self.start.unwrap_or_default();
        let (mut content, mut broken_inputs) = (Vec::new(), Vec::new());
        let mut ids = HashSet::new();
        for block in self.blocks {
            match block.content {
                OpenContent::Text(text) if text.trim().is_empty() => {}
                OpenContent::Text(text) => content.push(Block::Text { text }),
                OpenContent::Thinking { thinking, signature } => {
                    content.push(Block::Thinking { thinking, signature });
                }
                OpenContent::Redacted(data) => content.push(Block::RedactedThinking { data }),
                OpenContent::ToolUse { id, name, at_start, json } => {
                    if !ids.insert(id.clone()) {
                        return Err(misfit(&format!("two tool calls have the id `{id}`")));
                    }
                    let input = tool_input(at_start, &json).unwrap_or_else(|reason| {
                        broken_inputs.push((id.clone(), reason));
                        Map::new()
                    });
                    content.push(Block::ToolUse { id, name, input });
                }
                OpenContent::Unknown => {}
            }
        }
        Ok(ModelAnswer {
            id: start.id,
            model: start.model,
            content,
            broken_inputs,
            stop_reason: self.stop_reason,
            usage: self.usage,
        })
    }

    fn begin(&mut self, message: &AnswerStart) -> Result<(), ModelError> {
        if self.start.is_some() {
            return Err(misfit("the answer begins twice"));
        }
        self.usage = message.usage;
        self.start = Some(message.clone());
        Ok(())
    }

    fn begin_block(&mut self, index: usize, block: &Value) -> Result<(), ModelError> {
        if index != self.blocks.len() {
            let expected = self.blocks.len();
            return Err(misfit(&format!("expected block {expected} but found block {index}")));
        }
        self.blocks.push(OpenBlock { content: OpenContent::begin(block)?, is_complete: false });
        Ok(())
    }

    fn grow(&mut self, index: usize, delta: &Delta) -> Result<(), ModelError> {
        match (&mut self.open_block(index)?.content, delta) {
            (OpenContent::Unknown, _) | (_, Delta::Unknown) => {}
            (OpenContent::Text(text), Delta::TextDelta { text: more }) => text.push_str(more),
            (OpenContent::Thinking { thinking, .. }, Delta::ThinkingDelta { thinking: more }) => {
                thinking.push_str(more);
            }
            (
                OpenContent::Thinking { signature, .. },
                Delta::SignatureDelta { signature: more },
            ) => signature.push_str(more),
            (OpenContent::ToolUse { json, .. }, Delta::InputJsonDelta { partial_json }) => {
                json.push_str(partial_json);
            }
            (_, _) => return Err(misfit(&format!("a piece does not fit block {index}"))),
        }
        Ok(())
    }

    fn open_block(&mut self, index: usize) -> Result<&mut OpenBlock, ModelError> {
        let block = self.blocks.get_mut(index).filter(|block| !block.is_complete);
        block.ok_or_else(|| misfit(&format!("block {index} has not begun, or has ended")))
    }

    fn note_end(&mut self, end: &AnswerEnd, usage: Usage) {
        if end.stop_reason.is_some() {
            self.stop_reason.clone_from(&end.stop_reason);
        }
        // Counts are sums so far, and a server leaves out those that have not changed.
        let known = &mut self.usage;
        for (known, now) in [
            (&mut known.input_tokens, usage.input_tokens),
            (&mut known.output_tokens, usage.output_tokens),
            (&mut known.cache_creation_input_tokens, usage.cache_creation_input_tokens),
            (&mut known.cache_read_input_tokens, usage.cache_read_input_tokens),
        ] {
            *known = now.max(*known);
        }
    }
}

impl OpenContent {
    fn begin(block: &Value) -> Result<Self, ModelError> {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("text") => Ok(Self::Text(text("text"))),
            Some("thinking") => {
                Ok(Self::Thinking { thinking: text("thinking"), signature: text("signature") })
            }
            Some("redacted_thinking") => Ok(Self::Redacted(text("data"))),
            Some("tool_use") => {
                let (id, name) = (text("id"), text("name"));
                if id.is_empty() || name.is_empty() {
                    return Err(misfit("a tool call has no id or no name"));
                }
                Ok(Self::ToolUse {
                    id,
                    name,
                    at_start: block["input"].clone(),
                    json: String::new(),
                })
            }
            Some(_) => Ok(Self::Unknown),
            None => Err(misfit("a block of the answer has no type")),
        }
    }
}

/// The input of a tool call, or why there is none.
fn tool_input(at_start: Value, json: &str) -> Result<Map<String, Value>, String> {
    let value = if json.trim().is_empty() {
        at_start
    } else {
        serde_json::from_str(json).map_err(|error| format!("the input is not JSON: {error}"))?
    };
    match value {
        Value::Object(input) => Ok(input),
        Value::Null => Ok(Map::new()),
        other => Err(format!("expected a JSON object but found {}", kind(&other))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The connection ended before the answer did. Another attempt may get all of it.
pub(crate) fn incomplete() -> ModelError {
    ModelError {
        kind: ModelErrorKind::Unreachable,
        reason: "the connection ended before the answer was complete".to_owned(),
        status: None,
        retry: Some(RetryAfter::Backoff),
    }
}

fn misfit(what: &str) -> ModelError {
    ModelError {
        kind: ModelErrorKind::NotUnderstood,
        reason: format!("the answer does not follow the Messages protocol: {what}"),
        status: None,
        retry: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn collected(events: &[Value]) -> Result<ModelAnswer, ModelError> {
        let mut collector = Collector::default();
        for event in events {
            collector.push(&serde_json::from_value(event.clone()).expect("an event"))?;
        }
        collector.finish()
    }

    fn start() -> Value {
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "m", "role": "assistant",
            "usage": { "input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 1 } } })
    }

    fn block(index: usize, block: &Value, deltas: &[Value]) -> Vec<Value> {
        let mut events =
            vec![json!({ "type": "content_block_start", "index": index, "content_block": block })];
        events.extend(
            deltas.iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
        events
    }

    fn end() -> [Value; 2] {
        [
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" },
                "usage": { "output_tokens": 9 } }),
            json!({ "type": "message_stop" }),
        ]
    }

    fn answer_of(blocks: &[(Value, Vec<Value>)]) -> Result<ModelAnswer, ModelError> {
        let mut events = vec![start()];
        for (index, (head, deltas)) in blocks.iter().enumerate() {
            events.extend(block(index, head, deltas));
        }
        events.extend(end());
        collected(&events)
    }

    fn call(json: &str) -> (Value, Vec<Value>) {
        let delta = json!({ "type": "input_json_delta", "partial_json": json });
        (json!({ "type": "tool_use", "id": "toolu_1", "name": "bash", "input": {} }), vec![delta])
    }

    #[test]
    fn an_answer_is_put_together_from_all_its_pieces() {
        let answer = answer_of(&[
            (
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                vec![
                    json!({ "type": "thinking_delta", "thinking": "hm" }),
                    json!({ "type": "thinking_delta", "thinking": "m" }),
                    json!({ "type": "signature_delta", "signature": "sig" }),
                ],
            ),
            (json!({ "type": "redacted_thinking", "data": "xyz" }), vec![]),
            (
                json!({ "type": "text", "text": "" }),
                vec![
                    json!({ "type": "text_delta", "text": "Hel" }),
                    json!({ "type": "citations_delta", "citation": {} }),
                    json!({ "type": "text_delta", "text": "lo" }),
                ],
            ),
            (
                json!({ "type": "tool_use", "id": "toolu_1", "name": "bash", "input": {} }),
                vec![
                    json!({ "type": "input_json_delta", "partial_json": "" }),
                    json!({ "type": "input_json_delta", "partial_json": "{\"comm" }),
                    json!({ "type": "input_json_delta", "partial_json": "and\": \"ls\"}" }),
                ],
            ),
        ]);
        let input = json!({ "command": "ls" }).as_object().expect("an object").clone();
        let expected = ModelAnswer {
            id: "msg_1".into(),
            model: "m".into(),
            content: vec![
                Block::Thinking { thinking: "hmm".into(), signature: "sig".into() },
                Block::RedactedThinking { data: "xyz".into() },
                Block::text("Hello"),
                Block::ToolUse { id: "toolu_1".into(), name: "bash".into(), input },
            ],
            broken_inputs: vec![],
            stop_reason: Some("tool_use".into()),
            usage: Usage {
                input_tokens: 7,
                output_tokens: 9,
                cache_creation_input_tokens: 0,
                cache_read_input_tokens: 5,
            },
        };
        assert_eq!(answer, Ok(expected));
    }

    #[test]
    fn an_input_that_is_no_json_object_is_named_and_its_call_stays() {
        for (json, reason) in [
            (
                "{\"command\": ",
                "the input is not JSON: EOF while parsing a value at line 1 column 12",
            ),
            ("[1]", "expected a JSON object but found a list"),
            ("\"ls\"", "expected a JSON object but found a string"),
        ] {
            let answer = answer_of(&[call(json)]).expect("an answer");
            assert_eq!(answer.broken_inputs, [("toolu_1".to_owned(), reason.to_owned())]);
            let (id, name) = ("toolu_1".into(), "bash".into());
            assert_eq!(answer.content, [Block::ToolUse { id, name, input: Map::new() }]);
        }
    }

    #[test]
    fn an_input_may_be_empty_or_come_whole_at_the_start() {
        let at_start = json!({ "type": "tool_use", "id": "a", "name": "x", "input": { "k": 1 } });
        let answer = answer_of(&[(at_start, vec![]), call("")]).expect("an answer");
        let inputs: Vec<Value> = answer
            .content
            .iter()
            .filter_map(|block| match block {
                Block::ToolUse { input, .. } => Some(json!(input)),
                _ => None,
            })
            .collect();
        assert_eq!(inputs, [json!({ "k": 1 }), json!({})]);
        assert_eq!(answer.broken_inputs, []);
    }

    #[test]
    fn what_is_newer_than_this_program_is_skipped_and_blank_texts_are_left_out() {
        let mut events = vec![json!({ "type": "ping" }), start()];
        events.extend(block(0, &json!({ "type": "text", "text": "" }), &[]));
        let deltas = [json!({ "type": "input_json_delta", "partial_json": "{}" })];
        events.extend(block(1, &json!({ "type": "server_tool_use", "id": "s" }), &deltas));
        events.push(json!({ "type": "something_new", "index": 7 }));
        let blank = [json!({ "type": "text_delta", "text": "\n\n" })];
        events.extend(block(2, &json!({ "type": "text", "text": "" }), &blank));
        events.extend(block(3, &json!({ "type": "text", "text": "kept" }), &[]));
        events.extend(end());
        events.push(json!({ "type": "ping" }));
        assert_eq!(collected(&events).expect("an answer").content, [Block::text("kept")]);
    }

    #[test]
    fn an_answer_without_its_end_is_an_error_that_another_attempt_may_cure() {
        let mut events = vec![start()];
        events.extend(block(0, &json!({ "type": "text", "text": "half" }), &[]));
        assert_eq!(collected(&events), Err(incomplete()));
        assert_eq!(collected(&[]), Err(incomplete()));
    }

    #[test]
    fn what_contradicts_the_protocol_is_not_understood() {
        let text = json!({ "type": "text", "text": "x" });
        let opened = json!({ "type": "content_block_start", "index": 0, "content_block": text });
        let delta = |index: usize, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let stop = json!({ "type": "message_stop" });
        let stopped = json!({ "type": "content_block_stop", "index": 0 });
        let of_text = json!({ "type": "text_delta", "text": "y" });
        for events in [
            vec![opened.clone()],
            vec![start(), start()],
            vec![
                start(),
                json!({ "type": "content_block_start", "index": 1, "content_block": text }),
            ],
            vec![
                start(),
                json!({ "type": "content_block_start", "index": 0, "content_block": {} }),
            ],
            vec![start(), delta(0, of_text.clone())],
            vec![start(), opened.clone(), stopped.clone(), delta(0, of_text)],
            vec![start(), opened.clone(), stopped.clone(), stopped],
            vec![
                start(),
                opened.clone(),
                delta(0, json!({ "type": "input_json_delta", "partial_json": "" })),
            ],
            vec![start(), opened.clone(), stop.clone()],
            vec![start(), stop, opened],
        ] {
            let error = collected(&events).expect_err("against the protocol");
            assert_eq!(error.kind, ModelErrorKind::NotUnderstood, "{events:?}");
            assert_eq!(error.retry, None);
        }
        let error = answer_of(&[call("{}"), call("{}")]).expect_err("one id twice");
        assert!(error.reason.ends_with("two tool calls have the id `toolu_1`"), "{error}");
        let nameless = json!({ "type": "tool_use", "id": "a", "name": "" });
        assert!(answer_of(&[(nameless, vec![])]).is_err());
    }
}
