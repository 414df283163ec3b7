//! [`Payload`]: the fields of a host's payload, and the checks that every event has to pass.
//!
//! Ids and paths may be missing: agents leave some out. A tool call without its tool or its input is
//! not readable, since no guard could check it.

use hookwright_events::{Event, EventName};
use serde_json::{Map, Value};

use super::{Host, UnreadableCall, refusal_of_other_agent};
use crate::claude::whole_characters;
use crate::sender;

/// Claude Code's field for the event's name, which hooks read too.
pub(super) const NAME: &str = "hook_event_name";

/// The field for the host's own name of the event, if that is not Claude Code's.
pub(super) const FOREIGN_NAME: &str = "host_event_name";

/// The fields of a payload.
#[derive(Debug, Clone, Default)]
pub(super) struct Payload {
    pub(super) fields: Map<String, Value>,
}

impl Payload {
    /// Parses a payload that this host sent, not another one.
    pub(super) fn parse(host: &Host, sent: &str) -> Result<Self, UnreadableCall> {
        let text = whole_characters(sent.trim_start_matches('\u{feff}'));
        let parsed: Result<Map<String, Value>, _> = serde_json::from_str(&text);
        let fields = parsed.map_err(|error| UnreadableCall::NoEvent {
            cause: format!("expected a JSON object: {error}"),
        })?;
        match sender::other_than(host.name, &fields) {
            Some(event) => Err(UnreadableCall::OtherHost(refusal_of_other_agent(host, &event))),
            None => Ok(Self { fields }),
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(|value| !value.is_null())
    }

    /// Gives fields our names. A field of ours that the host sends under another name counts as the
    /// host's own only under that name, since only that one has an effect in the host.
    pub(super) fn rename(&mut self, names: &[(&str, &str)]) {
        for (theirs, ours) in names {
            if let Some(value) = self.fields.shift_remove(*theirs) {
                self.fields.insert((*ours).to_owned(), value);
            }
        }
    }

    /// The event, with the fields that are left. `foreign` is the host's own name of the event.
    pub(super) fn into_event(
        mut self,
        name: EventName,
        foreign: &str,
    ) -> Result<Event, UnreadableCall> {
        self.fields.shift_remove(NAME);
        if let Some(cause) = self.fault(&name, foreign) {
            return Err(UnreadableCall::BadData { event: name, cause });
        }
        if name.hook_event_name() != foreign {
            self.fields.insert(FOREIGN_NAME.to_owned(), foreign.into());
        }
        Ok(Event::new(name, self.fields))
    }

    fn fault(&self, name: &EventName, foreign: &str) -> Option<String> {
        let fault = |what: &str| Some(format!("the event {foreign} cannot be read: {what}"));
        for key in ["session_id", "cwd", "transcript_path", "tool_use_id", "agent_id"] {
            if self.has(key) && self.text(key).is_none() {
                return fault(&format!("expected a string as `{key}`"));
            }
        }
        if is_about_tool(name) {
            if self.text("tool_name").is_none_or(str::is_empty) {
                return fault("expected a string as `tool_name`");
            }
            if !self.fields.contains_key("tool_input") {
                return fault("missing `tool_input`");
            }
        }
        None
    }
}

/// Whether the event is about a tool call.
pub(super) fn is_about_tool(name: &EventName) -> bool {
    [
        EventName::TOOL_PRE_EXECUTE,
        EventName::TOOL_POST_EXECUTE,
        EventName::TOOL_ERROR,
        EventName::PERMISSION_PROMPT,
    ]
    .contains(name)
}
