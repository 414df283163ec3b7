//! The JSON Schema of test files, made from the same lists of keys that the reader uses.

use hookwright_events::table;
use serde_json::{Map, Value, json};

use super::reader::{CASE_KEYS, EXPECT_KEYS, FILE_KEYS, STEP_KEYS, TEXT_KEYS, WANTED_FILE_KEYS};
use super::{DECISIONS, FileChange, WantedHook};

/// The schema of a test file.
pub fn test_schema() -> Value {
    let mut case = map_of(CASE_KEYS, case_field);
    case["required"] = json!(["name"]);
    case["oneOf"] = json!([{ "required": ["event", "expect"] }, { "required": ["steps"] }]);
    let mut step = map_of(STEP_KEYS, case_field);
    step["required"] = json!(["event"]);
    let whole = map_of(FILE_KEYS, |key| match key {
        "version" => json!({ "const": 1, "description": "version of the format" }),
        _ => json!({ "type": "array", "items": { "$ref": "#/$defs/case" } }),
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hookwright.test.yaml",
        "description": "Cases for `hookwright test`: events to fire, and the results to expect.",
        "type": "object",
        "properties": whole["properties"],
        "additionalProperties": false,
        "required": ["cases"],
        "$defs": {
            "case": case,
            "step": step,
            "expect": map_of(EXPECT_KEYS, expect_field),
            "text": text(),
            "file": file(),
            "files": {
                "type": "object",
                "additionalProperties": { "type": ["string", "null"] },
                "description": "files to create first: path and content",
            },
        },
    })
}

fn map_of(keys: &[&str], of: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), of(key))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn case_field(key: &str) -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    match key {
        "name" => text("name of the case"),
        "event" => json!({
            "anyOf": [{ "enum": table::all_names().collect::<Vec<_>>() }, { "type": "string" }],
            "description": "the event to fire, by its name or an alias",
        }),
        "data" => json!({ "type": "object", "description": "the event's data" }),
        "data_file" => text("a file with the event's data, beside this one"),
        "session" => text("name of the session, which keeps what hooks remember"),
        "env" => json!({
            "type": "object",
            "additionalProperties": { "type": ["string", "number", "boolean"] },
            "description": "additional environment variables",
        }),
        "files" => json!({ "$ref": "#/$defs/files" }),
        "setup" => text("shell command that prepares the copy, after the files are created"),
        "in_place" => json!({
            "type": "boolean",
            "description": "fire in the project itself instead of in a copy",
        }),
        "expect" => json!({ "$ref": "#/$defs/expect" }),
        "steps" => json!({
            "type": "array",
            "items": { "$ref": "#/$defs/step" },
            "description": "several events, one after the other, in one session",
        }),
        _ => Value::Bool(true),
    }
}

fn expect_field(key: &str) -> Value {
    let texts = |what: &str| {
        let items = json!({ "$ref": "#/$defs/text" });
        json!({ "type": "array", "items": items, "description": what })
    };
    let described = |what: &str| json!({ "$ref": "#/$defs/text", "description": what });
    match key {
        "decision" => {
            let mut words: Vec<Value> = DECISIONS.iter().map(|word| json!(word)).collect();
            words.push(Value::Null);
            json!({ "enum": words, "description": "what the host must do" })
        }
        "reason" => described("why"),
        "contexts" => texts("all texts for the agent, in this order"),
        "messages" => texts("all messages for the user, in this order"),
        "updated_input" => json!({ "description": "the tool's input as hooks rewrote it" }),
        "updated_output" => json!({ "description": "the tool's output as hooks rewrote it" }),
        "piped_output" => described("text for the agent's next prompt"),
        "hooks" => json!({
            "type": "array",
            "items": { "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "additionalProperties": { "enum": WantedHook::STATUS_WORDS },
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ] },
            "description": "all hooks that ran, in this order",
        }),
        "files" => json!({
            "type": "object",
            "additionalProperties": { "$ref": "#/$defs/file" },
            "description": "all files that were created, changed or deleted",
        }),
        _ => Value::Bool(true),
    }
}

fn text() -> Value {
    let one_or_more = json!({
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
    });
    let mut like = map_of(TEXT_KEYS, |_| one_or_more.clone());
    like["minProperties"] = json!(1);
    json!({ "anyOf": [{ "type": ["string", "null"] }, like] })
}

fn file() -> Value {
    let details = map_of(WANTED_FILE_KEYS, |key| match key {
        "is" => json!({ "enum": FileChange::WORDS }),
        _ => json!({ "$ref": "#/$defs/text" }),
    });
    json!({ "anyOf": [{ "enum": FileChange::WORDS }, details] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_the_reader_knows_is_described() {
        for key in CASE_KEYS.iter().chain(STEP_KEYS) {
            assert_ne!(case_field(key), Value::Bool(true), "{key}");
        }
        for key in EXPECT_KEYS {
            assert_ne!(expect_field(key), Value::Bool(true), "{key}");
        }
    }
}
