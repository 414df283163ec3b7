//! [`RunEvent`]: the one stream that screen, `--json`, journal and pages all read.
//!
//! It has three levels: what happens in a firing ([`FiringEvent`]), in an agent's turn
//! ([`TurnEvent`]) and to a session as a whole ([`SessionEvent`]). A reader of one level matches
//! that level only. In JSON all levels look alike: one flat object, with the name of the event as
//! `kind`.

mod firing;
mod line;
mod session;
mod turn;

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub use self::firing::FiringEvent;
use self::line::{OrderedLine, RunLevel};
pub use self::session::{PauseCause, SessionEvent};
pub use self::turn::TurnEvent;
use crate::turn::Usage;

/// The version in every JSON record.
pub const VERSION: u32 = 1;

/// One thing that happened in a run. [`from_json`](Self::from_json) reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunEvent {
    /// [`VERSION`].
    pub version: u32,
    /// The number of the firing within its session.
    pub firing: u64,
    /// The time, ISO 8601 in UTC.
    pub at: String,
    /// The session's name, if there is one.
    pub session: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub kind: RunEventKind,
}

/// What happened, by level.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RunEventKind {
    /// In a firing.
    Firing(FiringEvent),
    /// In an agent's turn.
    Turn(TurnEvent),
    /// To the session as a whole.
    Session(SessionEvent),
}

impl From<FiringEvent> for RunEventKind {
    fn from(event: FiringEvent) -> Self {
        Self::Firing(event)
    }
}

impl From<TurnEvent> for RunEventKind {
    fn from(event: TurnEvent) -> Self {
        Self::Turn(event)
    }
}

impl From<SessionEvent> for RunEventKind {
    fn from(event: SessionEvent) -> Self {
        Self::Session(event)
    }
}

impl RunEvent {
    /// Reads a line of a journal or of `--json`.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        if let Ok(OrderedLine(event)) = serde_json::from_str(text) {
            return Ok(event);
        }
        // Its fields are in another order, or it is invalid; then this returns the error.
        #[derive(Deserialize)]
        struct KindOnly<'t> {
            #[serde(borrow)]
            kind: Cow<'t, str>,
        }
        let KindOnly { kind } = serde_json::from_str(text)?;
        match RunLevel::of_kind(&kind) {
            RunLevel::Firing => Self::of_level::<FiringEvent>(text),
            RunLevel::Turn => Self::of_level::<TurnEvent>(text),
            RunLevel::Session => Self::of_level::<SessionEvent>(text),
        }
    }

    fn of_level<'t, L>(text: &'t str) -> Result<Self, serde_json::Error>
    where
        L: Deserialize<'t> + Into<RunEventKind>,
    {
        #[derive(Deserialize)]
        struct AnyOrderLine<L> {
            version: u32,
            firing: u64,
            at: String,
            session: Option<String>,
            #[serde(flatten)]
            level: L,
        }
        let AnyOrderLine::<L> { version, firing, at, session, level } = serde_json::from_str(text)?;
        Ok(Self { version, firing, at, session, kind: level.into() })
    }
}

/// For formats other than JSON text, which [`RunEvent::from_json`] reads faster.
impl<'de> Deserialize<'de> for RunEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let event = Value::deserialize(deserializer)?;
        Self::from_json(&event.to_string()).map_err(D::Error::custom)
    }
}

impl RunEventKind {
    /// Whether the journal stores it.
    pub fn is_journalled(&self) -> bool {
        !matches!(
            self,
            RunEventKind::Firing(FiringEvent::TakenUp { .. } | FiringEvent::HookOutput { .. })
                | RunEventKind::Turn(
                    TurnEvent::AgentPrompted { .. } | TurnEvent::AgentOutput { .. }
                )
        )
    }

    /// The usage that this event reports.
    pub fn used(&self) -> Option<Usage> {
        match self {
            RunEventKind::Turn(TurnEvent::TurnEnded { result, .. }) => result.usage,
            RunEventKind::Turn(TurnEvent::TurnGivenUp { usage, .. }) => *usage,
            RunEventKind::Firing(FiringEvent::ChildUsed { usage, .. }) => Some(*usage),
            _ => None,
        }
    }

    /// Removes and returns what is shown but must not be stored.
    pub fn take_unkept(&mut self) -> Option<String> {
        match self {
            RunEventKind::Firing(FiringEvent::HookWaiting { url, .. }) => url.take(),
            _ => None,
        }
    }

    /// Puts back what [`take_unkept`](Self::take_unkept) removed.
    pub fn give_back(&mut self, unkept: Option<String>) {
        if let RunEventKind::Firing(FiringEvent::HookWaiting { url, .. }) = self {
            *url = unkept;
        }
    }
}

#[cfg(test)]
mod tests;
