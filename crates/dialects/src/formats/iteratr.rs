//! iteratr: shell commands at six points of a loop, in `.iteratr.hooks.yml`.
//!
//! Hooks are awaited one after the other, and none can stop anything: every failure becomes text.
//! Piped output reaches the agent unchanged. After a failed iteration the session continues if a
//! hook at `on_error` has run.

mod config;
mod event;
mod files;
mod reply;

use std::path::Path;
use std::time::Duration;

use hookwright_config::{Dialect, ForeignFile, Loaded};
use hookwright_engine::hook::{Exhausted, Hook};
use hookwright_engine::policy::{At, Meaning, Policy, Wire, WireInput, WireReader};
use hookwright_engine::template::{Reference, Value};
use hookwright_engine::variables::Environment;
use hookwright_events::{Event, EventName, EventSpec, Outcome};

use crate::{Foreign, Location, Whereabouts};

/// The event at which a hook can let a session continue.
const ERROR: EventName = EventName::ITERATION_ERROR;

/// The event at which a hook can no longer change anything.
const TASK: EventName = EventName::TASK_COMPLETE;

/// The policy of iteratr's hooks.
static POLICY: Policy = Policy {
    dialect: "iteratr",
    awaits: Some(true),
    timeout: Some(Duration::from_secs(30)),
    on_failure: Some(Exhausted::Continue),
    looks_behind_exit_2: false,
    shells: &["sh"],
    pipes_raw: true,
    survives_errors_at: &[ERROR],
    after_the_fact_at: &[TASK],
    wire: &IteratrWire,
    ..Policy::NATIVE
};

/// iteratr.
#[derive(Debug)]
pub struct Iteratr;

impl Dialect for Iteratr {
    fn policy(&self) -> &'static Policy {
        &POLICY
    }

    fn read(&self, files: &[ForeignFile<'_>], environment: &Environment, loaded: &mut Loaded) {
        for file in files {
            config::read(file, environment, loaded);
        }
    }
}

impl Foreign for Iteratr {
    fn locations(&self, whereabouts: &Whereabouts<'_>) -> Vec<Location> {
        files::locations(whereabouts)
    }

    fn owns(&self, path: &Path) -> bool {
        files::owns(path)
    }

    fn differences(&self, hook: &Hook) -> Vec<&'static str> {
        let is_at = |name: EventName| hook.pattern.any(|event| name == event.into());
        let known = [
            (
                hook.pipe_output,
                "its piped output reaches the agent unchanged, in iteratr's wording",
            ),
            (is_at(ERROR), "a session continues after an error that the hook handled"),
            (is_at(TASK), "exit code 2 does not reopen a finished task"),
        ];
        known.into_iter().filter(|(is_so, _)| *is_so).map(|(_, difference)| difference).collect()
    }

    fn variable(&self, name: &str, event: &'static EventSpec) -> Option<&'static str> {
        event::variable(name, event)
    }
}

/// The input of its hooks, and the meaning of their outcomes.
#[derive(Debug)]
struct IteratrWire;

impl Wire for IteratrWire {
    /// Only the environment: its hooks have no standard input.
    fn input(&self, _reader: &WireReader<'_>) -> WireInput {
        WireInput::default()
    }

    fn meaning(&self, outcome: &Outcome, _at: At<'_>) -> Meaning {
        reply::meaning(outcome)
    }

    fn piped_output(&self, _hook: &str, outcome: &Outcome, _meaning: &Meaning) -> String {
        reply::piped_output(outcome)
    }

    fn reference(&self, name: &str) -> Reference {
        event::reference(name)
    }

    fn value<'e>(&self, name: &str, event: &'e Event) -> Value<'e> {
        event::value(name, event)
    }
}
