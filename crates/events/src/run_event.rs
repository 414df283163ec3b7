//! [`RunEvent`]: the one stream that screen, `--json`, journal and pages all read.
//!
//! It has three levels: what happens in a firing ([`FiringEvent`]), in an agent's turn ([`TurnEvent`])
//! and to a session as a whole ([`SessionEvent`]). A reader that cares about one level matches that
//! level only. In JSON all levels are alike: one flat object, with the name of what happened as `kind`.

mod firing;
mod session;
mod turn;

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub use self::firing::FiringEvent;
pub use self::session::{PauseCause, SessionEvent};
pub use self::turn::TurnEvent;
use crate::turn::Usage;

/// The version that every JSON record of ours carries.
pub const VERSION: u32 = 1;

/// One thing that happened in a run. [`from_json`](Self::from_json) reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunEvent {
    /// [`VERSION`].
    pub version: u32,
    /// Number of the firing within its session.
    pub firing: u64,
    /// When, ISO 8601 in UTC.
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
    /// The event that a line of a journal or of `--json` tells.
    ///
    /// The text is read twice, and nothing is kept in between: first for the name of what happened,
    /// which says the level, then as an event of that level.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Head<'t> {
            version: u32,
            firing: u64,
            at: String,
            session: Option<String>,
            #[serde(borrow)]
            kind: Cow<'t, str>,
        }
        let Head { version, firing, at, session, kind } = serde_json::from_str(text)?;
        let kind = match &*kind {
            "fired" | "taken_up" | "late_answer" | "decided" | "remembered" | "child_used" => {
                RunEventKind::Firing(serde_json::from_str(text)?)
            }
            kind if kind.starts_with("hook_") => RunEventKind::Firing(serde_json::from_str(text)?),
            kind if kind.starts_with("turn_")
                || kind.starts_with("agent_")
                || kind == "final_delivery" =>
            {
                RunEventKind::Turn(serde_json::from_str(text)?)
            }
            _ => RunEventKind::Session(serde_json::from_str(text)?),
        };
        Ok(Self { version, firing, at, session, kind })
    }
}

/// For other formats than JSON text, which [`RunEvent::from_json`] reads faster.
impl<'de> Deserialize<'de> for RunEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let event = Value::deserialize(deserializer)?;
        Self::from_json(&event.to_string()).map_err(D::Error::custom)
    }
}

impl RunEventKind {
    /// Whether the journal keeps it.
    pub fn is_journalled(&self) -> bool {
        !matches!(
            self,
            RunEventKind::Firing(FiringEvent::TakenUp { .. } | FiringEvent::HookOutput { .. })
                | RunEventKind::Turn(
                    TurnEvent::AgentPrompted { .. } | TurnEvent::AgentOutput { .. }
                )
        )
    }

    /// What this tells that was used.
    pub fn used(&self) -> Option<Usage> {
        match self {
            RunEventKind::Turn(TurnEvent::TurnEnded { result, .. }) => result.usage,
            RunEventKind::Turn(TurnEvent::TurnGivenUp { usage, .. }) => *usage,
            RunEventKind::Firing(FiringEvent::ChildUsed { usage, .. }) => Some(*usage),
            _ => None,
        }
    }

    /// Takes out what is shown but must not be kept, and gives it.
    pub fn take_unkept(&mut self) -> Option<String> {
        match self {
            RunEventKind::Firing(FiringEvent::HookWaiting { url, .. }) => url.take(),
            _ => None,
        }
    }

    /// Puts back what [`take_unkept`](Self::take_unkept) gave.
    pub fn give_back(&mut self, unkept: Option<String>) {
        if let RunEventKind::Firing(FiringEvent::HookWaiting { url, .. }) = self {
            *url = unkept;
        }
    }
}

#[cfg(test)]
mod tests;
