//! The input of an AutoAgent hook: one JSON object with AutoAgent's field names, and `{{names}}` in
//! its command.

use std::borrow::Cow;

use hookwright_engine::template::{Reference, Value};
use hookwright_events::{Event, EventName, EventSpec, field};
use jiff::Timestamp;
use serde_json::{Map, Value as Json};

/// AutoAgent's hook points and the matching events.
pub(super) const POINTS: [(&str, EventName); 7] = [
    ("PreExecutionStart", EventName::EXECUTION_PRE_START),
    ("PostExecutionStart", EventName::EXECUTION_POST_START),
    ("PreExecutionEnd", EventName::EXECUTION_PRE_END),
    ("PostExecutionEnd", EventName::EXECUTION_POST_END),
    ("PreGitCommit", EventName::GIT_PRE_COMMIT),
    ("PostGitCommit", EventName::GIT_POST_COMMIT),
    ("Stop", EventName::SESSION_STOP),
];

/// The first fields of the input, in this order, with hookwright's names. The first three are in
/// every event, after the event's name.
const FIELDS: [(&str, &str); 16] = [
    ("sessionId", "session_id"),
    ("workspace", "cwd"),
    ("timestamp", "timestamp"),
    ("issueNumber", "issue_number"),
    ("issueTitle", "issue_title"),
    ("issueFile", "issue_file"),
    ("planFile", "plan_file"),
    ("success", "success"),
    ("reason", "reason"),
    ("issuesCompleted", "issues_completed"),
    ("issuesTotal", "issues_total"),
    ("duration", "duration"),
    ("provider", "provider"),
    ("filesModified", "files_modified"),
    ("output", "output"),
    ("error", "error"),
];

const EVENT_NAME: &str = "eventName";

/// The one value that is a list.
const LIST: &str = "filesModified";

/// The event as one line of JSON. Fields without an AutoAgent name follow: known ones in camelCase,
/// others unchanged.
pub(super) fn stdin(event: &Event) -> String {
    let mut line = Map::with_capacity(event.data.len() + 4);
    line.insert(EVENT_NAME.to_owned(), point(&event.name).into());
    for (name, ours) in FIELDS {
        if let Some(value) = json_value(name, ours, event) {
            line.insert(name.to_owned(), value.into_owned());
        }
    }
    for (ours, value) in &event.data {
        let is_there = FIELDS.iter().any(|(_, known)| known == ours);
        let name = if field::named(ours).is_some() { camel_case(ours) } else { ours.clone() };
        if !is_there && !line.contains_key(&name) {
            line.insert(name, value.clone());
        }
    }
    let mut line = Json::Object(line).to_string();
    line.push('\n');
    line
}

/// The meaning of `{{name}}`.
pub(super) fn reference(name: &str) -> Reference {
    match name {
        LIST => Reference::List,
        EVENT_NAME => Reference::Scalar,
        name if FIELDS.iter().any(|(known, _)| *known == name) => Reference::Scalar,
        _ => Reference::Unknown,
    }
}

/// The native variable with a name's value, at an event that always has it.
pub(super) fn variable(name: &str, event: &EventSpec) -> Option<&'static str> {
    const VARIABLES: [(&str, &str, &str); 8] = [
        ("issueNumber", "issue_number", "ISSUE_NUMBER"),
        ("issueTitle", "issue_title", "ISSUE_TITLE"),
        ("issueFile", "issue_file", "ISSUE_FILE"),
        ("planFile", "plan_file", "PLAN_FILE"),
        ("success", "success", "SUCCESS"),
        ("duration", "duration", "DURATION"),
        ("provider", "provider", "PROVIDER"),
        ("reason", "reason", "REASON"),
    ];
    let (_, field, variable) = VARIABLES.iter().find(|(theirs, _, _)| *theirs == name)?;
    // A commit is not always part of an execution.
    let is_always_there = event.fields.contains(field) && !event.name.starts_with("git:");
    is_always_there.then_some(*variable)
}

/// The value of a name. A name that the event does not have stays literal; 0, false and empty text
/// are values.
pub(super) fn value<'e>(name: &str, event: &'e Event) -> Value<'e> {
    if name == EVENT_NAME {
        return Value::Scalar(point(&event.name));
    }
    let ours = FIELDS.iter().find(|(known, _)| *known == name).map(|(_, ours)| *ours);
    match ours.and_then(|ours| json_value(name, ours, event)) {
        Some(Cow::Borrowed(Json::Array(items))) => Value::List(items.iter().map(text).collect()),
        Some(Cow::Borrowed(Json::Null)) | None => Value::Scalar(format!("{{{{{name}}}}}").into()),
        Some(Cow::Borrowed(value)) => Value::Scalar(text(value)),
        Some(Cow::Owned(value)) => Value::Scalar(text(&value).into_owned().into()),
    }
}

/// AutoAgent's name of an event, if it has one.
fn point(event: &EventName) -> Cow<'_, str> {
    let known = POINTS.iter().find(|(_, ours)| ours == event);
    known.map_or_else(|| event.hook_event_name(), |(name, _)| Cow::Borrowed(*name))
}

fn json_value<'e>(name: &str, ours: &str, event: &'e Event) -> Option<Cow<'e, Json>> {
    let value = event.data.get(ours);
    match name {
        // A session without an id still has its name.
        "sessionId" => Some(match value.or_else(|| event.data.get("session")) {
            Some(value) => Cow::Borrowed(value),
            None => Cow::Owned("".into()),
        }),
        "timestamp" => value.map(milliseconds),
        _ => value.map(Cow::Borrowed),
    }
}

/// A time in milliseconds since 1970; any other value stays unchanged.
fn milliseconds(value: &Json) -> Cow<'_, Json> {
    let time = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    match time {
        Some(time) => Cow::Owned(time.as_millisecond().into()),
        None => Cow::Borrowed(value),
    }
}

fn text(value: &Json) -> Cow<'_, str> {
    match value {
        Json::String(text) => Cow::Borrowed(text),
        value => Cow::Owned(value.to_string()),
    }
}

/// `commit_message` is `commitMessage`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut whole = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        whole.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        whole.push_str(letters.as_str());
    }
    whole
}
