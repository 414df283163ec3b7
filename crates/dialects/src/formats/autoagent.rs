//! AutoAgent: hooks around the execution of issues, in `.autoagent/config.json`.
//!
//! Its hooks are commands or one of two git actions. They run one after the other and are always
//! awaited. Exit code 2 or a JSON `decision` blocks, if the event can be blocked; any other failure
//! is shown and stops nothing, unless the hook says `blocking: true`.

mod config;
mod event;
mod files;
mod reply;

use std::path::Path;
use std::time::Duration;

use hookwright_config::{Dialect, ForeignFile, Loaded};
use hookwright_engine::hook::{Action, Exhausted, Hook};
use hookwright_engine::policy::{At, Meaning, Policy, Wire, WireInput, WireReader};
use hookwright_engine::template::{Reference, Value};
use hookwright_engine::variables::Environment;
use hookwright_events::{Event, EventSpec, Outcome};

use crate::{Foreign, Location, Whereabouts};
use reply::Blocking;

/// AutoAgent's files and rules.
#[derive(Debug)]
pub(crate) struct AutoAgent;

impl Dialect for AutoAgent {
    fn policy(&self) -> &'static Policy {
        policy(None)
    }

    fn read(&self, files: &[ForeignFile<'_>], environment: &Environment, loaded: &mut Loaded) {
        config::read(files, environment, loaded);
    }
}

impl Foreign for AutoAgent {
    fn locations(&self, whereabouts: &Whereabouts<'_>) -> Vec<Location> {
        files::locations(whereabouts)
    }

    fn owns(&self, path: &Path) -> bool {
        files::owns(path)
    }

    fn differences(&self, hook: &Hook) -> Vec<&'static str> {
        let is_command = matches!(hook.action, Action::Shell(_));
        let says_blocking = !std::ptr::eq(hook.policy, policy(None));
        let known = [
            (
                is_command,
                "it reads its JSON under AutoAgent's names, and its output is shown to people",
            ),
            (says_blocking, "its `blocking` has no native form: only an explicit block blocks"),
        ];
        known.into_iter().filter(|(is_so, _)| *is_so).map(|(_, difference)| difference).collect()
    }

    fn variable(&self, name: &str, event: &'static EventSpec) -> Option<&'static str> {
        event::variable(name, event)
    }
}

const NAME: &str = "autoagent";

/// Default timeout of a hook.
const TIMEOUT: Duration = Duration::from_millis(60_000);

/// The policy of a hook, by its field `blocking`.
fn policy(blocking: Option<bool>) -> &'static Policy {
    static ON_PURPOSE: Policy = Policy { wire: &AutoAgentWire(Blocking::OnPurpose), ..RULES };
    static NEVER: Policy = Policy { wire: &AutoAgentWire(Blocking::Never), ..RULES };
    static ALSO_BROKEN: Policy = Policy { wire: &AutoAgentWire(Blocking::AlsoBroken), ..RULES };
    match blocking {
        None => &ON_PURPOSE,
        Some(false) => &NEVER,
        Some(true) => &ALSO_BROKEN,
    }
}

/// The policy that all of its hooks share.
const RULES: Policy = Policy {
    dialect: NAME,
    awaits: Some(true),
    timeout: Some(TIMEOUT),
    on_failure: Some(Exhausted::Continue),
    shells: &["sh"],
    shows_output: true,
    ..Policy::NATIVE
};

#[derive(Debug)]
struct AutoAgentWire(Blocking);

impl Wire for AutoAgentWire {
    fn input(&self, reader: &WireReader<'_>) -> WireInput {
        WireInput { stdin: event::stdin(reader.event), ..WireInput::default() }
    }

    fn meaning(&self, outcome: &Outcome, at: At<'_>) -> Meaning {
        reply::meaning(self.0, outcome, at)
    }

    fn piped_output(&self, _hook: &str, outcome: &Outcome, meaning: &Meaning) -> String {
        reply::piped_output(outcome, meaning)
    }

    fn reference(&self, name: &str) -> Reference {
        event::reference(name)
    }

    fn value<'e>(&self, name: &str, event: &'e Event) -> Value<'e> {
        event::value(name, event)
    }
}
