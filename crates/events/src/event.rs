//! [`Event`]: something that happened or is about to.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::table::{self, EventSpec, OpenRow, Power, TableRow};
use crate::{field, tool};

/// An event's canonical name, `domain:action`: a row of the table, which has a constant here
/// (`EventName::STAGE_START`), or a name of an open domain, such as `claude:*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventName(pub(crate) KnownAs);

/// Where a name is defined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum KnownAs {
    /// In the table.
    TableRow(TableRow),
    /// In the table of open domains.
    OpenRow(OpenRow),
    /// In no table.
    Other(Box<str>),
}

impl EventName {
    /// Resolves a canonical name, an alias, or a name of an open domain.
    pub fn resolve(name: &str) -> Option<Self> {
        if let Some(spec) = table::resolve(name) {
            return Some(Self::from(spec));
        }
        let (_, action) =
            name.split_once(':').filter(|(domain, _)| table::OPEN_DOMAINS.contains(domain))?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        (!action.is_empty() && action.bytes().all(plain)).then(|| Self::canonical(name))
    }

    /// The event with exactly this name, in a table or not.
    fn canonical(name: &str) -> Self {
        let in_table = TableRow::named(name).map(KnownAs::TableRow);
        let known = in_table.or_else(|| OpenRow::named(name).map(KnownAs::OpenRow));
        Self(known.unwrap_or_else(|| KnownAs::Other(name.into())))
    }

    /// The canonical name.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            KnownAs::TableRow(row) => row.spec().name,
            KnownAs::OpenRow(row) => row.spec().name,
            KnownAs::Other(name) => name,
        }
    }

    /// The event's row in the table; `None` in an open domain.
    pub fn spec(&self) -> Option<&'static EventSpec> {
        match &self.0 {
            KnownAs::TableRow(row) => Some(row.spec()),
            KnownAs::OpenRow(_) | KnownAs::Other(_) => None,
        }
    }

    /// What hooks can do at this event. An unknown event of an open domain is only observed.
    pub fn power(&self) -> Power {
        match &self.0 {
            KnownAs::TableRow(row) => row.spec().power,
            KnownAs::OpenRow(row) => row.spec().power,
            KnownAs::Other(_) => Power::Observes,
        }
    }

    /// The data field that a third name segment or a matcher compares.
    pub fn subject_field(&self) -> Option<&'static str> {
        match &self.0 {
            KnownAs::TableRow(row) => row.spec().subject,
            KnownAs::OpenRow(row) => row.spec().subject,
            KnownAs::Other(_) => None,
        }
    }

    /// The name that a hook reads as `hook_event_name`: that of [`table::HOOK_EVENT_NAMES`] if it
    /// has one.
    pub fn hook_event_name(&self) -> Cow<'_, str> {
        let name = match &self.0 {
            KnownAs::TableRow(row) => {
                let spec = row.spec();
                return spec.name_in(table::HOOK_EVENT_NAMES).unwrap_or(spec.name).into();
            }
            KnownAs::OpenRow(row) => return row.spec().foreign_name.into(),
            KnownAs::Other(name) => name,
        };
        let action = name.split_once(':').map_or(&**name, |(_, action)| action);
        let mut name = String::with_capacity(action.len());
        for word in action.split('_') {
            let mut letters = word.chars();
            name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            name.push_str(letters.as_str());
        }
        Cow::Owned(name)
    }
}

impl From<&'static EventSpec> for EventName {
    fn from(spec: &'static EventSpec) -> Self {
        Self::canonical(spec.name)
    }
}

impl Serialize for EventName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Accepts any text: a record may come from a version that knows more events.
impl<'de> Deserialize<'de> for EventName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::canonical(&Cow::<str>::deserialize(deserializer)?))
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something that happened or is about to, with its data under canonical field names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The event's name.
    pub name: EventName,
    /// The data. Known fields have their canonical names; others are kept unchanged.
    pub data: Map<String, Value>,
}

impl Event {
    /// An event with its data normalised to canonical field names.
    pub fn new(name: EventName, data: Map<String, Value>) -> Self {
        Self { name, data: field::normalise(data) }
    }

    /// An event by its canonical name or an alias, with its data as a JSON object; `null` means no
    /// data.
    ///
    /// ```
    /// use hookwright_events::Event;
    /// use serde_json::json;
    ///
    /// let event = Event::named("PreToolUse", json!({ "toolName": "Bash" }))?;
    /// assert_eq!(event.name.as_str(), "tool:pre_execute");
    /// assert_eq!(event.subject(), Some("bash"));
    /// # Ok::<(), hookwright_events::EventError>(())
    /// ```
    pub fn named(name: &str, data: Value) -> Result<Self, EventError> {
        let known = EventName::resolve(name);
        let name = known.ok_or_else(|| EventError::UnknownName { name: name.to_owned() })?;
        match data {
            Value::Object(data) => Ok(Self::new(name, data)),
            Value::Null => Ok(Self::new(name, Map::new())),
            Value::Bool(_) => Err(EventError::NoObject { found: "a boolean" }),
            Value::Number(_) => Err(EventError::NoObject { found: "a number" }),
            Value::String(_) => Err(EventError::NoObject { found: "a string" }),
            Value::Array(_) => Err(EventError::NoObject { found: "a list" }),
        }
    }

    /// What a third name segment or a `matcher` compares; for a tool, its canonical name.
    pub fn subject(&self) -> Option<&str> {
        let field = self.name.subject_field()?;
        let value = Some(self.data.get(field)?.as_str()?.trim()).filter(|text| !text.is_empty())?;
        Some(if field == "tool_name" { tool::canonical(value) } else { value })
    }

    /// Every spelling of the subject that a pattern may use: as received, canonical, other agents'.
    pub fn subject_spellings(&self) -> Vec<&str> {
        let Some(field) = self.name.subject_field() else { return Vec::new() };
        let Some(given) = self.data.get(field).and_then(Value::as_str).map(str::trim) else {
            return Vec::new();
        };
        let mut all = vec![given];
        if field == "tool_name" {
            all.extend(tool::spellings(given).unwrap_or_default().iter().filter(|s| **s != given));
        }
        all
    }

    /// A data field, if it is text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.data.get(field).and_then(Value::as_str)
    }

    /// A text in the data, by its JSON pointer: `/tool_input/command`.
    pub fn text_at(&self, pointer: &str) -> Option<&str> {
        let (field, rest) = match pointer.strip_prefix('/')?.split_once('/') {
            Some((field, _)) => (field, &pointer[field.len() + 1..]),
            None => (&pointer[1..], ""),
        };
        let field = field.replace("~1", "/").replace("~0", "~");
        self.data.get(&field)?.pointer(rest)?.as_str()
    }
}

/// Why an event is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventError {
    /// No event has this name.
    UnknownName {
        /// The unknown name.
        name: String,
    },
    /// The data are not a JSON object.
    NoObject {
        /// The JSON type of the data.
        found: &'static str,
    },
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventError::UnknownName { name } => write!(f, "unknown event `{name}`"),
            EventError::NoObject { found } => {
                write!(f, "expected a JSON object as the event's data but found {found}")
            }
        }
    }
}

impl std::error::Error for EventError {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(name: &str, data: Value) -> Event {
        let Value::Object(data) = data else { panic!("data must be an object") };
        Event::new(EventName::resolve(name).expect("a known event"), data)
    }

    #[test]
    fn a_name_resolves_from_its_canonical_form_and_from_every_alias() {
        for name in ["tool:pre_execute", "PreToolUse"] {
            assert_eq!(
                EventName::resolve(name).map(|n| n.to_string()).as_deref(),
                Some("tool:pre_execute")
            );
        }
        assert_eq!(EventName::resolve("pretooluse"), None);
        assert_eq!(EventName::resolve("tool:nothing"), None);
    }

    #[test]
    fn an_event_is_made_from_a_name_and_a_json_object() {
        let made = Event::named("Stop", json!({ "reason": "completed" }));
        assert_eq!(made, Ok(event("session:stop", json!({ "reason": "completed" }))));
        assert_eq!(Event::named("Stop", Value::Null), Ok(event("Stop", json!({}))));
        for (name, data, why) in [
            ("Stopp", json!({}), "unknown event `Stopp`"),
            ("Stop", json!([1]), "expected a JSON object as the event's data but found a list"),
            ("Stop", json!("x"), "expected a JSON object as the event's data but found a string"),
            ("Stop", json!(1), "expected a JSON object as the event's data but found a number"),
            ("Stop", json!(true), "expected a JSON object as the event's data but found a boolean"),
        ] {
            assert_eq!(Event::named(name, data).map_err(|e| e.to_string()), Err(why.to_owned()));
        }
    }

    #[test]
    fn an_open_domain_accepts_any_plain_action_and_an_unknown_event_is_only_observed() {
        let name = EventName::resolve("claude:brand_new").expect("open namespace");
        assert_eq!((name.power(), name.subject_field()), (Power::Observes, None));
        assert_eq!(name.hook_event_name(), "BrandNew");
        let known = EventName::resolve("claude:config_change").expect("open namespace");
        assert_eq!((known.power(), known.subject_field()), (Power::Blocks, Some("source")));
        let change = event("claude:config_change", json!({ "source": "skills" }));
        assert_eq!(change.subject(), Some("skills"));
        assert_eq!(EventName::resolve("claude:"), None);
        assert_eq!(EventName::resolve("claude:Post Tool"), None);
    }

    #[test]
    fn the_subject_of_a_tool_event_is_our_name_for_the_tool() {
        let event = event("tool:pre_execute", json!({ "toolName": "run_shell_command" }));
        assert_eq!(event.subject(), Some("bash"));
        assert_eq!(event.subject_spellings()[..3], ["run_shell_command", "bash", "Bash"]);
    }

    #[test]
    fn an_event_without_its_subject_has_none() {
        assert_eq!(event("tool:pre_execute", json!({})).subject(), None);
        assert_eq!(event("user:interrupt", json!({ "tool_name": "x" })).subject(), None);
        assert!(event("user:interrupt", json!({})).subject_spellings().is_empty());
    }

    #[test]
    fn a_text_is_found_by_its_json_pointer() {
        let data = json!({ "tool_input": { "command": "ls", "a/b": ["x"] }, "~": "tilde", "n": 1 });
        let event = event("tool:pre_execute", data);
        for (pointer, found) in [
            ("/tool_input/command", Some("ls")),
            ("/tool_input/a~1b/0", Some("x")),
            ("/~0", Some("tilde")),
            ("/n", None),
            ("/nothing/here", None),
            ("/tool_input/nothing", None),
            ("tool_input", None),
            ("", None),
        ] {
            assert_eq!(event.text_at(pointer), found, "{pointer}");
        }
    }

    #[test]
    fn a_hook_reads_claudes_name_of_the_event_if_it_has_one() {
        assert_eq!(event("tool:pre_execute", json!({})).name.hook_event_name(), "PreToolUse");
        assert_eq!(event("stage:start", json!({})).name.hook_event_name(), "stage:start");
    }
}
