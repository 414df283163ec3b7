//! Reads Cline's input as native events.
//!
//! Cline has an envelope of its own (`hookName`, `tool_call`), and tools that do several things in one
//! call: each command and each file is one event.

use hookwright_events::{Event, EventName};
use serde_json::{Map, Value, json};

use crate::hosts::limits::OPERATIONS_MAX;
use crate::hosts::payload::Payload;
use crate::hosts::{Host, HostCall, UnreadableCall, patch};

/// The field for Cline's own name of a tool.
pub(super) const OWN_TOOL: &str = "host_tool_name";

/// Parses the input of Cline.
pub(super) fn read(host: &Host, sent: &str) -> Result<HostCall, UnreadableCall> {
    let payload = Payload::parse(host, sent)?;
    let Some(foreign) = payload.text("hookName").map(str::to_owned) else {
        return Err(UnreadableCall::NoEvent { cause: "missing `hookName`".to_owned() });
    };
    let fields = Payload { fields: common_fields(&payload) };
    let is_subagent = fields.has("agent_id");
    let or = |own: EventName, of_subagent: EventName| if is_subagent { of_subagent } else { own };
    let name = match foreign.as_str() {
        "tool_call" => return before_tool(&payload, fields, &foreign),
        "tool_result" => return after_tool(&payload, fields, &foreign),
        "agent_start" | "agent_resume" => or(EventName::SESSION_START, EventName::AGENT_START),
        "agent_end" => or(EventName::SESSION_STOP, EventName::AGENT_STOP),
        "prompt_submit" => EventName::USER_PROMPT_SUBMIT,
        "pre_compact" => EventName::SESSION_PRE_COMPACT,
        "session_shutdown" => EventName::SESSION_END,
        // An unknown event about a tool that is going to run is a tool call.
        _ if payload.has("tool_call") || payload.has("preToolUse") => {
            return before_tool(&payload, fields, &foreign);
        }
        other => match EventName::resolve(&format!("cline:{}", other.to_ascii_lowercase())) {
            Some(name) => name,
            None => {
                let cause = format!("`{foreign}` is not a valid event name");
                return Err(UnreadableCall::NoEvent { cause });
            }
        },
    };
    Ok(with_own_fields(&payload, fields, &foreign).into_event(name, &foreign)?.into())
}

/// The fields of every event, under our names.
fn common_fields(payload: &Payload) -> Map<String, Value> {
    let at = |path: &str| {
        let mut parts = path.split('/');
        let first = payload.fields.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part)).cloned()
    };
    let mut fields = Map::new();
    let session = at("sessionContext/rootSessionId").or_else(|| at("taskId"));
    let cwd = at("workspaceInfo/rootPath")
        .or_else(|| payload.fields.get("workspaceRoots")?.get(0).cloned());
    for (ours, value) in [("session_id", session), ("cwd", cwd), ("task_id", at("taskId"))] {
        fields.extend(value.map(|value| (ours.to_owned(), value)));
    }
    // The id of the session's own agent is no subagent's.
    if let Some(parent) = at("parent_agent_id").filter(Value::is_string) {
        fields.insert("parent_agent_id".to_owned(), parent);
        fields.extend(at("agent_id").map(|id| ("agent_id".to_owned(), id)));
        fields.insert("agent_type".to_owned(), "subagent".into());
    }
    fields
}

/// The fields of an event that is not about a tool.
fn with_own_fields(payload: &Payload, mut fields: Payload, foreign: &str) -> Payload {
    let text = |object: &str, key: &str| {
        let text = payload.fields.get(object)?.get(key)?.as_str();
        text.map(|text| Value::from(text.to_owned()))
    };
    let own = match foreign {
        "agent_start" => Some(("source", Value::from("startup"))),
        "agent_resume" => Some(("source", Value::from("resume"))),
        "agent_end" => text("turn", "outputText").map(|text| ("last_assistant_message", text)),
        "prompt_submit" => text("userPromptSubmit", "prompt").map(|text| ("prompt", text)),
        "session_shutdown" => payload.fields.get("reason").cloned().map(|why| ("reason", why)),
        _ => None,
    };
    fields.fields.extend(own.map(|(key, value)| (key.to_owned(), value)));
    fields
}

fn before_tool(
    payload: &Payload,
    mut fields: Payload,
    foreign: &str,
) -> Result<HostCall, UnreadableCall> {
    let call = payload.fields.get("tool_call");
    let other = payload.fields.get("preToolUse");
    let get = |newer: &str, older: &str| {
        call.and_then(|call| call.get(newer)).or_else(|| other?.get(older)).cloned()
    };
    let named = [
        ("tool_name", get("name", "toolName")),
        ("tool_input", get("input", "parameters")),
        ("tool_use_id", call.and_then(|call| call.get("id")).cloned()),
    ];
    for (ours, value) in named {
        fields.fields.extend(value.map(|value| (ours.to_owned(), value)));
    }
    operations(fields.into_event(EventName::TOOL_PRE_EXECUTE, foreign)?)
}

fn after_tool(
    payload: &Payload,
    mut fields: Payload,
    foreign: &str,
) -> Result<HostCall, UnreadableCall> {
    let result = payload.fields.get("tool_result");
    let names = [
        ("name", "tool_name"),
        ("input", "tool_input"),
        ("id", "tool_use_id"),
        ("output", "tool_response"),
        ("durationMs", "duration_ms"),
        ("error", "error"),
    ];
    for (theirs, ours) in names {
        let value = result.and_then(|result| result.get(theirs)).filter(|value| !value.is_null());
        fields.fields.extend(value.map(|value| (ours.to_owned(), value.clone())));
    }
    let is_error = fields.has("error") && !fields.has("tool_response");
    let name = if is_error { EventName::TOOL_ERROR } else { EventName::TOOL_POST_EXECUTE };
    operations(fields.into_event(name, foreign)?)
}

/// One event for each thing that the call does, under our names of tool and input.
fn operations(event: Event) -> Result<HostCall, UnreadableCall> {
    if let Some(call) = patch::split(&event) {
        return call;
    }
    let own = event.text("tool_name").unwrap_or_default().to_owned();
    let input = event.data.get("tool_input").cloned().unwrap_or_default();
    let (tool, key, values) = match own.as_str() {
        "run_commands" => ("bash", "command", commands(&input)),
        "read_files" => ("read", "file_path", files(&input)),
        "editor" => return Ok(edit(&event, &input).into()),
        _ => return Ok(event.into()),
    };
    let bad = |cause: String| Err(UnreadableCall::BadData { event: event.name.clone(), cause });
    let Some(values) = values.filter(|values| !values.is_empty()) else {
        return bad(format!("expected a text as `{key}` of each operation of the tool {own}"));
    };
    if values.len() > OPERATIONS_MAX {
        return bad(format!(
            "the call does {} things, more than the {OPERATIONS_MAX} that are checked one by one; \
             split it",
            values.len()
        ));
    }
    let one = |value: String| renamed(&event, tool, &own, &[(key, value.into())]);
    let mut events = values.into_iter().map(one);
    let Some(first) = events.next() else { return Ok(event.into()) };
    Ok(HostCall { event: first, others: events.collect() })
}

/// The commands of a call, in every form that Cline accepts. `None` if one of them is not readable.
fn commands(input: &Value) -> Option<Vec<String>> {
    let one = |item: &Value| match item {
        Value::String(command) => Some(command.clone()),
        Value::Object(fields) => {
            let command = fields.get("command").or_else(|| fields.get("cmd"))?.as_str()?;
            let args = fields.get("args").and_then(Value::as_array);
            let args = args.map(Vec::as_slice).unwrap_or_default().iter().map(Value::as_str);
            let words: Option<Vec<&str>> = std::iter::once(Some(command)).chain(args).collect();
            Some(words?.join(" "))
        }
        _ => None,
    };
    let items = items(input, &["commands"], &["command", "cmd"]);
    items.iter().map(one).collect()
}

/// The files of a call, in every form that Cline accepts.
fn files(input: &Value) -> Option<Vec<String>> {
    let one = |item: &Value| match item {
        Value::String(path) => Some(vec![path.clone()]),
        Value::Object(fields) => {
            let keys = ["path", "file_path", "filePath"].iter();
            let paths: Vec<String> =
                keys.filter_map(|key| Some(fields.get(*key)?.as_str()?.to_owned())).collect();
            Some(paths).filter(|paths| !paths.is_empty())
        }
        _ => None,
    };
    let lists = ["files", "file_paths", "paths"];
    let items = items(input, &lists, &["path", "file_path", "filePath"]);
    let all: Option<Vec<Vec<String>>> = items.iter().map(one).collect();
    Some(all?.concat())
}

/// The operations of an input: the input itself, or those under all keys that may have them, so that
/// none is overlooked. A list may be written as text.
fn items(input: &Value, lists: &[&str], singles: &[&str]) -> Vec<Value> {
    let spread = |value: &Value| match value {
        Value::Array(items) => items.clone(),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Array(items)) => items,
            _ => vec![value.clone()],
        },
        Value::Null => Vec::new(),
        other => vec![other.clone()],
    };
    let Value::Object(fields) = input else { return spread(input) };
    let mut all: Vec<Value> =
        lists.iter().filter_map(|key| fields.get(*key)).flat_map(spread).collect();
    if singles.iter().any(|key| fields.contains_key(*key)) {
        all.push(input.clone());
    }
    all
}

fn edit(event: &Event, input: &Value) -> Event {
    let field = |key: &str| input.get(key).cloned().filter(|value| !value.is_null());
    let path = ("file_path", field("path").unwrap_or_default());
    let new = field("new_text").unwrap_or_default();
    match (field("old_text"), field("insert_line")) {
        (None, None) => renamed(event, "write", "editor", &[path, ("content", new)]),
        (old, _) => {
            let old = old.unwrap_or_else(|| "".into());
            renamed(event, "edit", "editor", &[path, ("old_string", old), ("new_string", new)])
        }
    }
}

fn renamed(event: &Event, tool: &str, own: &str, ours: &[(&str, Value)]) -> Event {
    let mut event = event.clone();
    event.data.insert("tool_name".to_owned(), tool.into());
    event.data.insert(OWN_TOOL.to_owned(), own.into());
    let mut input = match event.data.shift_remove("tool_input") {
        Some(Value::Object(input)) => input,
        other => Map::from_iter([("input".to_owned(), other.unwrap_or_default())]),
    };
    input.extend(ours.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    event.data.insert("tool_input".to_owned(), Value::Object(input));
    event
}

/// A rewritten input under Cline's own names; `None` if it has no such form.
pub(super) fn own_input(event: &Event, input: &Map<String, Value>) -> Option<Value> {
    let get = |ours: &str| input.get(ours).cloned();
    Some(match event.text(OWN_TOOL) {
        Some("run_commands") => json!({ "commands": [get("command")?] }),
        Some("read_files") => json!({ "files": [{ "path": get("file_path")? }] }),
        Some("editor") => {
            let mut own = Map::from_iter([("path".to_owned(), get("file_path")?)]);
            let line = get("insert_line").filter(|line| !line.is_null());
            match line {
                Some(line) => own.extend([("insert_line".to_owned(), line)]),
                None => own.extend(get("old_string").map(|old| ("old_text".to_owned(), old))),
            }
            let new = get("new_string").or_else(|| get("content"))?;
            own.insert("new_text".to_owned(), new);
            Value::Object(own)
        }
        _ => Value::Object(input.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_in_which_cline_takes_commands_hides_one() {
        for (input, expected) in [
            (json!("a"), vec!["a"]),
            (json!(["a", "b"]), vec!["a", "b"]),
            (json!({ "commands": "a" }), vec!["a"]),
            (json!({ "commands": "[\"a\", \"b\"]" }), vec!["a", "b"]),
            (json!({ "commands": ["a"], "command": "b" }), vec!["a", "b"]),
            (json!({ "commands": { "command": "rm", "args": ["-r", "x"] } }), vec!["rm -r x"]),
            (json!([{ "command": "rm", "args": ["x"] }]), vec!["rm x"]),
            (json!({ "command": "rm", "args": ["x"] }), vec!["rm x"]),
            (json!({ "cmd": "a" }), vec!["a"]),
            (json!({ "commands": ["[ -e x ] && a"] }), vec!["[ -e x ] && a"]),
        ] {
            assert_eq!(commands(&input).expect("readable"), expected, "{input}");
        }
        for input in [json!({ "commands": [7] }), json!({ "commands": [{ "args": [] }] })] {
            assert_eq!(commands(&input), None, "{input}");
        }
        assert_eq!(commands(&json!({})), Some(Vec::new()));
    }

    #[test]
    fn no_form_in_which_cline_takes_files_hides_one() {
        for (input, expected) in [
            (json!("a"), vec!["a"]),
            (json!(["a", { "path": "b" }]), vec!["a", "b"]),
            (json!({ "files": [{ "path": "a" }], "paths": "b" }), vec!["a", "b"]),
            (json!({ "file_paths": ["a"], "filePath": "b" }), vec!["a", "b"]),
        ] {
            assert_eq!(files(&input).expect("readable"), expected, "{input}");
        }
        assert_eq!(files(&json!({ "files": [7] })), None);
    }
}
