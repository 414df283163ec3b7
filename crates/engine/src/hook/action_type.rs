//! [`ActionType`]: what dispatch, readers, schema and lists have to know about a type of action.
//! Each type defines its row in `action.rs`.

use std::time::Duration;

use crate::limits::{COMMAND_TIMEOUT, RETRIES};

/// What differs between the types of actions, besides what they do.
#[derive(Debug)]
pub struct ActionType {
    /// The word in configurations and reports.
    pub name: &'static str,
    /// The configuration keys that only hooks of this type have.
    pub keys: &'static [ActionKey],
    /// The key that implies the type if `type` is missing.
    pub implied_by: Option<&'static str>,
    /// The default timeout.
    pub timeout: Duration,
    /// The default timeout with `await: true`.
    pub awaited_timeout: Duration,
    /// The default number of retries.
    pub retries: u32,
    /// It sends a request. A request is retried whatever its failure leads to, after growing
    /// delays, and `await` refers to a person's answer.
    pub is_request: bool,
    /// It starts a session. Later hooks can use the session's output, so the decision waits for it
    /// at every event. The session does not start itself again.
    pub starts_session: bool,
    /// The setting that keeps a failed hook of this type from blocking.
    pub way_out: &'static str,
    /// Why this program cannot run it.
    pub missing: Option<&'static str>,
}

impl ActionType {
    /// The row for commands; the other types differ from it.
    pub(super) const COMMAND: ActionType = ActionType {
        name: "shell",
        keys: &[],
        implied_by: None,
        timeout: COMMAND_TIMEOUT,
        awaited_timeout: COMMAND_TIMEOUT,
        retries: RETRIES,
        is_request: false,
        starts_session: false,
        way_out: "make it exit with 0, or set on_failure: continue",
        missing: None,
    };
}

/// A key of a hook in a file: its name, its value and its purpose.
#[derive(Debug)]
pub struct ActionKey(pub &'static str, pub KeyValue, pub &'static str);

/// The value of a key, for editors.
#[derive(Debug)]
pub enum KeyValue {
    /// A text.
    Text,
    /// `true` or `false`.
    Switch,
    /// A duration.
    Duration,
    /// A map from names to texts, numbers or booleans.
    Texts,
    /// A map.
    Map,
    /// Any JSON value.
    Json,
    /// A port number.
    Port,
    /// One of these words.
    Words(&'static [&'static str]),
}
