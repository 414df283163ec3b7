//! [`ChunkTranslation`]: the events of an answer out of the chunks of a stream.
//!
//! Texts and thoughts are handed on as they arrive. Tool calls are handed on at the end, because only then it
//! is certain which pieces belong to which call (`calls.rs`).
//!
//! An answer is complete at `[DONE]`, or when the connection ends behind a `finish_reason`. One that ends with
//! neither has been cut off, and another attempt may get all of it. Behind a `finish_reason`, the answer does
//! not depend on the rest: the tokens that it used count as 0 if they never come.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::calls::{CallDraft, ToolCallPieces};
use crate::message::{Block, Message, Usage};
use crate::model::arriving::StreamTranslation;
use crate::model::collect::incomplete;
use crate::model::failure::{not_understood, unreachable, within_chat};
use crate::model::sse::SseEvent;
use crate::model::{AnswerEnd, AnswerStart, Delta, ModelError, StreamEvent};

/// The last event's data.
const DONE: &str = "[DONE]";

/// Translates one answer.
#[derive(Debug)]
pub struct ChunkTranslation {
    model: String,
    /// Ids of the calls of the conversation. A call of this answer gets another one.
    used_ids: HashSet<String>,
    /// The number of the request; ids that the server leaves out are made from it.
    request: usize,
    has_begun: bool,
    /// Whether there was any content, or an end of it.
    has_choice: bool,
    open: Option<OpenText>,
    /// Blocks that have begun.
    blocks: usize,
    calls: ToolCallPieces,
    usage: Usage,
    finish_reason: Option<String>,
    is_refusal: bool,
    is_complete: bool,
}

/// The block that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenText {
    Text,
    Thinking,
}

impl ChunkTranslation {
    /// A translation of the answer of a model to a conversation. The number of the request tells ids of
    /// conversations apart that go on at once.
    pub fn new(model: &str, conversation: &[Message], request: usize) -> Self {
        let blocks = conversation.iter().flat_map(|message| &message.content);
        let ids = blocks.filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        });
        Self {
            model: model.to_owned(),
            used_ids: ids.collect(),
            request,
            has_begun: false,
            has_choice: false,
            open: None,
            blocks: 0,
            calls: ToolCallPieces::default(),
            usage: Usage::default(),
            finish_reason: None,
            is_refusal: false,
            is_complete: false,
        }
    }

    /// Reads the next event of the connection, and appends what it means. What comes behind the end is skipped.
    pub fn read(
        &mut self,
        event: &SseEvent,
        events: &mut VecDeque<StreamEvent>,
    ) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.is_complete || data.is_empty() {
            return Ok(());
        }
        if data == DONE {
            return self.complete(events);
        }
        let chunk: Value = serde_json::from_str(data).map_err(|error| {
            not_understood(format!("an event of the answer is not understood: {error}"))
        })?;
        let is_chunk = chunk["choices"].is_array() && chunk["error"].is_null();
        if !is_chunk && let Some(error) = within_chat(&chunk, &self.model) {
            return Err(error);
        }
        if event.name == "error" {
            let error = json!({ "error": { "message": data } });
            return within_chat(&error, &self.model).map_or(Ok(()), Err);
        }
        self.add(&chunk, events)
    }

    /// The connection has ended. Appends the end of the answer, if all of its content has come.
    pub fn end(&mut self, events: &mut VecDeque<StreamEvent>) -> Result<(), ModelError> {
        match &self.finish_reason {
            _ if self.is_complete => Ok(()),
            Some(_) => self.complete(events),
            None => Err(incomplete()),
        }
    }

    fn add(&mut self, chunk: &Value, events: &mut VecDeque<StreamEvent>) -> Result<(), ModelError> {
        if !chunk["choices"].is_array() && !chunk["usage"].is_object() {
            // Something that is newer than this program.
            return Ok(());
        }
        self.begin(chunk, events);
        self.note_usage(&chunk["usage"]);
        let choices = chunk["choices"].as_array().into_iter().flatten();
        // Only one is asked for.
        let mut first = choices.filter(|choice| choice["index"].as_u64().unwrap_or(0) == 0);
        let Some(choice) = first.next() else { return Ok(()) };
        let (said, is_whole) = match &choice["delta"] {
            Value::Object(_) => (&choice["delta"], false),
            _ => (&choice["message"], choice["message"].is_object()),
        };
        let reason = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty());
        self.has_choice |= said.is_object() || reason.is_some();
        let thought = [&said["reasoning_content"], &said["reasoning"]].into_iter().find_map(text);
        if let Some(thought) = thought {
            self.grow(OpenText::Thinking, thought, events);
        }
        if let Some(text) = text(&said["content"]) {
            self.grow(OpenText::Text, text, events);
        }
        if let Some(words) = text(&said["refusal"]) {
            self.is_refusal = true;
            self.grow(OpenText::Text, words, events);
        }
        self.calls.push(&said["tool_calls"]);
        match reason {
            Some("error") => {
                let words = json!({ "error": "it ended the answer with an error" });
                return within_chat(&words, &self.model).map_or(Ok(()), Err);
            }
            Some(reason) => self.finish_reason = Some(reason.to_owned()),
            // What comes in one piece has an end, even if the server does not say which.
            None if is_whole => self.finish_reason = Some("stop".to_owned()),
            None => {}
        }
        Ok(())
    }

    fn begin(&mut self, chunk: &Value, events: &mut VecDeque<StreamEvent>) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let known = |name: &str| chunk[name].as_str().filter(|text| !text.is_empty());
        let more = json!({ "type": "message", "role": "assistant", "content": [],
            "stop_reason": null, "stop_sequence": null });
        let message = AnswerStart {
            id: known("id").unwrap_or_default().to_owned(),
            model: known("model").unwrap_or(&self.model).to_owned(),
            usage: Usage::default(),
            more: more.as_object().cloned().unwrap_or_default(),
        };
        events.push_back(StreamEvent::MessageStart { message });
    }

    /// Counts are sums so far: the last ones are those of the answer.
    fn note_usage(&mut self, usage: &Value) {
        if !usage.is_object() {
            return;
        }
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let read = count(&usage["prompt_tokens"]);
        let details = &usage["prompt_tokens_details"]["cached_tokens"];
        let cached = count(details).max(count(&usage["prompt_cache_hit_tokens"])).min(read);
        self.usage = Usage {
            input_tokens: read - cached,
            output_tokens: count(&usage["completion_tokens"]),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: cached,
        };
    }

    fn grow(&mut self, kind: OpenText, piece: String, events: &mut VecDeque<StreamEvent>) {
        if self.open != Some(kind) {
            self.close(events);
            let content_block = match kind {
                OpenText::Text => json!({ "type": "text", "text": "" }),
                OpenText::Thinking => {
                    json!({ "type": "thinking", "thinking": "", "signature": "" })
                }
            };
            events.push_back(StreamEvent::ContentBlockStart { index: self.blocks, content_block });
            self.blocks += 1;
            self.open = Some(kind);
        }
        let delta = match kind {
            OpenText::Text => Delta::TextDelta { text: piece },
            OpenText::Thinking => Delta::ThinkingDelta { thinking: piece },
        };
        events.push_back(StreamEvent::ContentBlockDelta { index: self.blocks - 1, delta });
    }

    fn close(&mut self, events: &mut VecDeque<StreamEvent>) {
        if self.open.take().is_some() {
            events.push_back(StreamEvent::ContentBlockStop { index: self.blocks - 1 });
        }
    }

    /// The end of the answer: its calls, why it ended, and what it used.
    fn complete(&mut self, events: &mut VecDeque<StreamEvent>) -> Result<(), ModelError> {
        if !self.has_choice {
            return Err(unreachable("the model's server ended the answer before it began"));
        }
        self.is_complete = true;
        self.close(events);
        let stop_reason = Some(self.stop_reason());
        for (number, call) in std::mem::take(&mut self.calls).finish().into_iter().enumerate() {
            self.hand_on(call, number + 1, events)?;
        }
        let delta = AnswerEnd { stop_reason, more: Map::new() };
        events.push_back(StreamEvent::MessageDelta { delta, usage: self.usage });
        events.push_back(StreamEvent::MessageStop);
        Ok(())
    }

    fn hand_on(
        &mut self,
        call: CallDraft,
        number: usize,
        events: &mut VecDeque<StreamEvent>,
    ) -> Result<(), ModelError> {
        let CallDraft { id, name, arguments, .. } = call;
        if name.is_empty() {
            return Err(not_understood(
                "the answer does not follow the chat completions protocol: a tool call has no name",
            ));
        }
        let id = self.unused_id(id, number);
        let (index, input) = (self.blocks, json!({}));
        self.blocks += 1;
        let content_block = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
        let delta = Delta::InputJsonDelta { partial_json: arguments };
        events.extend([
            StreamEvent::ContentBlockStart { index, content_block },
            StreamEvent::ContentBlockDelta { index, delta },
            StreamEvent::ContentBlockStop { index },
        ]);
        Ok(())
    }

    /// The server's id of a call, or one that is made up if there is none or the conversation has it already:
    /// hooks and records tell calls apart by their ids.
    fn unused_id(&mut self, id: String, number: usize) -> String {
        let mut unused = id;
        let mut attempt = 0;
        while unused.is_empty() || self.used_ids.contains(&unused) {
            unused = match attempt {
                0 => format!("call_{}_{number}", self.request),
                _ => format!("call_{}_{number}_{attempt}", self.request),
            };
            attempt += 1;
        }
        self.used_ids.insert(unused.clone());
        unused
    }

    /// Why the answer ended, in the words of the Messages protocol. Servers say `stop` behind calls too.
    fn stop_reason(&self) -> String {
        let has_calls = !self.calls.is_empty();
        let reason = match self.finish_reason.as_deref() {
            Some("length") => "max_tokens",
            Some("content_filter") => "refusal",
            _ if has_calls => "tool_use",
            _ if self.is_refusal => "refusal",
            None | Some("stop" | "tool_calls" | "function_call") => "end_turn",
            Some(other) => other,
        };
        reason.to_owned()
    }
}

impl StreamTranslation for ChunkTranslation {
    fn read(
        &mut self,
        event: &SseEvent,
        events: &mut VecDeque<StreamEvent>,
    ) -> Result<(), ModelError> {
        self.read(event, events)
    }

    fn end(&mut self, events: &mut VecDeque<StreamEvent>) -> Result<(), ModelError> {
        self.end(events)
    }

    fn has_content(&self) -> bool {
        self.finish_reason.is_some()
    }
}

/// A text that is not empty; a list of parts is the text of all of them.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests;
