//! [`ActionType`]: what dispatch, readers, schema and lists have to know of a type of action. Each type
//! says it in `action.rs`.

use std::time::Duration;

use crate::limits::{COMMAND_TIMEOUT, RETRIES};

/// What differs between the types of actions, beside what they do.
#[derive(Debug)]
pub struct ActionType {
    /// The word for it in configurations and reports.
    pub name: &'static str,
    /// The keys of a file that only hooks of this type have.
    pub keys: &'static [ActionKey],
    /// The key that tells the type of a hook without `type`.
    pub told_by: Option<&'static str>,
    /// How long it may take, unless the hook says.
    pub timeout: Duration,
    /// The same with `await: true`.
    pub awaited_timeout: Duration,
    /// Extra attempts where it is tried again, unless the hook says.
    pub retries: u32,
    /// It sends a request: that is tried again whatever a failure leads to in the end, after delays
    /// that grow, and `await` is about a person's answer.
    pub is_request: bool,
    /// It starts a session. What that leaves is for later hooks, so that the decision waits for it at
    /// every event; and the session does not start itself again.
    pub starts_session: bool,
    /// What keeps a hook of this type from blocking because of its failure.
    pub way_out: &'static str,
    /// Why this program cannot run it.
    pub missing: Option<&'static str>,
}

impl ActionType {
    /// What commands have, from which the others differ.
    pub(super) const COMMAND: ActionType = ActionType {
        name: "shell",
        keys: &[],
        told_by: None,
        timeout: COMMAND_TIMEOUT,
        awaited_timeout: COMMAND_TIMEOUT,
        retries: RETRIES,
        is_request: false,
        starts_session: false,
        way_out: "make it exit with 0, or set on_failure: continue",
        missing: None,
    };
}

/// A key of a hook in a file: its name, what may stand there, and what it is for.
#[derive(Debug)]
pub struct ActionKey(pub &'static str, pub KeyValue, pub &'static str);

/// What may stand at a key, as far as editors are told.
#[derive(Debug)]
pub enum KeyValue {
    /// A text.
    Text,
    /// `true` or `false`.
    Switch,
    /// A duration.
    Duration,
    /// A map from names to texts, numbers and booleans.
    Texts,
    /// A map.
    Map,
    /// Anything.
    Json,
    /// A number of a port.
    Port,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// What an action says of itself.
pub(super) trait Described {
    fn action_type(&self) -> &'static ActionType;

    fn summary(&self) -> &str;

    fn details(&self, details: &mut Details);
}

/// Names and values, for people who have to trust an action.
#[derive(Default)]
pub(super) struct Details {
    pub(super) all: Vec<(&'static str, String)>,
}

impl Details {
    pub(super) fn put(&mut self, name: &'static str, value: Option<impl Into<String>>) {
        self.all.extend(value.map(|value| (name, value.into())));
    }

    pub(super) fn put_switch(&mut self, name: &'static str, is_on: bool) {
        self.put(name, is_on.then_some("true"));
    }
}
