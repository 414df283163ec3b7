//! [`Agent`]: whose settings call us, and how that agent talks to hooks.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
pub(super) use hookwright_dialects::claude::Reply;
use hookwright_dialects::claude::{self, HookInput, InputError, OtherAgentsEvent};
use hookwright_events::{Decision, Event, EventName, EventSpec, Power};

use crate::exit_code;

/// An agent that can call us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code
    Claude,
}

/// Why an agent's text is no event.
pub(super) enum Unreadable {
    /// It is no event at all.
    NoEvent {
        /// What is wrong, and what was expected.
        cause: String,
    },
    /// It is this event, but its data cannot be used.
    BadData { event: EventName, cause: String },
    /// Another agent sent it, in its own form: what that agent is told.
    OtherAgent(Reply),
}

/// Variables that every command has which one of the agents starts.
pub(crate) fn marks_of_agents() -> &'static [&'static str] {
    claude::MARKS
}

impl Agent {
    /// The word for it on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
        }
    }

    /// The agent of this word.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Self::value_variants().iter().copied().find(|agent| agent.word() == word)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Agent::Claude => "Claude Code",
        }
    }

    /// The event that it tells of.
    pub(super) fn read(self, text: &str) -> Result<Event, Unreadable> {
        match self {
            Agent::Claude => match HookInput::parse(text) {
                Ok(input) => Ok(self.with_host(input.into_event())),
                Err(error) => Err(unreadable(&error)),
            },
        }
    }

    /// The event with the name of its host, by which a hook can choose.
    fn with_host(self, mut event: Event) -> Event {
        event.data.insert("host".to_owned(), self.word().into());
        event
    }

    /// The decision as this agent reads it.
    pub(super) fn reply(self, event: &Event, decision: &Decision) -> Reply {
        match self {
            Agent::Claude => Reply::to(event, decision),
        }
    }

    /// Whether its user is shown messages at this event.
    pub(super) fn shows_messages(self, event: &EventName) -> bool {
        match self {
            Agent::Claude => claude::capability::of(event).message,
        }
    }

    /// Whether its model is told contexts at this event.
    pub(super) fn tells_the_model(self, event: &EventName) -> bool {
        match self {
            Agent::Claude => claude::capability::of(event).inject,
        }
    }

    /// How long it waits for us at this event, unless its settings say otherwise.
    pub(super) fn patience(self, event: &EventName) -> Duration {
        match self {
            Agent::Claude => claude::patience(event),
        }
    }

    /// Variables that every command which it starts has.
    pub(super) fn marks(self) -> &'static [&'static str] {
        match self {
            Agent::Claude => claude::MARKS,
        }
    }

    /// Whether it sets this variable for hooks itself.
    pub(super) fn sets_for_hooks(self, name: &str) -> bool {
        match self {
            Agent::Claude => claude::is_set_for_hooks(name),
        }
    }

    /// How long it waits for us at the most impatient event at which a guard may stand, for as long as
    /// the event is not known.
    pub(super) fn least_patience(self) -> Duration {
        let all =
            hookwright_events::table::EVENTS.iter().filter(|spec| spec.power == Power::Blocks);
        all.map(|spec| self.patience(&EventName::from(spec))).min().unwrap_or(Duration::MAX)
    }

    /// The project that it was started in, which stays the same wherever it goes from there.
    pub(super) fn project(self) -> Option<PathBuf> {
        let name = match self {
            Agent::Claude => "CLAUDE_PROJECT_DIR",
        };
        std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
    }
}

/// What the settings of agents call.
pub(crate) const CALL: &str = "hookwright hook claude";

/// The page that says how to set it up.
pub(crate) const PAGE_OF_CALL: &str = "docs/claude-code.md";

/// What agents call when this happens in them.
pub(crate) fn calls_for(spec: &EventSpec) -> Option<&'static str> {
    spec.claude.map(|_| CALL)
}

fn unreadable(error: &InputError) -> Unreadable {
    let cause = error.to_string();
    match error {
        InputError::BadField { name, .. } => match EventName::resolve(name) {
            Some(event) => Unreadable::BadData { event, cause },
            None => Unreadable::NoEvent { cause },
        },
        InputError::OtherAgent(event) => Unreadable::OtherAgent(refusal(event)),
        InputError::NoObject(_) | InputError::NoName | InputError::BadName { .. } => {
            Unreadable::NoEvent { cause }
        }
    }
}

/// What another agent is told that calls us as Claude Code does. Where hooks could have blocked, this
/// blocks, since none has looked.
fn refusal(event: &OtherAgentsEvent) -> Reply {
    let agent = event.agent;
    let reason = format!(
        "{event}, so no hook looked at it; remove `hookwright hook claude` from the settings of {agent}"
    );
    match event.can_block {
        true => Reply::deny_to_any_agent(&reason),
        false => Reply {
            stderr: format!("{reason}\n"),
            exit_code: exit_code::OUR_FAULT,
            ..Reply::default()
        },
    }
}
