//! Chat completions: a script's turns in chunks, with the quirks that the script sets, and the
//! vendor's refusals of invalid requests.

pub(crate) mod refused;

use hookwright_model_script::{
    Ending, ScriptedAnswer, ScriptedBlock, ScriptedError, ScriptedInput, ServerQuirk, split,
};
use serde_json::{Value, json};

/// The id of all calls with [`ServerQuirk::SameIds`].
const SAME_ID: &str = "call_same";

/// The events of an answer, as they are sent.
pub(crate) fn events(answer: &ScriptedAnswer, number: usize, request: &Value) -> Vec<String> {
    let chunks = ChunkWriter { answer, number, request };
    let mut events: Vec<String> =
        chunks.all().iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    let is_complete = !matches!(answer.ending, Ending::Error(_));
    if is_complete && !answer.quirks.contains(&ServerQuirk::NoDone) {
        events.push("data: [DONE]\n\n".to_owned());
    }
    if answer.quirks.contains(&ServerQuirk::Comments) {
        events = events.into_iter().map(|event| format!(": keep-alive\n\n{event}")).collect();
    }
    if answer.quirks.contains(&ServerQuirk::Crlf) {
        events = events.into_iter().map(|event| event.replace('\n', "\r\n")).collect();
    }
    events
}

/// The answer as one JSON value.
pub(crate) fn whole(answer: &ScriptedAnswer, number: usize, request: &Value) -> Value {
    let writer = ChunkWriter { answer, number, request };
    let texts = answer.content.iter().filter_map(|block| match block {
        ScriptedBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let text: String = texts.collect();
    let mut message = json!({ "role": "assistant", "content": text });
    let calls = writer.calls().into_iter().map(|call| call.whole());
    let calls: Vec<Value> = calls.collect();
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let reason = writer.finish_reason();
    let choice = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
    json!({ "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 0,
        "model": request["model"], "choices": choice, "usage": writer.usage() })
}

/// The body of a refusal, and the event with which an answer ends early.
pub(crate) fn error_body(error: &ScriptedError) -> Value {
    let (name, code, message) = match error.status {
        401 => (
            "invalid_request_error",
            Some("invalid_api_key"),
            "Incorrect API key provided. You can find your API key in your account.",
        ),
        403 => ("invalid_request_error", None, "You do not have access to this model."),
        404 => ("invalid_request_error", None, "Invalid URL (POST /v1/chat/completions)"),
        429 => (
            "tokens",
            Some("rate_limit_exceeded"),
            "Rate limit reached for this model on tokens per min. Please try again later.",
        ),
        503 => (
            "server_error",
            Some("server_is_overloaded"),
            "The engine is currently overloaded, please try again later",
        ),
        500.. => (
            "server_error",
            None,
            "The server had an error while processing your request. Sorry about that!",
        ),
        _ => ("invalid_request_error", None, "Invalid request"),
    };
    let code = error.code.as_deref().or(code);
    let message = error.message.as_deref().unwrap_or(message);
    let name = error.name.as_deref().unwrap_or(name);
    json!({ "error": { "message": message, "type": name, "param": null, "code": code } })
}

/// Writes the chunks of one answer.
struct ChunkWriter<'a> {
    answer: &'a ScriptedAnswer,
    number: usize,
    request: &'a Value,
}

/// A tool call as this server numbers it.
struct SentCall<'a> {
    index: Option<usize>,
    id: Option<String>,
    name: &'a str,
    arguments: String,
}

impl ChunkWriter<'_> {
    fn has(&self, quirk: ServerQuirk) -> bool {
        self.answer.quirks.contains(&quirk)
    }

    fn all(&self) -> Vec<Value> {
        let mut chunks = Vec::new();
        if self.has(ServerQuirk::EmptyChoices) {
            chunks.push(self.chunk(json!([])));
        }
        let first = match () {
            () if self.has(ServerQuirk::RoleFirst) => json!({ "role": "assistant" }),
            () if self.has(ServerQuirk::NullContent) => {
                json!({ "role": "assistant", "content": null })
            }
            () => json!({ "role": "assistant", "content": "" }),
        };
        chunks.push(self.delta(first));
        for block in &self.answer.content {
            let (field, text) = match block {
                ScriptedBlock::Text(text) => ("content", text),
                ScriptedBlock::Thinking { thinking, .. } => ("reasoning_content", thinking),
                ScriptedBlock::ToolUse { .. } => continue,
            };
            for piece in split(text, self.answer.delta_chars) {
                chunks.push(self.delta(json!({ field: piece })));
            }
        }
        for piece in self.pieces_of_calls() {
            let mut delta = json!({ "tool_calls": [piece] });
            if self.has(ServerQuirk::NullContent) {
                delta["content"] = Value::Null;
            }
            chunks.push(self.delta(delta));
        }
        if let Ending::Error(error) = &self.answer.ending {
            chunks.push(error_body(error));
            return chunks;
        }
        if !self.has(ServerQuirk::NoFinishReason) {
            let reason = self.finish_reason();
            chunks.push(self.chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }])));
        }
        let is_asked = self.request["stream_options"]["include_usage"] == true;
        if is_asked && !self.has(ServerQuirk::NoUsage) {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = self.usage();
            chunks.push(chunk);
        }
        chunks
    }

    fn delta(&self, delta: Value) -> Value {
        self.chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]))
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({ "id": format!("chatcmpl-{}", self.number),
            "object": "chat.completion.chunk", "created": 0, "model": self.request["model"],
            "choices": choices });
        if self.has(ServerQuirk::UsageInEveryChunk) {
            chunk["usage"] = self.usage();
        }
        chunk
    }

    fn usage(&self) -> Value {
        let answer = self.answer;
        let cached = answer.cache_read_input_tokens;
        let read = answer.input_tokens + answer.cache_creation_input_tokens + cached;
        json!({ "prompt_tokens": read, "completion_tokens": answer.output_tokens,
            "total_tokens": read + answer.output_tokens,
            "prompt_tokens_details": { "cached_tokens": cached } })
    }

    fn finish_reason(&self) -> &str {
        if self.has(ServerQuirk::AlwaysStop) {
            return "stop";
        }
        match self.answer.stop_reason.as_str() {
            "end_turn" | "stop_sequence" => "stop",
            "tool_use" => "tool_calls",
            "max_tokens" => "length",
            "refusal" => "content_filter",
            other => other,
        }
    }

    fn calls(&self) -> Vec<SentCall<'_>> {
        let mut calls = Vec::new();
        for (place, block) in self.answer.content.iter().enumerate() {
            let ScriptedBlock::ToolUse { id, name, input } = block else { continue };
            let made = || format!("call_{}_{}", self.number, place + 1);
            let id = match () {
                () if self.has(ServerQuirk::NoIds) => None,
                () if self.has(ServerQuirk::SameIds) => Some(SAME_ID.to_owned()),
                () => Some(id.clone().unwrap_or_else(made)),
            };
            let index = match () {
                () if self.has(ServerQuirk::NoIndex) => None,
                () if self.has(ServerQuirk::OneIndex) => Some(0),
                () => Some(calls.len()),
            };
            let arguments = match input {
                ScriptedInput::Object(input) => Value::Object(input.clone()).to_string(),
                ScriptedInput::Text(text) => text.clone(),
            };
            calls.push(SentCall { index, id, name, arguments });
        }
        calls
    }

    /// The pieces of all calls, in the order in which they are sent.
    fn pieces_of_calls(&self) -> Vec<Value> {
        let is_repeated = self.has(ServerQuirk::RepeatedIds);
        let mut calls: Vec<Vec<Value>> = self
            .calls()
            .iter()
            .map(|call| call.pieces(self.answer.delta_chars, is_repeated))
            .collect();
        if self.has(ServerQuirk::ReversedIndexes) {
            calls.reverse();
        }
        if !self.has(ServerQuirk::Interleaved) {
            return calls.concat();
        }
        let longest = calls.iter().map(Vec::len).max().unwrap_or_default();
        let turns =
            (0..longest).flat_map(|turn| calls.iter().filter_map(move |call| call.get(turn)));
        turns.cloned().collect()
    }
}

impl SentCall<'_> {
    fn whole(&self) -> Value {
        self.piece(&self.arguments, true)
    }

    /// The head of the call, and its arguments in pieces.
    fn pieces(&self, chars: usize, is_repeated: bool) -> Vec<Value> {
        let mut pieces = vec![self.piece("", true)];
        let more = split(&self.arguments, chars).into_iter();
        pieces.extend(more.map(|piece| self.piece(piece, is_repeated)));
        pieces
    }

    fn piece(&self, arguments: &str, has_head: bool) -> Value {
        let mut piece = json!({ "function": { "arguments": arguments } });
        if let Some(index) = self.index {
            piece["index"] = index.into();
        }
        if has_head {
            piece["type"] = "function".into();
            piece["function"]["name"] = self.name.into();
            if let Some(id) = &self.id {
                piece["id"] = id.as_str().into();
            }
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use hookwright_model_script::{ModelScript, ScriptedTurn};

    use super::*;

    fn sent(turn: &str) -> Vec<String> {
        let script = ModelScript::parse(&format!("turns:\n- {turn}")).expect("a script");
        let ScriptedTurn::Answer(answer) = script.turn(1) else { panic!("an answer: {turn}") };
        let request = json!({ "model": "m", "stream_options": { "include_usage": true } });
        events(&answer, 1, &request)
    }

    /// The deltas of tool calls: index, id, name, arguments.
    fn calls(turn: &str) -> Vec<String> {
        let events = sent(turn);
        let chunks = events.iter().filter_map(|event| {
            let data = event.trim().strip_prefix("data: ")?;
            serde_json::from_str::<Value>(data).ok()
        });
        let pieces = chunks.filter_map(|chunk| {
            let piece = chunk.pointer("/choices/0/delta/tool_calls/0")?.clone();
            let (index, function) = (&piece["index"], &piece["function"]);
            let (name, arguments) = (&function["name"], &function["arguments"]);
            Some(format!("{index} {} {name} {arguments}", piece["id"]))
        });
        pieces.collect()
    }

    const TWO_CALLS: &str = "{content: [{type: tool_use, name: a, input: {}}, \
                             {type: tool_use, name: b, input: {}}]";

    #[test]
    fn an_answer_is_sent_as_the_vendor_sends_it() {
        let events = sent("{content: [{type: text, text: Hello}], delta_chars: 3}");
        assert_eq!(events.len(), 6);
        assert!(events[0].contains(r#""delta":{"role":"assistant","content":""}"#), "{events:?}");
        assert!(events[1].contains(r#""delta":{"content":"Hel"}"#));
        assert!(events[3].contains(r#""finish_reason":"stop""#));
        assert!(events[4].contains(r#""choices":[],"usage":{"prompt_tokens":10,"#));
        assert_eq!(events[5], "data: [DONE]\n\n");
        assert_eq!(
            calls(&format!("{TWO_CALLS}}}")),
            [
                r#"0 "call_1_1" "a" """#,
                r#"0 null null "{}""#,
                r#"1 "call_1_2" "b" """#,
                r#"1 null null "{}""#,
            ]
        );
    }

    #[test]
    fn each_quirk_of_calls_changes_what_is_sent() {
        for (quirks, expected) in [
            ("no_ids", [r#"0 null "a" """#, r#"0 null null "{}""#, r#"1 null "b" """#]),
            ("same_ids", [r#"0 "call_same" "a" """#, "", r#"1 "call_same" "b" """#]),
            ("repeated_ids", ["", r#"0 "call_1_1" "a" "{}""#, ""]),
            ("one_index", ["", "", r#"0 "call_1_2" "b" """#]),
            ("no_index", [r#"null "call_1_1" "a" """#, r#"null null null "{}""#, ""]),
            ("reversed_indexes", [r#"1 "call_1_2" "b" """#, "", r#"0 "call_1_1" "a" """#]),
            ("interleaved", ["", r#"1 "call_1_2" "b" """#, r#"0 null null "{}""#]),
        ] {
            let sent = calls(&format!("{TWO_CALLS}, quirks: [{quirks}]}}"));
            for (found, expected) in sent.iter().zip(expected) {
                assert!(expected.is_empty() || found == expected, "{quirks}: {sent:?}");
            }
        }
    }

    #[test]
    fn each_quirk_of_the_stream_changes_what_is_sent() {
        let with = |quirk: &str| {
            sent(&format!("{{content: [{{type: text, text: Hi}}], quirks: [{quirk}]}}")).concat()
        };
        for (quirk, has, lacks) in [
            ("no_usage", "[DONE]", "usage"),
            ("no_done", "finish_reason\":\"stop\"", "[DONE]"),
            ("no_finish_reason", "[DONE]", "finish_reason\":\"stop\""),
            ("comments", ": keep-alive\n\ndata: ", "\r"),
            ("crlf", "}\r\n\r\ndata: [DONE]\r\n\r\n", "}\n"),
            ("empty_choices", "\"choices\":[]}\n", "\r"),
            ("null_content", "\"content\":null", "\"content\":\"\""),
            ("role_first", "{\"role\":\"assistant\"}", "\"content\":\"\""),
            ("usage_in_every_chunk", "finish_reason\":null}],\"usage\":", "\r"),
        ] {
            let text = with(quirk);
            assert!(text.contains(has) && !text.contains(lacks), "{quirk}: {text}");
        }
        let stopped = sent(&format!("{TWO_CALLS}, quirks: [always_stop]}}")).concat();
        assert!(stopped.contains("finish_reason\":\"stop\""), "{stopped}");
    }
}
