//! The input of an iteratr hook: its five `{{names}}`. Each has a value only at its own points and
//! is empty elsewhere, whatever the event contains.

use std::borrow::Cow;

use hookwright_engine::template::{Reference, Value};
use hookwright_engine::variables::text_of;
use hookwright_events::{Event, EventName, EventSpec};

/// A `{{name}}`.
struct Name {
    name: &'static str,
    /// The native variable with the same value.
    variable: &'static str,
    /// The events at which it has a value; empty means all.
    events: &'static [EventName],
}

const NAMES: [Name; 5] = [
    Name { name: "session", variable: "SESSION", events: &[] },
    Name {
        name: "iteration",
        variable: "ITERATION",
        events: &[
            EventName::ITERATION_START,
            EventName::ITERATION_COMPLETE,
            EventName::ITERATION_ERROR,
        ],
    },
    Name { name: "task_id", variable: "TASK_ID", events: &[EventName::TASK_COMPLETE] },
    Name { name: "task_content", variable: "TASK_CONTENT", events: &[EventName::TASK_COMPLETE] },
    Name { name: "error", variable: "ERROR", events: &[EventName::ITERATION_ERROR] },
];

/// The name, if it has a value at this event.
fn known_name(name: &str, event: &EventName) -> Option<&'static Name> {
    let is_known = |known: &&Name| known.events.is_empty() || known.events.contains(event);
    NAMES.iter().find(|known| known.name == name).filter(is_known)
}

/// Exactly these names, without a space inside the braces; any other text stays literal.
pub(super) fn reference(name: &str) -> Reference {
    match NAMES.iter().any(|known| known.name == name) {
        true => Reference::Scalar,
        false => Reference::Unknown,
    }
}

/// The value of a name at an event.
pub(super) fn value<'e>(name: &str, event: &'e Event) -> Value<'e> {
    let told = known_name(name, &event.name);
    // Our fields have the same names.
    Value::Scalar(match told.and_then(|told| event.data.get(told.name)) {
        None => Cow::Borrowed(""),
        Some(serde_json::Value::String(text)) => Cow::Borrowed(text),
        Some(other) => Cow::Owned(text_of(other)),
    })
}

/// The native variable with the same value at an event.
pub(super) fn variable(name: &str, event: &'static EventSpec) -> Option<&'static str> {
    known_name(name, &event.into()).map(|told| told.variable)
}
