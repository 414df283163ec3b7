//! What differs between dialects, as data ([`Policy`]) and as pure functions ([`Wire`]). The engine
//! never asks which dialect it is.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use hookwright_events::{Answer, Event, EventName, Outcome, Power, Status};

use crate::hook::{Exhausted, Hook};
use crate::native::NativeWire;
use crate::template::{Reference, Value};

/// How the hooks of one dialect follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Awaited hooks one by one; the first block ends them.
    OneByOne,
    /// All at once, all awaited unless they say otherwise; they see the values from before, answers
    /// count in order.
    AtOnce,
}

/// The rules that hooks of one dialect follow. Whatever a hook says itself stands above them.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// The dialect, as the field `dialect:` names it.
    pub dialect: &'static str,
    /// How they follow each other.
    pub order: Order,
    /// The user's hooks run before the project's at every event, not only where something can be
    /// blocked.
    pub global_first: bool,
    /// Whether the decision waits for them; where this is open, it depends on what the result is for.
    pub awaits: Option<bool>,
    /// How long they may take; where this is open, it depends on the action.
    pub timeout: Option<Duration>,
    /// What a failure leads to; where this is open, guards fail closed and others go on.
    pub on_failure: Option<Exhausted>,
    /// Whether a shell's own exit code 2 (no such script, a command that it cannot read) is told from
    /// one that blocks on purpose, and means that the hook could not start.
    pub looks_behind_exit_2: bool,
    /// The shell that runs their commands: the first of these that is there.
    pub shells: &'static [&'static str],
    /// How `asyncTimeout` counts, in the line that sends a command to the background.
    pub async_unit: Duration,
    /// At these events their first decision in order counts, not the strongest.
    pub first_decision_at: &'static [EventName],
    /// What they pipe to the agent stands there as it is, without a word of ours.
    pub pipes_raw: bool,
    /// At these events a session survives what went wrong if one of them has looked at it.
    pub survives_errors_at: &'static [EventName],
    /// At these events they run once what was announced has happened, and change nothing about it.
    pub after_the_fact_at: &'static [EventName],
    /// People see all that their commands print, also where all is well.
    pub shows_output: bool,
    /// What they read, what their output means, what is shown of it.
    pub wire: &'static dyn Wire,
}

impl Policy {
    /// The native rules, from which dialects differ.
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

/// What an outcome means once it has been read.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// Success, blocked, failed or timed out.
    pub status: Status,
    /// Why, unless all is well.
    pub reason: Option<String>,
    /// What the hook asks for.
    pub answer: Answer,
    /// Whether trying again could help.
    pub may_retry: bool,
}

/// Where an outcome is read.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The event.
    pub event: &'a Event,
    /// What hooks can do there.
    pub power: Power,
    /// Whether the decision waits for this hook.
    pub awaited: bool,
}

/// Who reads what a [`Wire`] writes: one attempt of one hook.
#[derive(Debug, Clone, Copy)]
pub struct WireReader<'a> {
    /// The event it is told of.
    pub event: &'a Event,
    /// The hook.
    pub hook: &'a Hook,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The project root.
    pub root: &'a Path,
}

/// What a hook reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    /// On standard input, or as the body of a request.
    pub stdin: String,
    /// In its environment, beside the variables that all hooks have. They obey the same limits.
    pub variables: Vec<(Cow<'static, str>, String)>,
}

/// What is known of a dialect's variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableContent {
    /// Its value is a number, one of a few words, or a name that a program made.
    Plain,
    /// Its value may be any text: somebody's words, a command, a file's name.
    FreeText,
}

/// A dialect's wire format: pure functions.
pub trait Wire: fmt::Debug + Send + Sync {
    /// What a hook reads.
    fn input(&self, reader: &WireReader<'_>) -> Input;

    /// What an outcome means at this event.
    fn meaning(&self, outcome: &Outcome, at: At<'_>) -> Meaning;

    /// What the agent is shown of a hook whose output is piped to it.
    fn piped_output(&self, hook: &str, outcome: &Outcome, meaning: &Meaning) -> String;

    /// Where a command runs that does not say so itself; the project root, unless this is a folder.
    fn working_dir<'e>(&self, event: &'e Event) -> Option<&'e Path> {
        let _ = event;
        None
    }

    /// What is known of a variable that [`Wire::input`] may set, so that `check` does not take it for
    /// one that nobody sets.
    fn variable(&self, name: &str) -> Option<VariableContent> {
        let _ = name;
        None
    }

    /// What `{{name}}` stands for in the dialect's texts. Where it is unknown the text stays as it is,
    /// as it does in all texts of dialects that have no `{{name}}`.
    fn reference(&self, name: &str) -> Reference {
        let _ = name;
        Reference::Unknown
    }

    /// The value of a name that is not unknown, at an event.
    fn value<'e>(&self, name: &str, event: &'e Event) -> Value<'e> {
        let _ = (name, event);
        Value::Scalar(Cow::Borrowed(""))
    }
}
