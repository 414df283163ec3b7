//! The variables: their names, their values at one event, and the child's environment.
//!
//! Values come from the event's data (each field of the table is a variable) and from earlier
//! hooks. Each variable also exists with the prefix `HOOKWRIGHT_`. Only names of the table become
//! variables, so data can never set `PATH`, `BASH_ENV` or anything else that controls a shell; a
//! test keeps such names out of the table.

mod environment;
mod steering;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::LazyLock;

use hookwright_events::field::FIELDS;
use hookwright_events::{Event, FieldKind, FieldSpec};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use environment::{ChildEnvironment, Environment, LeftOut, OfDialect};

use crate::condition::Values;
use crate::nearest::nearest;

/// The prefix of each variable's second name.
pub const PREFIX: &str = "HOOKWRIGHT_";

/// Names the store of sessions. It is for this program alone: no hook and no agent inherits it.
pub const STORE_VARIABLE: &str = "HOOKWRIGHT_STORE";

/// Variables that are not fields of the data.
pub const MADE_BY_THE_ENGINE: &[(&str, &str)] = &[
    ("EVENT", "canonical name of the event"),
    ("SUBJECT", "the subject, which matchers compare"),
    ("LAST_HOOK_STATUS", "how the previous hook ended: success or failed"),
    ("HOOK_RESPONSE", "a person's answer to an earlier hook, as JSON"),
    ("SPAWN_OUTPUT", "output of an earlier child pipeline, as JSON"),
    ("CALLBACK_URL", "address at which a person can answer this hook"),
];

/// Variables of agent-pipelines that are always set, if only to an empty value.
const ALWAYS_SET: &[&str] = &[
    "SESSION",
    "STAGE",
    "NEXT_STAGE",
    "ITERATION",
    "MAX_ITERATIONS",
    "PROGRESS",
    "STATUS",
    "CTX",
    "LAST_DECISION",
    "LAST_HOOK_STATUS",
    "CHANGED_FILES",
    "STAGE_OUTPUTS",
    "ERROR",
    "TIMESTAMP",
    "CALLBACK_URL",
    "HOOK_RESPONSE",
    "SPAWN_OUTPUT",
];

/// Those of [`MADE_BY_THE_ENGINE`] whose value may be any text.
const MADE_OF_FREE_TEXT: &[&str] = &["SUBJECT", "HOOK_RESPONSE", "SPAWN_OUTPUT"];

struct Variable {
    name: String,
    prefixed: OsString,
    field: Option<&'static FieldSpec>,
    always_set: bool,
}

impl Variable {
    fn new(name: String, field: Option<&'static FieldSpec>) -> Self {
        let always_set = ALWAYS_SET.contains(&name.as_str());
        Self { prefixed: format!("{PREFIX}{name}").into(), name, field, always_set }
    }

    fn is_list(&self) -> bool {
        self.field.is_some_and(|field| field.kind == FieldKind::Paths)
    }
}

static VARIABLES: LazyLock<Vec<Variable>> = LazyLock::new(|| {
    let fields = FIELDS.iter().map(|field| Variable::new(field.variable(), Some(field)));
    let made = MADE_BY_THE_ENGINE.iter().map(|(name, _)| Variable::new((*name).into(), None));
    fields.chain(made).collect()
});

/// The place of each field's variable among [`VARIABLES`].
static PLACES_OF_FIELDS: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    let fields = VARIABLES.iter().enumerate();
    fields.filter_map(|(place, variable)| Some((variable.field?.name, place))).collect()
});

/// Every variable's name, without the prefix.
pub fn names() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|variable| variable.name.as_str())
}

/// Whether the name, with or without the prefix, is a built-in variable.
pub fn is_ours(name: &str) -> bool {
    find(name).is_some()
}

/// Whether the value of this built-in variable may be any text.
pub fn is_free_text(name: &str) -> bool {
    find(name).is_some_and(|variable| match variable.field {
        Some(field) => field.is_free_text,
        None => MADE_OF_FREE_TEXT.contains(&variable.name.as_str()),
    })
}

/// Whether the value is a path.
pub fn is_path(name: &str) -> bool {
    find(name)
        .and_then(|variable| variable.field)
        .is_some_and(|field| field.kind == FieldKind::Path)
}

/// Whether the value is a list, one element per line.
pub fn is_list(name: &str) -> bool {
    find(name).is_some_and(Variable::is_list)
}

/// The most similar built-in name.
pub fn nearest_to(name: &str) -> Option<String> {
    nearest(name.strip_prefix(PREFIX).unwrap_or(name), names()).map(str::to_owned)
}

fn find(name: &str) -> Option<&'static Variable> {
    let plain = name.strip_prefix(PREFIX).unwrap_or(name);
    VARIABLES.iter().find(|variable| variable.name == plain)
}

/// What hooks leave for later ones, across events too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// `LAST_HOOK_STATUS`.
    pub last_hook_status: Option<Cow<'static, str>>,
    /// `HOOK_RESPONSE`.
    pub hook_response: Option<Value>,
    /// `SPAWN_OUTPUT`.
    pub spawn_output: Option<Value>,
}

/// The variables' values at one event.
#[derive(Debug, Clone, Copy)]
pub struct Variables<'a> {
    /// The fired event.
    pub event: &'a Event,
    /// What earlier hooks left.
    pub carried: &'a Carried,
    /// Where names are looked up that are not built in.
    pub environment: &'a Environment,
}

impl<'a> Variables<'a> {
    /// The value of a built-in variable; `None` if it has none here.
    pub fn ours(&self, name: &str) -> Option<Cow<'a, Value>> {
        self.value_of(find(name)?)
    }

    fn value_of(&self, variable: &Variable) -> Option<Cow<'a, Value>> {
        if let Some(field) = variable.field {
            return self.event.data.get(field.name).map(Cow::Borrowed);
        }
        match variable.name.as_str() {
            "EVENT" => Some(Cow::Owned(Value::from(self.event.name.as_str()))),
            "SUBJECT" => self.event.subject().map(|subject| Cow::Owned(Value::from(subject))),
            "LAST_HOOK_STATUS" => {
                let status = self.carried.last_hook_status.as_deref();
                status.map(|status| Cow::Owned(Value::from(status)))
            }
            "HOOK_RESPONSE" => self.carried.hook_response.as_ref().map(Cow::Borrowed),
            "SPAWN_OUTPUT" => self.carried.spawn_output.as_ref().map(Cow::Borrowed),
            _ => None,
        }
    }

    /// Every variable, with its value for the child's environment; `None` if it has none here.
    fn texts(&self) -> impl Iterator<Item = (&'static Variable, Option<String>)> {
        // An event has only a few of all fields, so a search for each of these takes less time.
        let mut of_fields: Vec<Option<&'a Value>> = vec![None; VARIABLES.len()];
        for (field, value) in &self.event.data {
            if let Some(place) = PLACES_OF_FIELDS.get(field.as_str()) {
                of_fields[*place] = Some(value);
            }
        }
        let text = |variable: &Variable, value: &Value| match variable.is_list() {
            true => lines_of(value),
            false => text_of(value),
        };
        VARIABLES.iter().zip(of_fields).map(move |(variable, of_field)| {
            let made = if variable.field.is_none() { self.value_of(variable) } else { None };
            let value = of_field.or(made.as_deref());
            (variable, value.map(|value| text(variable, value)))
        })
    }

    /// The value at a path into a variable's JSON, as text; empty if there is none.
    pub fn at_path(&self, name: &str, path: &[String]) -> String {
        let Some(value) = self.ours(name) else {
            return String::new();
        };
        let parsed: Value;
        let mut at: &Value = match value.as_ref() {
            // A host may have sent its JSON as text.
            Value::String(text) => match serde_json::from_str(text) {
                Ok(value) => {
                    parsed = value;
                    &parsed
                }
                Err(_) => return String::new(),
            },
            value => value,
        };
        for key in path {
            let next = match at {
                Value::Object(map) => map.get(key),
                Value::Array(list) => key.parse::<usize>().ok().and_then(|index| list.get(index)),
                _ => None,
            };
            let Some(next) = next else {
                return String::new();
            };
            at = next;
        }
        text_of(at)
    }
}

impl Values for Variables<'_> {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        if let Some(variable) = find(name) {
            let value = self.value_of(variable)?;
            // Conditions see what commands see: a list of paths as lines of text.
            let is_list = variable.is_list() && value.is_array();
            return Some(if is_list { Cow::Owned(lines_of(&value).into()) } else { value });
        }
        self.environment.text(name).map(|text| Cow::Owned(Value::from(text)))
    }
}

/// A value as text: text unchanged, null as empty text, anything else as compact JSON.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A list of paths, one per line.
fn lines_of(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        other => text_of(other),
    }
}

/// The event as a native hook reads it on standard input: one flat line, a superset of Claude
/// Code's fields.
pub fn stdin_line(event: &Event, hook: &str, attempt: u32) -> String {
    let mut line = serde_json::to_string(&StdinLine { event, hook, attempt })
        .expect("an event's data is plain JSON");
    line.push('\n');
    line
}

struct StdinLine<'a> {
    event: &'a Event,
    hook: &'a str,
    attempt: u32,
}

impl Serialize for StdinLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Built-in names, which data cannot use.
        const RESERVED: &[&str] = &["event", "hook_event_name", "subject", "hook"];
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("event", self.event.name.as_str())?;
        line.serialize_entry("hook_event_name", &self.event.name.hook_event_name())?;
        line.serialize_entry("subject", &self.event.subject())?;
        for (name, value) in &self.event.data {
            if !RESERVED.contains(&name.as_str()) {
                line.serialize_entry(name, value)?;
            }
        }
        line.serialize_entry("hook", &json!({ "id": self.hook, "attempt": self.attempt }))?;
        line.end()
    }
}

#[cfg(test)]
mod tests;
