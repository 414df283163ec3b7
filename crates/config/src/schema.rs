//! The JSON Schema of `hookwright.yaml`, with which editors complete and check it. It is made from
//! the lists of keys that the reader uses, so that neither knows a key that the other doesn't. The
//! reader is stricter than the schema.

use hookwright_engine::hook::{
    ACTION_TYPE_NAMES, ACTION_TYPES, ActionKey, Exhausted, KeyValue, OnFailure,
};
use hookwright_engine::limits::RETRIES_MAX;
use hookwright_events::table::EVENTS;
use serde_json::{Map, Value, json};

use super::action::{COMMON_KEYS, keys_of_all_types};
use super::keys::HOOK_FILE_KEYS;
use super::mcp_server::SERVER_KEYS;
use crate::limits::{MCP_SERVER_NAME_CHARS_MAX, PROJECT_NAME_BYTES_MAX};

/// The schema of a hook file.
pub fn schema() -> Value {
    let properties: Map<String, Value> =
        HOOK_FILE_KEYS.iter().map(|key| ((*key).to_owned(), top_level(key))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hookwright.yaml",
        "description": "Hooks for AI agents: what runs when, and what to do after a failure.",
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
        "trace" => json!({
            "type": "boolean",
            "description": "false: what hooks do inside other agents is not recorded",
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
        "mcp_servers" => json!({
            "type": "object",
            "description": "MCP servers whose tools the built-in agent calls, by their names",
            "propertyNames": {
                "pattern": "^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$", "maxLength": MCP_SERVER_NAME_CHARS_MAX,
            },
            "additionalProperties": mcp_server(),
        }),
        "model" => json!({ "type": "string", "description": "the agent's model" }),
        "project" => json!({
            "type": "string",
            "description": "the name under which sessions and tasks are stored, instead of the path",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$",
            "maxLength": PROJECT_NAME_BYTES_MAX,
        }),
        "worker" => json!({
            "type": "object",
            "description": "how workers prepare the work trees of sessions",
            "properties": {
                "folder": {
                    "type": "string", "pattern": "^/",
                    "description": "the folder of all work trees, on every worker",
                },
                "setup": {
                    "type": "string",
                    "description": "a shell command that recreates what git ignores",
                },
            },
            "additionalProperties": false,
        }),
        _ => json!({
            "type": ["string", "object", "array"],
            "description": "the agent of loops that name none: an agent's name, {command}, \
                 {script}, {type, model, args}, {type: builtin, model, permissions, permission_mode, \
                 max_turns}, each with an optional `name`, or a list of agents \
                 of which each takes over when the one before cannot work",
        }),
    }
}

/// A server of `mcp_servers`.
fn mcp_server() -> Value {
    let field = |key: &str| match key {
        "command" => {
            json!({ "type": "string", "description": "the program, without its arguments" })
        }
        "args" => json!({
            "type": "array", "items": { "type": ["string", "number", "boolean"] },
            "description": "its arguments; no shell reads them",
        }),
        "env" => json!({
            "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] },
            "description": "variables; ${NAME} and ${NAME:-default} are replaced, also by secrets",
        }),
        "timeout" => json!({
            "$ref": "#/$defs/duration", "description": "time limit of one call; 300 without it",
        }),
        "start_timeout" => json!({
            "$ref": "#/$defs/duration", "description": "time limit of its start; 30 without it",
        }),
        "enabled" => json!({ "type": "boolean", "description": "false: it is not started" }),
        _ => Value::Bool(true),
    };
    let properties: Map<String, Value> =
        SERVER_KEYS.iter().map(|key| ((*key).to_owned(), field(key))).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": ["command"],
        "additionalProperties": false,
    })
}

/// `hooks:` as a map. Known event names are listed, so that editors complete them.
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
    let common = COMMON_KEYS.iter().map(|key| ((*key).to_owned(), common_field(key)));
    let own = keys_of_all_types().map(|key| (key.0.to_owned(), own_field(key)));
    let properties: Map<String, Value> = common.chain(own).collect();
    let told = ACTION_TYPES.iter().filter_map(|kind| kind.implied_by);
    let named = ACTION_TYPES.iter().filter(|kind| kind.implied_by.is_none()).map(|kind| kind.name);
    let named = json!({
        "required": ["type"],
        "properties": { "type": { "enum": named.collect::<Vec<_>>() } },
    });
    let any_of: Vec<Value> = told.map(|key| json!({ "required": [key] })).chain([named]).collect();
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "anyOf": any_of,
    })
}

/// The schema of a key that one type of hook has.
fn own_field(ActionKey(_, value, what): &ActionKey) -> Value {
    let mut field = match value {
        KeyValue::Text => json!({ "type": "string" }),
        KeyValue::Switch => json!({ "type": "boolean" }),
        KeyValue::Duration => json!({ "$ref": "#/$defs/duration" }),
        KeyValue::Texts => {
            let value = json!({ "type": ["string", "number", "boolean"] });
            json!({ "type": "object", "additionalProperties": value })
        }
        KeyValue::Map => json!({ "type": "object" }),
        KeyValue::Json => json!({}),
        KeyValue::Port => json!({ "type": "integer", "minimum": 0, "maximum": 65535 }),
        KeyValue::Words(words) => json!({ "enum": words }),
    };
    if !what.is_empty() {
        field["description"] = json!(what);
    }
    field
}

/// The schema of a key that hooks of every type have.
fn common_field(key: &str) -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let switch = |what: &str| json!({ "type": "boolean", "description": what });
    let words = |words: &[&str], what: &str| json!({ "enum": words, "description": what });
    let duration = |what: &str| json!({ "$ref": "#/$defs/duration", "description": what });
    match key {
        "event" => text("the event, for a hook in a list"),
        "type" => words(ACTION_TYPE_NAMES, "inferred from `command`, `url` or `pipeline`"),
        "id" => text("names the hook in reports and for --skip"),
        "description" => text("what it is for"),
        "enabled" => switch("false: the hook is skipped"),
        "matcher" => text("narrows by subject: a name, A|B, a glob, or /a regular expression/"),
        "host" => json!({
            "type": ["string", "array"], "items": { "type": "string" },
            "description": "run only if this host fired the event: run, or an agent that calls hookwright",
        }),
        "when" => {
            json!({ "type": ["string", "boolean"], "description": "run only if this condition is true" })
        }
        "await" => switch("wait for the hook; for a webhook: wait for a person's answer"),
        "timeout" => duration("time limit"),
        "on_failure" => words(OnFailure::WORDS, "what to do after a failure"),
        "retries" => json!({
            "type": "integer", "minimum": 0, "maximum": RETRIES_MAX,
            "description": "extra attempts with on_failure: retry",
        }),
        "retry_delay" => duration("delay between attempts"),
        "on_exhausted" => words(Exhausted::WORDS, "what to do when all attempts have failed"),
        "pipe_output" => switch("send its output to the agent"),
        "once" => switch("run at most once per session"),
        "dialect" => words(&["native"], "the system whose rules apply"),
        _ => Value::Bool(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_the_reader_knows_is_described() {
        for key in COMMON_KEYS {
            assert_ne!(common_field(key), Value::Bool(true), "{key}");
        }
        for key in SERVER_KEYS {
            assert!(mcp_server()["properties"][key].is_object(), "{key}");
        }
        for key in HOOK_FILE_KEYS {
            assert!(top_level(key).is_object(), "{key}");
        }
    }
}
