//! [`HookInput`]: the input that Claude Code sends to a hook, typed for every event with a native
//! name, and converted to and from [`Event`] without loss.
//!
//! Unknown fields are kept (`more`), and unknown values too (`Other`). Events of the open namespace
//! `claude:*` carry their own fields untyped ([`OtherEvent`]); an unknown event about a tool that
//! is going to run is read as a tool call. Ids and paths may be missing, since other agents that
//! send Claude Code's events leave some out.

#[macro_use]
mod typed;

pub mod agent;
pub mod base;
pub mod session;
pub mod tool;

use hookwright_events::table::{EVENTS, OPEN_EVENTS, open_named};
use hookwright_events::{Event, EventName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::whole_characters::whole_characters;
use super::{SYSTEM, tool_name};
use crate::sender::{self, OtherAgentsEvent};
use agent::{SubagentStart, SubagentStop, TaskCompleted, TeammateIdle};
use base::Base;
use session::{Notification, PreCompact, SessionEnd, SessionStart, Setup, Stop, UserPromptSubmit};
use tool::{PermissionRequest, PostToolUse, PostToolUseFailure, PreToolUse};

/// The field that names the event.
const NAME: &str = "hook_event_name";

/// In an [`Event`], `event` is the event's own name, so a file's change has another key.
const FILE_EVENT: (&str, &str) = ("event", "file_event");

/// Fields that hookwright's runner adds to every event and Claude Code's hooks do not know.
const OURS_ALONE: &[&str] = &[
    "session",
    "session_dir",
    "host",
    "timestamp",
    "stage",
    "next_stage",
    "iteration",
    "max_iterations",
    "progress",
    "status",
    "ctx",
    "last_decision",
];

hook_inputs! {
    /// A tool is about to run.
    PreToolUse
    /// A tool has run.
    PostToolUse
    /// A tool has failed.
    PostToolUseFailure
    /// The user gets a notification.
    Notification
    /// A prompt was submitted.
    UserPromptSubmit
    /// A session begins.
    SessionStart
    /// A session has ended.
    SessionEnd
    /// The agent is about to stop.
    Stop
    /// A subagent begins.
    SubagentStart
    /// A subagent is about to stop.
    SubagentStop
    /// The context is about to be compacted.
    PreCompact
    /// The user is about to be asked for permission.
    PermissionRequest
    /// A project is set up.
    Setup
    /// An agent of a team has nothing left to do.
    TeammateIdle
    /// A task is about to be marked completed.
    TaskCompleted
}

/// The input of one event.
pub trait TypedInput: Sized + Send + 'static {
    /// The event's name in Claude Code.
    const NAME: &'static str;

    /// The input, if it is this event's.
    fn from_input(input: HookInput) -> Option<Self>;
}

/// An event whose own fields are untyped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherEvent {
    /// The fields of every event.
    #[serde(flatten)]
    pub base: Base,
    /// All other fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Why a text is not an event of Claude Code.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It is not a JSON object.
    #[error("expected a JSON object: {0}")]
    NoObject(serde_json::Error),
    /// It does not name the event.
    #[error("missing `hook_event_name`")]
    NoName,
    /// Another agent sent it, in that agent's own format.
    #[error("{0}")]
    OtherAgent(OtherAgentsEvent),
    /// The event's name is invalid.
    #[error("`{name}` is not a valid event name")]
    BadName {
        /// The name.
        name: String,
    },
    /// A field is missing or wrong.
    #[error("the event {name} cannot be read: {cause}")]
    BadField {
        /// The event.
        name: String,
        /// The field, and what was expected.
        cause: serde_json::Error,
    },
}

impl HookInput {
    /// Parses what Claude Code sends.
    ///
    /// ```
    /// use hookwright_dialects::claude::HookInput;
    ///
    /// let sent = r#"{"session_id":"s","transcript_path":"/t","cwd":"/p",
    ///     "hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},
    ///     "tool_use_id":"toolu_1"}"#;
    /// let event = HookInput::parse(sent)?.into_event();
    /// assert_eq!(event.name.as_str(), "tool:pre_execute");
    /// assert_eq!(event.text_at("/tool_input/command"), Some("ls"));
    /// # Ok::<(), hookwright_dialects::claude::InputError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let text = text.trim_start_matches('\u{feff}');
        let text = whole_characters(text);
        Self::of_fields(serde_json::from_str(&text).map_err(InputError::NoObject)?)
    }

    /// The same from parsed fields.
    pub fn of_fields(fields: Map<String, Value>) -> Result<Self, InputError> {
        if let Some(event) = sender::other_than(SYSTEM, &fields) {
            return Err(InputError::OtherAgent(event));
        }
        let name = fields.get(NAME).and_then(Value::as_str).ok_or(InputError::NoName)?.to_owned();
        if event_named(&name).is_none() {
            return Err(InputError::BadName { name });
        }
        let is_tool_call = known_event(&name).is_none() && sender::is_tool_call(&fields);
        let read_as = if is_tool_call { "PreToolUse" } else { &name };
        let read = Self::typed(read_as, Value::Object(fields));
        read.map_err(|cause| InputError::BadField { name, cause })
    }

    /// The event in native form.
    pub fn into_event(self) -> Event {
        let is_tool_call = matches!(self, Self::PreToolUse(_));
        let mut fields = self.into_fields();
        let name = match fields.shift_remove(NAME) {
            Some(Value::String(name)) => name,
            _ => String::new(),
        };
        let event = if is_tool_call { event_named("PreToolUse") } else { event_named(&name) };
        let event = event.expect("only what has a name of ours is read");
        if event.hook_event_name() != name {
            fields.insert(NAME.to_owned(), name.into());
        }
        if event == EventName::CLAUDE_FILE_CHANGED {
            fields = renamed(fields, FILE_EVENT.0, FILE_EVENT.1);
        }
        Event::new(event, fields)
    }

    /// The input of a Claude Code hook for any event: tools have Claude Code's names, and all
    /// required fields are there. `cwd` is used if the event has none.
    pub fn of_event(event: &Event, cwd: &str) -> Self {
        let fields = fields_of(event, cwd);
        // Data of the wrong type are passed on unchanged, so that a hook can still check them.
        Self::of_fields(fields.clone())
            .unwrap_or_else(|_| Self::Other(OtherEvent::from_fields(fields)))
    }

    /// The line on a hook's standard input.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("plain data");
        line.push('\n');
        line
    }

    fn into_fields(self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) | Err(_) => unreachable!("every variant is a struct of plain data"),
        }
    }
}

impl OtherEvent {
    /// The input with untyped fields, if not even the common ones have the expected types.
    fn from_fields(mut more: Map<String, Value>) -> Self {
        let mut text = |name: &str| match more.shift_remove(name) {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let base = Base {
            session_id: text("session_id"),
            transcript_path: text("transcript_path"),
            cwd: text("cwd"),
            hook_event_name: text(NAME),
            ..Base::default()
        };
        Self { base, more }
    }
}

/// The event with this Claude Code name. An unknown one is `claude:snake_case`.
pub(crate) fn event_named(name: &str) -> Option<EventName> {
    if let Some(spec) = EVENTS.iter().find(|spec| spec.name_in(SYSTEM) == Some(name)) {
        return Some(EventName::from(spec));
    }
    EventName::resolve(&format!("{SYSTEM}:{}", snake_case(name)?))
}

/// The names of all events that this program knows.
pub(super) fn known_names() -> impl Iterator<Item = &'static str> {
    let open = OPEN_EVENTS.iter().filter(|open| open.name.starts_with(SYSTEM));
    EVENTS.iter().filter_map(|spec| spec.name_in(SYSTEM)).chain(open.map(|open| open.foreign_name))
}

/// The event with this Claude Code name, if this program knows it.
pub(crate) fn known_event(name: &str) -> Option<EventName> {
    event_named(name).filter(|event| event.spec().is_some() || open_named(event.as_str()).is_some())
}

/// `post_tool_batch` for `PostToolBatch`; `None` for anything else.
pub(crate) fn snake_case(name: &str) -> Option<String> {
    if !name.starts_with(|first: char| first.is_ascii_uppercase()) {
        return None;
    }
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, letter) in name.char_indices() {
        if !letter.is_ascii_alphanumeric() {
            return None;
        }
        if letter.is_ascii_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    Some(snake)
}

fn fields_of(event: &Event, cwd: &str) -> Map<String, Value> {
    let mut fields = event.data.clone();
    let session = fields.get("session").cloned().unwrap_or_default();
    for name in OURS_ALONE {
        fields.shift_remove(*name);
    }
    let name = match fields.shift_remove(NAME) {
        Some(Value::String(name)) if event_named(&name).as_ref() == Some(&event.name) => name,
        _ => event.name.hook_event_name().into_owned(),
    };
    fields.insert(NAME.to_owned(), name.into());
    if event.name == EventName::CLAUDE_FILE_CHANGED {
        fields = renamed(fields, FILE_EVENT.1, FILE_EVENT.0);
    }
    if let Some(Value::String(tool)) = fields.get_mut("tool_name") {
        *tool = tool_name::claudes(tool).to_owned();
    }
    let session = if session.is_string() { session } else { "".into() };
    let common = [("session_id", session), ("transcript_path", "".into()), ("cwd", cwd.into())];
    for (name, value) in common {
        let given = fields.entry(name).or_insert(Value::Null);
        if given.is_null() {
            *given = value;
        }
    }
    for (name, value) in defaults(&event.name) {
        fields.entry(*name).or_insert_with(value);
    }
    fields
}

/// Makes a value.
type Make = fn() -> Value;

/// Required fields of an event, and their values if the host gives none.
fn defaults(event: &EventName) -> &'static [(&'static str, Make)] {
    const TEXT: Make = || Value::from("");
    const NULL: Make = || Value::Null;
    const FALSE: Make = || Value::Bool(false);
    const OBJECT: Make = || Value::Object(Map::new());
    match *event {
        EventName::TOOL_PRE_EXECUTE => {
            &[("tool_name", TEXT), ("tool_input", OBJECT), ("tool_use_id", TEXT)]
        }
        EventName::TOOL_POST_EXECUTE => &[
            ("tool_name", TEXT),
            ("tool_input", OBJECT),
            ("tool_response", NULL),
            ("tool_use_id", TEXT),
        ],
        EventName::TOOL_ERROR => {
            &[("tool_name", TEXT), ("tool_input", OBJECT), ("tool_use_id", TEXT), ("error", TEXT)]
        }
        EventName::PERMISSION_PROMPT => &[("tool_name", TEXT), ("tool_input", OBJECT)],
        EventName::SESSION_NOTIFICATION => &[("message", TEXT), ("notification_type", TEXT)],
        EventName::USER_PROMPT_SUBMIT => &[("prompt", TEXT)],
        EventName::SESSION_START => &[("source", || Value::from("startup"))],
        EventName::SESSION_END => &[("reason", || Value::from("other"))],
        EventName::SESSION_STOP => &[("stop_hook_active", FALSE)],
        EventName::AGENT_START => &[("agent_id", TEXT), ("agent_type", TEXT)],
        EventName::AGENT_STOP => &[
            ("stop_hook_active", FALSE),
            ("agent_id", TEXT),
            ("agent_transcript_path", TEXT),
            ("agent_type", TEXT),
        ],
        EventName::SESSION_PRE_COMPACT => {
            &[("trigger", || Value::from("manual")), ("custom_instructions", NULL)]
        }
        EventName::SESSION_SETUP => &[("trigger", || Value::from("init"))],
        EventName::AGENT_IDLE => &[("teammate_name", TEXT), ("team_name", TEXT)],
        EventName::TASK_COMPLETE => &[("task_id", TEXT), ("task_subject", TEXT)],
        _ => &[],
    }
}

/// The same fields in the same order, with one renamed.
fn renamed(fields: Map<String, Value>, from: &str, to: &str) -> Map<String, Value> {
    if fields.contains_key(to) {
        return fields;
    }
    let name = |name: String| if name == from { to.to_owned() } else { name };
    fields.into_iter().map(|(key, value)| (name(key), value)).collect()
}

#[cfg(test)]
mod tests;
