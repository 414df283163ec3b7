//! [`GitHook`]: the two hooks to switch on and off, as each [`Form`] of file writes them.

use hookwright_config::tree::{Field, Node, Raw};
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
            Form::AutoAgent => name == self.point(),
        }
    }
}

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

    /// The hook as JSON; in a list with hooks of all events it names its own. AutoAgent awaits all its
    /// hooks. In a native file a hook at this point runs in the background by default, and then commit,
    /// push and the next work item would run at the same time.
    pub(super) fn value(self, form: Form, names_event: bool) -> Map<String, Value> {
        let (key, text) = match (self, form) {
            (GitHook::Commit, Form::Native) => {
                ("message", "Complete issue #${ISSUE_NUMBER}: ${ISSUE_TITLE}")
            }
            (GitHook::Commit, Form::AutoAgent) => {
                ("message", "Complete issue #{{issueNumber}}: {{issueTitle}}")
            }
            (GitHook::Push, Form::Native | Form::AutoAgent) => ("remote", "origin"),
        };
        let event = names_event.then_some(("event", form.point()));
        let texts = event.into_iter().chain([("type", self.kind()), (key, text)]);
        let mut hook: Map<String, Value> =
            texts.map(|(key, text)| (key.to_owned(), text.into())).collect();
        if form == Form::Native {
            hook.insert("await".to_owned(), true.into());
        }
        hook
    }

    /// Whether an existing hook runs in the background.
    pub(super) fn is_in_background(entry: &Node, form: Form) -> bool {
        let value = |name: &str| Some(&field(entry, |key| key == name)?.value.raw);
        let ends_something = |name| matches!(text_of(entry, name), Some("abort" | "block"));
        let has_a_reader = ["on_failure", "on_exhausted"].into_iter().any(ends_something)
            || matches!(value("pipe_output"), Some(Raw::Bool(true)));
        match value("await") {
            Some(awaits) => matches!(awaits, Raw::Bool(false)),
            None => form == Form::Native && value("dialect").is_none() && !has_a_reader,
        }
    }

    /// Whether an entry is a hook of this type.
    pub(super) fn is(self, entry: &Node) -> bool {
        text_of(entry, "type") == Some(self.kind())
    }
}

/// The field with such a key.
pub(super) fn field(node: &Node, is_key: impl Fn(&str) -> bool) -> Option<&Field> {
    match &node.raw {
        Raw::Map(fields) => fields.iter().find(|field| is_key(&field.key)),
        _ => None,
    }
}

/// A field's text.
pub(super) fn text_of<'n>(entry: &'n Node, name: &str) -> Option<&'n str> {
    match &field(entry, |key| key == name)?.value.raw {
        Raw::Text(text) => Some(text),
        _ => None,
    }
}
