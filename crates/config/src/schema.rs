//! The JSON Schema of `hookwright.yaml`, with which editors complete and check it while it is
//! written. It is made from the same lists of keys that the reader uses, so that neither can have a
//! key that the other does not know; the reader is the stricter of the two.

use hookwright_events::table::EVENTS;
use serde_json::{Map, Value, json};

use super::action::{TYPE_WORDS, keys_of_all_types};
use super::entry::{COMMON_KEYS, EXHAUSTED_WORDS};
use super::top_level::HOOK_FILE_KEYS;
use hookwright_engine::hook::OnFailure;
use hookwright_engine::limits::RETRIES_MAX;

/// The schema of a hook file.
pub fn schema() -> Value {
    let properties: Map<String, Value> =
        HOOK_FILE_KEYS.iter().map(|key| ((*key).to_owned(), top_level(key))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hookwright.yaml",
        "description": "Hooks for AI agents: what runs when, and what a failure leads to.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "$defs": {
            "hook": hook(),
            "duration": {
                "description": "seconds (fractions allowed), or 500ms, 5s, 5m, 2h, 1d",
                "anyOf": [
                    { "type": "number", "minimum": 0 },
                    { "type": "string", "pattern": "^\\s*[0-9.]+\\s*(ms|s|m|h|d)?\\s*$" },
                ],
            },
        },
    })
}

fn top_level(key: &str) -> Value {
    match key {
        "version" => json!({ "const": 1, "description": "version of the format" }),
        "hooks" => json!({ "anyOf": [hooks_by_event(), hooks_in_a_list()] }),
        "disable_global_hooks" => json!({
            "type": "boolean",
            "description": "drop the user's hooks for all projects, except those that can block",
        }),
        "callback" => json!({
            "type": "object",
            "description": "where a person's answer is received",
            "properties": {
                "bind": { "type": "string" },
                "port": { "type": "integer", "minimum": 0, "maximum": 65535 },
                "public_url": { "type": "string" },
            },
            "additionalProperties": false,
        }),
        "permissions" => {
            let rules = json!({ "type": "array", "items": { "type": "string" } });
            json!({
                "type": "object",
                "description": "rules of the built-in agent",
                "properties": { "allow": rules, "ask": rules, "deny": rules },
                "additionalProperties": false,
            })
        }
        "mcp_servers" => {
            json!({ "type": "object", "description": "servers of the built-in agent" })
        }
        "model" => json!({ "type": "string", "description": "the agent's model" }),
        _ => json!({
            "type": ["string", "object", "array"],
            "description": "who does the work of loops that name no agent: an agent's name, {command}, \
                            {script}, {type, model, args}, each with a `name` if you like, or a list of those \
                            that take over from each other",
        }),
    }
}

/// `hooks:` as a map. Known names are listed, so that editors complete them.
fn hooks_by_event() -> Value {
    let list = json!({ "type": ["array", "null"], "items": { "$ref": "#/$defs/hook" } });
    let mut events = Map::new();
    for event in EVENTS {
        let mut described = list.clone();
        described["description"] = json!(match event.block_does {
            Some(does) => format!("{}; a block: {does}", event.when),
            None => event.when.to_owned(),
        });
        for name in std::iter::once(event.name).chain(event.aliases.iter().map(|a| a.name)) {
            events.insert(name.to_owned(), described.clone());
        }
    }
    json!({
        "type": "object",
        "properties": events,
        "patternProperties": { "[*?:,\\[]": list },
        "additionalProperties": false,
    })
}

fn hooks_in_a_list() -> Value {
    json!({
        "type": "array",
        "items": { "allOf": [{ "$ref": "#/$defs/hook" }, { "required": ["event"] }] },
    })
}

fn hook() -> Value {
    let properties: Map<String, Value> = COMMON_KEYS
        .iter()
        .copied()
        .chain(keys_of_all_types())
        .map(|key| (key.to_owned(), field(key)))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "anyOf": [
            { "required": ["command"] },
            { "required": ["url"] },
            { "required": ["pipeline"] },
            { "required": ["type"], "properties": { "type": { "enum": ["git-commit", "git-push"] } } },
        ],
    })
}

fn field(key: &str) -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let switch = |what: &str| json!({ "type": "boolean", "description": what });
    let words = |words: &[&str], what: &str| json!({ "enum": words, "description": what });
    let duration = |what: &str| json!({ "$ref": "#/$defs/duration", "description": what });
    let texts = |what: &str| {
        let value = json!({ "type": ["string", "number", "boolean"] });
        json!({ "type": "object", "additionalProperties": value, "description": what })
    };
    match key {
        "event" => text("where the hook listens, in a list of hooks"),
        "type" => words(TYPE_WORDS, "clear from `command`, `url` or `pipeline`"),
        "id" => text("names the hook in reports and for --skip"),
        "description" => text("what it is for"),
        "enabled" => switch("false: it is passed"),
        "matcher" => text("narrows by subject: a name, A|B, a glob, or /a regular expression/"),
        "host" => json!({
            "type": ["string", "array"], "items": { "type": "string" },
            "description": "runs only where this fired the event: run, or an agent that calls us",
        }),
        "when" => {
            json!({ "type": ["string", "boolean"], "description": "runs only when this holds" })
        }
        "await" => switch("wait for it; for a webhook: for a person's answer"),
        "timeout" => duration("how long it may take"),
        "on_failure" => words(OnFailure::WORDS, "what a failure leads to"),
        "retries" => json!({
            "type": "integer", "minimum": 0, "maximum": RETRIES_MAX,
            "description": "extra attempts with on_failure: retry",
        }),
        "retry_delay" => duration("between attempts"),
        "on_exhausted" => words(EXHAUSTED_WORDS, "when all attempts have failed"),
        "pipe_output" => switch("its output goes to the agent"),
        "once" => switch("at most once in a session"),
        "dialect" => words(&["native"], "whose rules apply"),
        "command" => text("the shell's text; values stand in its environment"),
        "env" => texts("variables for the command, taken as they are"),
        "working_dir" => text("where it runs; of a spawned pipeline: project or session"),
        "shell" => text("the shell, by name or path; bash if left out"),
        "kill_grace" => duration("between SIGTERM and SIGKILL"),
        "url" => text(
            "where the request goes: https, or http to this machine; a question may go nowhere",
        ),
        "method" => words(&["POST", "PUT", "PATCH", "GET", "DELETE"], "POST if left out"),
        "headers" => texts("headers of the request"),
        "body" => json!({ "description": "the request's JSON" }),
        "callback_port" => json!({ "type": "integer", "minimum": 0, "maximum": 65535 }),
        "on_timeout" => words(EXHAUSTED_WORDS, "when nobody answers in time"),
        "on_reject" => words(EXHAUSTED_WORDS, "when the answer is no"),
        "secret" => text("signs the request"),
        "allow_http" => switch("plain http beyond this machine"),
        "pipeline" => text("the pipeline or loop to run"),
        "inputs" => json!({ "type": "object", "description": "what it is given" }),
        "message" => text("the commit's message"),
        "no_verify" => switch("leave git's own hooks out"),
        "remote" => text("where to push; origin if left out"),
        "branch" => text("what to push; the current branch if left out"),
        _ => Value::Bool(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_the_reader_knows_is_described() {
        for key in COMMON_KEYS.iter().copied().chain(keys_of_all_types()) {
            assert_ne!(field(key), Value::Bool(true), "{key}");
        }
        for key in HOOK_FILE_KEYS {
            assert!(top_level(key).is_object(), "{key}");
        }
    }
}
