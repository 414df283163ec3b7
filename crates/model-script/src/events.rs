//! The events in which an answer is streamed, as defined by the Messages protocol.

use serde_json::{Value, json};

use crate::{Ending, ScriptedAnswer, ScriptedBlock, ScriptedInput};

impl ScriptedAnswer {
    /// All events of the answer to request `number`, counted from 1, from which ids are made. The
    /// caller applies [`Ending::Cut`] and the other endings in bytes, because it knows the bytes
    /// that are sent.
    pub fn events(&self, number: usize, model: &str) -> Vec<Value> {
        let usage = |output_tokens: u64| {
            json!({ "input_tokens": self.input_tokens, "output_tokens": output_tokens,
                "cache_creation_input_tokens": self.cache_creation_input_tokens,
                "cache_read_input_tokens": self.cache_read_input_tokens })
        };
        let message = json!({ "id": format!("msg_{number}"), "type": "message", "role": "assistant",
            "model": model, "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": usage(self.output_tokens.min(1)) });
        let mut events = vec![json!({ "type": "message_start", "message": message })];
        for (index, block) in self.content.iter().enumerate() {
            let (head, deltas) = self.pieces(block, number, index);
            events.push(
                json!({ "type": "content_block_start", "index": index, "content_block": head }),
            );
            if index == 0 {
                events.push(json!({ "type": "ping" }));
            }
            events.extend(deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
            events.push(json!({ "type": "content_block_stop", "index": index }));
        }
        if let Ending::Error(error) = &self.ending {
            events.push(error_event(error.name(), error.message()));
            return events;
        }
        let delta = json!({ "stop_reason": self.stop_reason, "stop_sequence": null });
        let usage = usage(self.output_tokens);
        events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
        events.push(json!({ "type": "message_stop" }));
        events
    }

    /// The event that begins a block, and those that add to it.
    fn pieces(&self, block: &ScriptedBlock, number: usize, index: usize) -> (Value, Vec<Value>) {
        match block {
            ScriptedBlock::Text(text) => {
                let delta = |text| json!({ "type": "text_delta", "text": text });
                let deltas = split(text, self.delta_chars).into_iter().map(delta);
                (json!({ "type": "text", "text": "" }), deltas.collect())
            }
            ScriptedBlock::Thinking { thinking, signature } => {
                let delta = |thinking| json!({ "type": "thinking_delta", "thinking": thinking });
                let mut deltas: Vec<Value> =
                    split(thinking, self.delta_chars).into_iter().map(delta).collect();
                deltas.push(json!({ "type": "signature_delta", "signature": signature }));
                (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
            }
            ScriptedBlock::ToolUse { id, name, input } => {
                let id = id.clone().unwrap_or_else(|| format!("toolu_{number}_{}", index + 1));
                let json = match input {
                    ScriptedInput::Object(input) => Value::Object(input.clone()).to_string(),
                    ScriptedInput::Text(text) => text.clone(),
                };
                let delta = |json| json!({ "type": "input_json_delta", "partial_json": json });
                let mut deltas = vec![delta("")];
                deltas.extend(split(&json, self.delta_chars).into_iter().map(delta));
                (json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), deltas)
            }
        }
    }
}

/// The event with which a server ends an answer early; it is also the body of a refusal.
pub fn error_event(name: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": name, "message": message } })
}

/// An event as it is on the wire.
pub fn sse(event: &Value) -> String {
    let name = event["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n")
}

/// A text in pieces of this many characters.
pub fn split(text: &str, chars: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(end);
        pieces.push(piece);
        rest = more;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScriptedError;

    fn texts(events: &[Value]) -> Vec<&str> {
        let deltas = events.iter().filter(|event| event["type"] == "content_block_delta");
        deltas.filter_map(|event| event["delta"]["text"].as_str()).collect()
    }

    #[test]
    fn a_text_is_sent_in_several_deltas_that_split_no_character() {
        let mut answer = ScriptedAnswer::text("ää öö üü");
        answer.delta_chars = 3;
        assert_eq!(texts(&answer.events(1, "m")), ["ää ", "öö ", "üü"]);
    }

    #[test]
    fn ids_are_made_from_the_numbers_of_request_and_block() {
        let call = |id: Option<&str>| ScriptedBlock::ToolUse {
            id: id.map(str::to_owned),
            name: "bash".into(),
            input: ScriptedInput::Text("{".into()),
        };
        let answer = ScriptedAnswer::new(vec![call(None), call(Some("mine")), call(None)]);
        assert_eq!(answer.stop_reason, "tool_use");
        let events = answer.events(4, "m");
        assert_eq!(events[0]["message"]["id"], "msg_4");
        let heads = events.iter().filter(|event| event["type"] == "content_block_start");
        let ids: Vec<_> = heads.filter_map(|event| event["content_block"]["id"].as_str()).collect();
        assert_eq!(ids, ["toolu_4_1", "mine", "toolu_4_3"]);
        assert_eq!(events.last(), Some(&json!({ "type": "message_stop" })));
    }

    #[test]
    fn an_error_replaces_the_end() {
        let mut answer = ScriptedAnswer::text("so far");
        answer.ending = Ending::Error(ScriptedError::of_status(529));
        let events = answer.events(1, "m");
        assert_eq!(events.last(), Some(&error_event("overloaded_error", "Overloaded")));
        assert!(!events.iter().any(|event| event["type"] == "message_delta"));
    }
}
