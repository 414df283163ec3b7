//! Reads a script and reports all its faults, each with its place.

use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use crate::{
    Ending, ForeignReply, ModelScript, SCRIPT_BYTES_MAX, ScriptedAnswer, ScriptedBlock,
    ScriptedConversation, ScriptedError, ScriptedInput, ScriptedTurn, ServerQuirk,
};

/// Levels of nesting. Inputs of tools have a few.
const DEPTH_MAX: usize = 64;

/// A fault of a script, and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ScriptFault {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl ScriptFault {
    fn at(place: Location, message: impl Into<String>) -> Self {
        let (line, column) = (place.line().max(1), place.column().max(1));
        Self { line, column, message: message.into() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with `turns`")]
struct ScriptWire {
    turns: Vec<Spanned<TurnWire>>,
    #[serde(default)]
    conversations: Vec<ConversationWire>,
    key: Option<String>,
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    refuses: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a conversation: a map with `prompt` and `turns`")]
struct ConversationWire {
    prompt: Spanned<String>,
    turns: Vec<Spanned<TurnWire>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a turn: a map with `content`, `error` or `reply`")]
struct TurnWire {
    content: Option<Vec<Spanned<BlockWire>>>,
    error: Option<ErrorWire>,
    reply: Option<ReplyWire>,
    stop_reason: Option<String>,
    usage: Option<UsageWire>,
    delta_chars: Option<Spanned<usize>>,
    #[serde(default)]
    byte_by_byte: bool,
    #[serde(default)]
    quirks: Vec<ServerQuirk>,
    cut_after: Option<usize>,
    short_after: Option<usize>,
    silent_after: Option<usize>,
    then_error: Option<ErrorWire>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a block: a map with `type`")]
struct BlockWire {
    r#type: BlockTypeWire,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Map<String, Value>>,
    input_text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockTypeWire {
    Text,
    Thinking,
    ToolUse,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an error: a map with `status`")]
struct ErrorWire {
    status: Spanned<u16>,
    r#type: Option<String>,
    code: Option<String>,
    message: Option<String>,
    retry_after: Option<RetryAfterWire>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "seconds or an HTTP date")]
enum RetryAfterWire {
    Seconds(u64),
    Text(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a reply: a map with `body`")]
struct ReplyWire {
    status: Option<Spanned<u16>>,
    content_type: Option<String>,
    body: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a map of token counts")]
struct UsageWire {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

pub(crate) fn parse(text: &str) -> Result<ModelScript, ScriptFault> {
    if text.len() > SCRIPT_BYTES_MAX {
        let message = format!("expected at most {SCRIPT_BYTES_MAX} bytes but found {}", text.len());
        return Err(ScriptFault { line: 1, column: 1, message });
    }
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: DEPTH_MAX },
    };
    let wire = serde_saphyr::from_str_with_options::<ScriptWire>(text, options);
    let wire = wire.map_err(|error| {
        let message = error.without_snippet().to_string();
        // The place is shown beside the message, not within it.
        let end = message.find(" at line ").unwrap_or(message.len());
        let (line, column) =
            error.location().map_or((1, 1), |place| (place.line().max(1), place.column().max(1)));
        ScriptFault { line, column, message: message[..end].to_owned() }
    })?;
    let turns = wire.turns.into_iter().map(turn).collect::<Result<_, _>>()?;
    let conversations = wire.conversations.into_iter().map(conversation);
    let conversations = conversations.collect::<Result<_, _>>()?;
    let (key, models, refuses) = (wire.key, wire.models, wire.refuses);
    Ok(ModelScript { turns, conversations, key, models, refuses })
}

fn conversation(wire: ConversationWire) -> Result<ScriptedConversation, ScriptFault> {
    if wire.prompt.value.is_empty() {
        let message = "expected a text of the conversation's first message but found an empty one";
        return Err(ScriptFault::at(wire.prompt.referenced, message));
    }
    let turns = wire.turns.into_iter().map(turn).collect::<Result<_, _>>()?;
    Ok(ScriptedConversation { prompt: wire.prompt.value, turns })
}

fn turn(wire: Spanned<TurnWire>) -> Result<ScriptedTurn, ScriptFault> {
    let place = wire.referenced;
    let wire = wire.value;
    let is_of_answer = wire.stop_reason.is_some()
        || wire.usage.is_some()
        || wire.delta_chars.is_some()
        || wire.byte_by_byte
        || !wire.quirks.is_empty()
        || wire.cut_after.or(wire.short_after).or(wire.silent_after).is_some()
        || wire.then_error.is_some();
    match wire {
        TurnWire { content: Some(_), error: None, reply: None, .. } => {
            answer(place, wire).map(ScriptedTurn::Answer)
        }
        TurnWire { content: None, error: Some(error), reply: None, .. } if !is_of_answer => {
            self::error(error).map(ScriptedTurn::Error)
        }
        TurnWire { content: None, error: None, reply: Some(reply), .. } if !is_of_answer => {
            let status = reply.status.map_or(Ok(200), status)?;
            let content_type = reply.content_type.unwrap_or_else(|| "text/html".to_owned());
            Ok(ScriptedTurn::Reply(ForeignReply { status, content_type, body: reply.body }))
        }
        _ => Err(ScriptFault::at(
            place,
            "expected a turn with `content`, or with nothing but `error` or `reply`",
        )),
    }
}

fn answer(place: Location, wire: TurnWire) -> Result<ScriptedAnswer, ScriptFault> {
    let blocks = wire.content.unwrap_or_default();
    let content = blocks.into_iter().map(block).collect::<Result<_, _>>()?;
    let mut answer = ScriptedAnswer::new(content);
    if let Some(stop_reason) = wire.stop_reason {
        answer.stop_reason = stop_reason;
    }
    if let Some(usage) = wire.usage {
        answer.input_tokens = usage.input_tokens;
        answer.output_tokens = usage.output_tokens;
        answer.cache_creation_input_tokens = usage.cache_creation_input_tokens;
        answer.cache_read_input_tokens = usage.cache_read_input_tokens;
    }
    if let Some(chars) = wire.delta_chars {
        if chars.value == 0 {
            let message = "expected `delta_chars` of at least 1 but found 0";
            return Err(ScriptFault::at(chars.referenced, message));
        }
        answer.delta_chars = chars.value;
    }
    answer.byte_by_byte = wire.byte_by_byte;
    answer.quirks = wire.quirks;
    let then_error = wire.then_error.map(error).transpose()?;
    let endings = [
        wire.cut_after.map(Ending::Cut),
        wire.short_after.map(Ending::Short),
        wire.silent_after.map(Ending::Silence),
        then_error.map(Ending::Error),
    ];
    let mut endings = endings.into_iter().flatten();
    answer.ending = endings.next().unwrap_or(Ending::Complete);
    if endings.next().is_some() {
        let message = "expected only one of `cut_after`, `short_after`, `silent_after` and \
                       `then_error` in a turn";
        return Err(ScriptFault::at(place, message));
    }
    Ok(answer)
}

fn block(wire: Spanned<BlockWire>) -> Result<ScriptedBlock, ScriptFault> {
    let place = wire.referenced;
    let wire = wire.value;
    let fault = |message: &str| Err(ScriptFault::at(place, message));
    let of_text = wire.text.is_some();
    let of_thinking = wire.thinking.is_some() || wire.signature.is_some();
    let of_call = wire.name.is_some()
        || wire.id.is_some()
        || wire.input.is_some()
        || wire.input_text.is_some();
    match wire.r#type {
        BlockTypeWire::Text => match wire.text {
            Some(text) if !of_thinking && !of_call => Ok(ScriptedBlock::Text(text)),
            _ => fault("expected a block of type `text` with nothing but `text`"),
        },
        BlockTypeWire::Thinking => match wire.thinking {
            Some(thinking) if !of_text && !of_call => {
                let signature = wire.signature.unwrap_or_else(|| "signed by the script".to_owned());
                Ok(ScriptedBlock::Thinking { thinking, signature })
            }
            _ => fault("expected a block of type `thinking` with `thinking` and `signature`"),
        },
        BlockTypeWire::ToolUse => match wire.name {
            Some(name) if !of_text && !of_thinking => {
                let input = match (wire.input, wire.input_text) {
                    (Some(_), Some(_)) => {
                        return fault("expected only one of `input` and `input_text`");
                    }
                    (None, Some(text)) => ScriptedInput::Text(text),
                    (input, None) => ScriptedInput::Object(input.unwrap_or_default()),
                };
                Ok(ScriptedBlock::ToolUse { id: wire.id, name, input })
            }
            _ => fault(
                "expected a block of type `tool_use` with `name`, and `input` (a map) or \
                 `input_text` (a text that is sent as it is)",
            ),
        },
    }
}

fn error(wire: ErrorWire) -> Result<ScriptedError, ScriptFault> {
    let place = wire.status.referenced;
    let status = status(wire.status)?;
    if status < 400 {
        let message = format!("expected an error's status, from 400 to 599, but found {status}");
        return Err(ScriptFault::at(place, message));
    }
    let retry_after = wire.retry_after.map(|after| match after {
        RetryAfterWire::Seconds(seconds) => seconds.to_string(),
        RetryAfterWire::Text(text) => text,
    });
    let (name, code, message) = (wire.r#type, wire.code, wire.message);
    Ok(ScriptedError { status, name, code, message, retry_after })
}

fn status(wire: Spanned<u16>) -> Result<u16, ScriptFault> {
    if (200..600).contains(&wire.value) {
        return Ok(wire.value);
    }
    let message = format!("expected an HTTP status from 200 to 599 but found {}", wire.value);
    Err(ScriptFault::at(wire.referenced, message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_part_of_a_script_is_read() {
        let script = ModelScript::parse(
            "
key: sk-test
models: [m1]
refuses: [stream_options]
turns:
  - content:
      - {type: thinking, thinking: hm, signature: s}
      - {type: text, text: Look.}
      - {type: tool_use, name: bash, input: {command: ls, timeout: 3}}
      - {type: tool_use, id: x, name: read, input_text: '{'}
    stop_reason: max_tokens
    usage: {input_tokens: 5, output_tokens: 6, cache_read_input_tokens: 7}
    delta_chars: 2
    byte_by_byte: true
    quirks: [no_usage, one_index]
    cut_after: 100
  - error: {status: 429, type: x_error, code: x, message: No., retry_after: 'Sun, 06 Nov 1994 08:49:37 GMT'}
  - error: {status: 529, retry_after: 3}
  - reply: {status: 502, body: <html>}
  - content: []
    then_error: {status: 500}
conversations:
  - {prompt: look, turns: [{content: [{type: text, text: seen}]}]}
",
        )
        .expect("a script");
        let input = json!({ "command": "ls", "timeout": 3 }).as_object().expect("a map").clone();
        let mut first = ScriptedAnswer::new(vec![
            ScriptedBlock::Thinking { thinking: "hm".into(), signature: "s".into() },
            ScriptedBlock::Text("Look.".into()),
            ScriptedBlock::ToolUse {
                id: None,
                name: "bash".into(),
                input: ScriptedInput::Object(input),
            },
            ScriptedBlock::ToolUse {
                id: Some("x".into()),
                name: "read".into(),
                input: ScriptedInput::Text("{".into()),
            },
        ]);
        first.stop_reason = "max_tokens".into();
        (first.input_tokens, first.output_tokens, first.cache_read_input_tokens) = (5, 6, 7);
        (first.delta_chars, first.byte_by_byte, first.ending) = (2, true, Ending::Cut(100));
        first.quirks = vec![ServerQuirk::NoUsage, ServerQuirk::OneIndex];
        let limited = ScriptedError {
            status: 429,
            name: Some("x_error".into()),
            code: Some("x".into()),
            message: Some("No.".into()),
            retry_after: Some("Sun, 06 Nov 1994 08:49:37 GMT".into()),
        };
        let overloaded =
            ScriptedError { retry_after: Some("3".into()), ..ScriptedError::of_status(529) };
        let page =
            ForeignReply { status: 502, content_type: "text/html".into(), body: "<html>".into() };
        let mut last = ScriptedAnswer::new(vec![]);
        last.ending = Ending::Error(ScriptedError::of_status(500));
        let expected = ModelScript {
            turns: vec![
                ScriptedTurn::Answer(first),
                ScriptedTurn::Error(limited),
                ScriptedTurn::Error(overloaded),
                ScriptedTurn::Reply(page),
                ScriptedTurn::Answer(last),
            ],
            conversations: vec![ScriptedConversation {
                prompt: "look".into(),
                turns: vec![ScriptedTurn::Answer(ScriptedAnswer::text("seen"))],
            }],
            key: Some("sk-test".into()),
            models: vec!["m1".into()],
            refuses: vec!["stream_options".into()],
        };
        assert_eq!(script, expected);
    }

    #[test]
    fn json_is_read_too_and_after_the_last_turn_the_work_ends() {
        let text = r#"{"turns": [{"content": [{"type": "text", "text": "a\tb"}]}]}"#;
        let script = ModelScript::parse(text).expect("a script");
        assert_eq!(script.turn(1), ScriptedTurn::Answer(ScriptedAnswer::text("a\tb")));
        let end = ScriptedTurn::Answer(ScriptedAnswer::text(crate::NO_MORE_TURNS));
        assert_eq!(script.turn(2), end);
        assert_eq!(script.turn(99), end);
    }

    #[test]
    fn every_fault_has_its_place_and_states_what_was_expected() {
        for (text, expected) in [
            (
                "turn: []",
                "line 1, column 1: unknown field `turn`, expected one of turns, conversations, key",
            ),
            (
                "turns: []\nconversations: [{prompt: '', turns: []}]",
                "line 2, column 26: expected a text of the conversation's first message",
            ),
            (
                "turns:\n  - contents: []",
                "line 2, column 5: unknown field `contents`, expected one of content, error, reply",
            ),
            (
                "turns:\n  - content: []\n    error: {status: 500}",
                "line 2, column 5: expected a turn with `content`, or with nothing but `error` or `reply`",
            ),
            (
                "turns:\n  - error: {status: 500}\n    cut_after: 3",
                "line 2, column 5: expected a turn with `content`, or with nothing but `error` or `reply`",
            ),
            (
                "turns:\n- content:\n  - {type: txt}",
                "line 3, column 12: unknown variant `txt`, expected one of text, thinking, tool_use",
            ),
            (
                "turns:\n- content:\n  - {type: text}",
                "line 3, column 5: expected a block of type `text` with nothing but `text`",
            ),
            (
                "turns:\n- content:\n  - {type: tool_use, input: {}}",
                "line 3, column 5: expected a block of type `tool_use` with `name`",
            ),
            (
                "turns:\n- content:\n  - {type: tool_use, name: x, input: {}, input_text: a}",
                "line 3, column 5: expected only one of `input` and `input_text`",
            ),
            (
                "turns:\n- content: []\n  delta_chars: 0",
                "line 3, column 16: expected `delta_chars` of at least 1 but found 0",
            ),
            (
                "turns:\n- error: {status: 200}",
                "line 2, column 19: expected an error's status, from 400 to 599, but found 200",
            ),
            (
                "turns:\n- reply: {status: 99, body: x}",
                "line 2, column 19: expected an HTTP status from 200 to 599 but found 99",
            ),
            (
                "turns:\n- content: []\n  cut_after: 1\n  short_after: 2",
                "line 2, column 3: expected only one of `cut_after`",
            ),
        ] {
            let fault = ModelScript::parse(text).expect_err(text).to_string();
            assert!(fault.starts_with(expected), "{text}\n  {fault}");
        }
        for broken in ["", "[]", "turns: 5", "turns: [", "turns:\n- text"] {
            assert!(ModelScript::parse(broken).is_err(), "{broken:?}");
        }
        let long = format!("turns: []\n#{}", "x".repeat(SCRIPT_BYTES_MAX));
        assert!(ModelScript::parse(&long).is_err());
    }

    #[test]
    fn the_scripts_in_the_documentation_are_read_and_every_key_is_described() {
        let page = include_str!("../../../docs/models.md");
        let scripts: Vec<&str> =
            page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert_eq!(scripts.len(), 3);
        for script in scripts {
            ModelScript::parse(script).expect(script);
        }
        for wire in [
            "turns: [{x: 1}]",
            "turns: [{content: [{x: 1}]}]",
            "x: 1",
            "turns: [{error: {x: 1}}]",
            "conversations: [{x: 1}]",
            "turns: [{content: [], quirks: [x]}]",
        ] {
            let fault = ModelScript::parse(wire).expect_err(wire).message;
            let (_, keys) = fault.split_once("expected one of ").expect("the keys");
            for key in keys.split(", ") {
                assert!(page.contains(&format!("`{key}`")), "`{key}` is not described");
            }
        }
    }
}
