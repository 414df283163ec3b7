//! Reads what our plugin in opencode sends as native events: the name of a hook (`hook`), its two
//! arguments (`input`, `output`) or an event of the bus (`event`), and the project (`directory`).

use hookwright_events::EventName;
use serde_json::{Map, Value};

use crate::hosts::payload::Payload;
use crate::hosts::tool_fields::{ToolField, field};
use crate::hosts::{Host, HostCall, UnreadableCall, claude_events};

/// opencode's names of tool inputs.
pub(super) const FIELDS: &[ToolField] = &[
    field("read", "filePath", "file_path"),
    field("write", "filePath", "file_path"),
    field("edit", "filePath", "file_path"),
    field("edit", "oldString", "old_string"),
    field("edit", "newString", "new_string"),
];

/// Parses what the plugin sends.
pub(super) fn read(host: &Host, sent: &str) -> Result<HostCall, UnreadableCall> {
    let payload = Payload::parse(host, sent)?;
    let Some(foreign) = name_of(&payload) else {
        let cause = "missing `hook` or `event.type`".to_owned();
        return Err(UnreadableCall::NoEvent { cause });
    };
    let own = OwnFields { payload: &payload };
    let mut fields = Map::new();
    let mut set = |ours: &str, value: Option<&Value>| {
        fields.extend(value.cloned().map(|value| (ours.to_owned(), value)));
    };
    set("cwd", own.at("/directory"));
    set("session_id", own.at("/input/sessionID").or(own.at("/event/properties/sessionID")));
    let is_tool = payload.has("input") && own.at("/input/tool").is_some();
    let name = match foreign.as_str() {
        "tool.execute.after" => EventName::TOOL_POST_EXECUTE,
        "tool.execute.before" => EventName::TOOL_PRE_EXECUTE,
        // An unknown hook about a tool counts as one before it runs.
        _ if is_tool => EventName::TOOL_PRE_EXECUTE,
        "chat.message" => EventName::USER_PROMPT_SUBMIT,
        "session.created" if own.at("/event/properties/info/parentID").is_some() => {
            EventName::AGENT_START
        }
        "session.created" => EventName::SESSION_START,
        "session.idle" => EventName::SESSION_STOP,
        "session.deleted" => EventName::SESSION_END,
        other => open_event(other).ok_or_else(|| UnreadableCall::NoEvent {
            cause: format!("`{foreign}` is not a valid event name"),
        })?,
    };
    if name == EventName::TOOL_POST_EXECUTE || name == EventName::TOOL_PRE_EXECUTE {
        set("tool_name", own.at("/input/tool"));
        set("tool_input", own.at("/output/args").or(own.at("/input/args")));
        set("tool_use_id", own.at("/input/callID"));
    }
    if name == EventName::TOOL_POST_EXECUTE {
        set("tool_response", own.at("/output"));
    }
    if name == EventName::USER_PROMPT_SUBMIT {
        set("prompt", Some(&own.prompt()));
    }
    if name == EventName::SESSION_START {
        set("source", Some(&"startup".into()));
    }
    if name == EventName::AGENT_START {
        set("agent_id", own.at("/event/properties/sessionID"));
        set("agent_type", Some(&"subagent".into()));
    }
    claude_events::tool_call(Payload { fields }.into_event(name, &foreign)?, FIELDS)
}

/// opencode's name of the hook or event.
fn name_of(payload: &Payload) -> Option<String> {
    let of_bus = || payload.fields.get("event")?.get("type")?.as_str();
    let is_init = || payload.has("worktree").then_some("init");
    payload.text("hook").or_else(of_bus).or_else(is_init).map(str::to_owned)
}

/// An event of opencode's own domain.
fn open_event(foreign: &str) -> Option<EventName> {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let action: String = foreign.chars().map(plain).collect();
    EventName::resolve(&format!("opencode:{}", action.to_ascii_lowercase()))
}

struct OwnFields<'a> {
    payload: &'a Payload,
}

impl OwnFields<'_> {
    fn at(&self, pointer: &str) -> Option<&Value> {
        let (first, rest) = pointer[1..].split_once('/').unwrap_or((&pointer[1..], ""));
        let value = self.payload.fields.get(first)?;
        if rest.is_empty() { Some(value) } else { value.pointer(&format!("/{rest}")) }
    }

    /// The texts of a message.
    fn prompt(&self) -> Value {
        let parts = self.at("/output/parts").and_then(Value::as_array);
        let parts = parts.map(Vec::as_slice).unwrap_or_default().iter();
        let texts = parts.filter(|part| part["synthetic"] != true);
        let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
        texts.join("\n").into()
    }
}
