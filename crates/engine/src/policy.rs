//! What differs between dialects, as data ([`Policy`]) and as pure functions ([`Wire`]). The engine
//! never checks which dialect it runs.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use hookwright_events::{Answer, Event, EventName, Outcome, Power, Status};

use crate::hook::{Exhausted, Hook};
use crate::native::NativeWire;
use crate::template::{Reference, Value};

/// The order in which the hooks of one dialect run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Awaited hooks one by one; the first block ends them.
    OneByOne,
    /// All at once, all awaited unless configured otherwise. They see the values from before, and
    /// their answers count in order.
    AtOnce,
}

/// The rules for hooks of one dialect. A hook's own settings override them.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// The dialect's name in the field `dialect:`.
    pub dialect: &'static str,
    /// The order in which they run.
    pub order: Order,
    /// Global hooks run before the project's at every event, not only at those that can be blocked.
    pub global_first: bool,
    /// Whether the decision waits for them; if `None`, it depends on what the result is for.
    pub awaits: Option<bool>,
    /// The default timeout; if `None`, it depends on the action.
    pub timeout: Option<Duration>,
    /// What a failure leads to; if `None`, guards block and others continue.
    pub on_failure: Option<Exhausted>,
    /// Whether exit code 2 of the shell itself (no such script, a syntax error) is told apart from
    /// a deliberate block, and means that the hook could not start.
    pub looks_behind_exit_2: bool,
    /// The shell that runs their commands: the first of these that exists.
    pub shells: &'static [&'static str],
    /// The unit of `asyncTimeout` in the line that moves a command to the background.
    pub async_unit: Duration,
    /// At these events their first decision in order counts, not the strongest.
    pub first_decision_at: &'static [EventName],
    /// Their piped output reaches the agent unchanged, without an added text.
    pub pipes_raw: bool,
    /// At these events a session survives an error if one of these hooks has handled it.
    pub survives_errors_at: &'static [EventName],
    /// At these events they run after what was announced has happened, and change nothing about it.
    pub after_the_fact_at: &'static [EventName],
    /// Users see all output of their commands, even on success.
    pub shows_output: bool,
    /// What they read, what their output means, and what is shown of it.
    pub wire: &'static dyn Wire,
}

impl Policy {
    /// The native rules; dialects differ from them.
    pub const NATIVE: Policy = Policy {
        dialect: "native",
        order: Order::OneByOne,
        global_first: false,
        awaits: None,
        timeout: None,
        on_failure: None,
        looks_behind_exit_2: true,
        shells: &["bash"],
        async_unit: Duration::from_secs(1),
        first_decision_at: &[],
        pipes_raw: false,
        survives_errors_at: &[],
        after_the_fact_at: &[],
        shows_output: false,
        wire: &NativeWire,
    };
}

/// The meaning of an outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// Success, blocked, failed or timed out.
    pub status: Status,
    /// The reason, unless it is a success.
    pub reason: Option<String>,
    /// What the hook asks for.
    pub answer: Answer,
    /// Whether a retry could help.
    pub may_retry: bool,
}

/// The event at which an outcome is read.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The fired event.
    pub event: &'a Event,
    /// What hooks can do at the event.
    pub power: Power,
    /// Whether the decision waits for this hook.
    pub awaited: bool,
}

/// The reader of what a [`Wire`] writes: one attempt of one hook.
#[derive(Debug, Clone, Copy)]
pub struct WireReader<'a> {
    /// The fired event.
    pub event: &'a Event,
    /// The hook that is run.
    pub hook: &'a Hook,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The project root.
    pub root: &'a Path,
}

/// The input of a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WireInput {
    /// Standard input, or the body of a request.
    pub stdin: String,
    /// Environment variables besides those of all hooks. They obey the same limits.
    pub variables: Vec<(Cow<'static, str>, String)>,
}

/// What a dialect's variable may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableContent {
    /// A number, one of a few words, or a generated name.
    Plain,
    /// Any text: a prompt, a command, a file name.
    FreeText,
}

/// A dialect's wire format: pure functions.
pub trait Wire: fmt::Debug + Send + Sync {
    /// The input of a hook.
    fn input(&self, reader: &WireReader<'_>) -> WireInput;

    /// The meaning of an outcome at this event.
    fn meaning(&self, outcome: &Outcome, at: At<'_>) -> Meaning;

    /// What the agent sees of a hook whose output is piped to it.
    fn piped_output(&self, hook: &str, outcome: &Outcome, meaning: &Meaning) -> String;

    /// The default working directory of a command; the project root, if this is `None` or not a
    /// directory.
    fn working_dir<'e>(&self, event: &'e Event) -> Option<&'e Path> {
        let _ = event;
        None
    }

    /// What is known of a variable that [`Wire::input`] may set, so that `check` does not report it
    /// as unset.
    fn variable(&self, name: &str) -> Option<VariableContent> {
        let _ = name;
        None
    }

    /// What `{{name}}` refers to in the dialect's texts. An unknown name stays in the text
    /// unchanged, as do all in dialects that have no `{{name}}`.
    fn reference(&self, name: &str) -> Reference {
        let _ = name;
        Reference::Unknown
    }

    /// The value of a known name at an event.
    fn value<'e>(&self, name: &str, event: &'e Event) -> Value<'e> {
        let _ = (name, event);
        Value::Scalar(Cow::Borrowed(""))
    }
}
