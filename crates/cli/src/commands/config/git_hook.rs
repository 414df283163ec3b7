//! [`GitHook`]: the two hooks to switch on and off, as each [`Form`] of file writes them.

use hookwright_config::tree::{Node, Raw};
use hookwright_events::EventName;
use serde_json::{Map, Value};

/// The event at which both hooks run.
const POINT: EventName = EventName::EXECUTION_POST_END;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Native,
    AutoAgent,
}

impl Form {
    /// The file's name for the hooks' event.
    pub(super) fn point(self) -> &'static str {
        match self {
            Form::Native => POINT.as_str(),
            Form::AutoAgent => "PostExecutionEnd",
        }
    }

    /// Whether this is any of the event's names in such a file.
    pub(super) fn is_point(self, name: &str) -> bool {
        match self {
            Form::Native => EventName::resolve(name) == Some(POINT),
            Form::AutoAgent => name == "PostExecutionEnd",
        }
    }
}

/// The field of a native hook that makes the next step wait for it.
const AWAIT: &str = "await";

/// A hook to switch on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitHook {
    Commit,
    Push,
}

impl GitHook {
    /// Its `type`.
    pub(super) fn kind(self) -> &'static str {
        match self {
            GitHook::Commit => "git-commit",
            GitHook::Push => "git-push",
        }
    }

    /// Its fields, in order. AutoAgent awaits all its hooks. In a native file a hook at this point
    /// runs in the background by default, and then commit, push and the next work item would run at
    /// the same time.
    pub(super) fn fields(self, form: Form) -> Vec<(&'static str, &'static str)> {
        let own = match (self, form) {
            (GitHook::Commit, Form::Native) => {
                ("message", "Complete issue #${ISSUE_NUMBER}: ${ISSUE_TITLE}")
            }
            (GitHook::Commit, Form::AutoAgent) => {
                ("message", "Complete issue #{{issueNumber}}: {{issueTitle}}")
            }
            (GitHook::Push, Form::Native | Form::AutoAgent) => ("remote", "origin"),
        };
        let awaited = (form == Form::Native).then_some((AWAIT, "true"));
        [("type", self.kind()), own].into_iter().chain(awaited).collect()
    }

    /// The hook as JSON; in a list with hooks of all events it names its own.
    pub(super) fn value(self, form: Form, names_event: bool) -> Value {
        let event = names_event.then_some(("event", form.point()));
        let fields = event.into_iter().chain(self.fields(form));
        Value::Object(
            fields.map(|(key, text)| (key.to_owned(), value_of(key, text))).collect::<Map<_, _>>(),
        )
    }

    /// Whether an existing hook runs in the background.
    pub(super) fn is_in_background(entry: &Node, form: Form) -> bool {
        let Raw::Map(fields) = &entry.raw else { return false };
        let value = |name| fields.iter().find(|field| &*field.key == name).map(|f| &f.value.raw);
        let ends_something = |name| matches!(text_of(entry, name), Some("abort" | "block"));
        let has_a_reader = ["on_failure", "on_exhausted"].into_iter().any(ends_something)
            || matches!(value("pipe_output"), Some(Raw::Bool(true)));
        match value(AWAIT) {
            Some(awaits) => matches!(awaits, Raw::Bool(false)),
            None => form == Form::Native && value("dialect").is_none() && !has_a_reader,
        }
    }

    /// Whether an entry is a hook of this type.
    pub(super) fn is(self, entry: &Node) -> bool {
        text_of(entry, "type") == Some(self.kind())
    }
}

/// A field as a JSON value: all are strings except `await`.
fn value_of(key: &str, text: &str) -> Value {
    if key == AWAIT { Value::Bool(text == "true") } else { text.into() }
}

/// A field's text.
pub(super) fn text_of<'n>(entry: &'n Node, key: &str) -> Option<&'n str> {
    let Raw::Map(fields) = &entry.raw else { return None };
    match &fields.iter().find(|field| &*field.key == key)?.value.raw {
        Raw::Text(text) => Some(text),
        _ => None,
    }
}
