//! What a server returned, for the model and for hooks. Pure.
//!
//! Hooks read the result's blocks as the server sent them. The model reads their text: other blocks are
//! named, because a result is text here. Both are cut where they are too long, and secrets of the
//! server's environment are replaced.

use std::time::Duration;

use hookwright_engine::Secrets;
use serde_json::{Value, json};

use crate::limits::MCP_OUTPUT_BYTES_MAX;
use crate::tool::ToolEnd;

/// How a call ended whose result is `result`, an object with `content` and perhaps `isError`.
pub(super) fn tool_end(mut result: Value, secrets: &Secrets, took: Duration) -> ToolEnd {
    secrets.hide_in(&mut result);
    let blocks = match result.get_mut("content").map(Value::take) {
        Some(Value::Array(blocks)) => blocks,
        _ => Vec::new(),
    };
    let mut texts: Vec<String> = blocks.iter().map(text_of).collect();
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    if texts.iter().all(String::is_empty)
        && let Some(structured) = structured
    {
        texts = vec![structured.to_string()];
    }
    texts.retain(|text| !text.is_empty());
    let text = match texts.join("\n") {
        empty if empty.is_empty() => "(no output)".to_owned(),
        text => cut(&text),
    };
    if result.get("isError") == Some(&Value::Bool(true)) {
        return ToolEnd::Failed { error: text, is_interrupt: false, took };
    }
    let response = match (blocks.is_empty(), structured) {
        (true, Some(structured)) => bounded(structured.clone()),
        _ => blocks.into_iter().map(bounded).collect(),
    };
    ToolEnd::Ran { response, text, took }
}

/// What a model reads of a block.
fn text_of(block: &Value) -> String {
    let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("type") {
        "text" => field("text").to_owned(),
        kind @ ("image" | "audio") => {
            let bytes = field("data").len() / 4 * 3;
            format!("[{kind} of type {}, about {bytes} bytes, not shown]", field("mimeType"))
        }
        "resource_link" => format!("[resource {}: {}]", field("name"), field("uri")),
        "resource" => {
            let resource = &block["resource"];
            match resource.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => format!(
                    "[resource {}, not shown]",
                    resource.get("uri").and_then(Value::as_str).unwrap_or_default()
                ),
            }
        }
        kind => {
            format!("[block of type `{}`, not shown]", kind.chars().take(40).collect::<String>())
        }
    }
}

/// The first and the last half of a text that is too long.
fn cut(text: &str) -> String {
    if text.len() <= MCP_OUTPUT_BYTES_MAX {
        return text.to_owned();
    }
    let first = text.floor_char_boundary(MCP_OUTPUT_BYTES_MAX / 2);
    let last = text.ceil_char_boundary(text.len() - MCP_OUTPUT_BYTES_MAX / 2);
    let left_out = last - first;
    format!("{}\n[… {left_out} bytes left out …]\n{}", &text[..first], &text[last..])
}

/// A block for hooks and for the transcript: one that is too long has its text cut, or is only named.
fn bounded(mut block: Value) -> Value {
    if let Some(text) = block.get("text").and_then(Value::as_str) {
        let short = cut(text);
        block["text"] = short.into();
    }
    let bytes = block.to_string().len();
    // The cut text and its escapes have room.
    if bytes <= 4 * MCP_OUTPUT_BYTES_MAX {
        return block;
    }
    json!({ "type": block["type"], "mimeType": block["mimeType"], "left_out_bytes": bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(5);

    fn end(result: Value) -> ToolEnd {
        tool_end(result, &Secrets::default(), TOOK)
    }

    #[test]
    fn the_model_reads_the_text_and_hooks_read_the_blocks() {
        let content = json!([
            { "type": "text", "text": "one" },
            { "type": "image", "data": "QUJDRA==", "mimeType": "image/png" },
            { "type": "resource_link", "name": "log", "uri": "file:///log" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "file:///b", "blob": "QUJD" } },
            { "type": "smell" },
        ]);
        let text = "one\n[image of type image/png, about 6 bytes, not shown]\n\
            [resource log: file:///log]\ninside\n[resource file:///b, not shown]\n\
            [block of type `smell`, not shown]";
        let expected =
            ToolEnd::Ran { response: content.clone(), text: text.to_owned(), took: TOOK };
        assert_eq!(end(json!({ "content": content })), expected);
    }

    #[test]
    fn a_result_without_text_is_its_structure_or_says_so() {
        let ran = |response: Value, text: &str| ToolEnd::Ran {
            response,
            text: text.to_owned(),
            took: TOOK,
        };
        let structured = json!({ "structuredContent": { "n": 1 } });
        assert_eq!(end(structured), ran(json!({ "n": 1 }), "{\"n\":1}"));
        assert_eq!(end(json!({ "content": [] })), ran(json!([]), "(no output)"));
        assert_eq!(end(json!(null)), ran(json!([]), "(no output)"));
    }

    #[test]
    fn a_result_that_is_an_error_is_a_tool_that_could_not_do_its_work() {
        let content = json!([{ "type": "text", "text": "no such issue" }]);
        let failed = end(json!({ "content": content, "isError": true }));
        let error = "no such issue".to_owned();
        assert_eq!(failed, ToolEnd::Failed { error, is_interrupt: false, took: TOOK });
    }

    #[test]
    fn long_output_is_cut_for_the_model_and_for_hooks() {
        let long = "ü".repeat(1_000_000);
        let content = json!([
            { "type": "text", "text": long },
            { "type": "image", "data": "x".repeat(1_000_000), "mimeType": "image/png" },
        ]);
        let ToolEnd::Ran { response, text, .. } = end(json!({ "content": content })) else {
            panic!("it ran")
        };
        assert!(text.len() < MCP_OUTPUT_BYTES_MAX + 100 && text.contains("bytes left out"));
        assert!(response.to_string().len() < 2 * MCP_OUTPUT_BYTES_MAX);
        assert_eq!(response[1]["mimeType"], "image/png");
        assert_eq!(response[1]["left_out_bytes"], 1_000_049);
    }

    #[test]
    fn a_secret_that_the_server_repeats_is_replaced() {
        let secrets = Secrets::new(vec![("TOKEN".into(), "sesame-open-1234".into())]);
        let content = json!([{ "type": "text", "text": "it is sesame-open-1234" }]);
        let ToolEnd::Ran { response, text, .. } =
            tool_end(json!({ "content": content }), &secrets, TOOK)
        else {
            panic!("it ran")
        };
        assert_eq!(text, "it is [secret TOKEN]");
        assert_eq!(response[0]["text"], "it is [secret TOKEN]");
    }
}
