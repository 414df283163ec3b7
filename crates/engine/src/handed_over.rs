//! [`HandedOver`]: a background hook on its way to the process that runs it.
//!
//! A host that exits after its answer cannot run background hooks itself. With
//! [`Background::Elsewhere`] the engine checks them as usual (condition, `once`, order), but does
//! not start them. [`Engine::handed_over`](crate::Engine::handed_over) returns them to the host.
//! [`Engine::take_over`](crate::Engine::take_over) of another engine with the same hooks, usually
//! in a process that outlives the host, starts exactly those.

use hookwright_events::Event;
use serde::{Deserialize, Serialize};

use crate::chain::Chain;
use crate::hook::{Action, Hook};
use crate::variables::Carried;

/// Where background hooks run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Background {
    /// In this engine.
    #[default]
    Here,
    /// In the process that receives [`Engine::handed_over`](crate::Engine::handed_over). Functions
    /// of this program still run here, since no other process has them.
    Elsewhere,
}

impl Background {
    pub(crate) fn hands_over(self, hook: &Hook) -> bool {
        self == Background::Elsewhere && !matches!(hook.action, Action::Callback(_))
    }
}

/// A hook to start, with its input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandedOver {
    /// The event as the hook sees it.
    pub event: Event,
    /// Identifies the hook ([`Hook::key`]).
    pub hook: String,
    /// The hook's [`Hook::digest`]: a changed hook must not run in its place.
    pub digest: String,
    /// What earlier hooks left for it.
    pub carried: Carried,
    /// The session's name, under which the engine remembers things.
    pub session: String,
    /// The number of its firing in the engine that handed it over.
    pub firing: u64,
    /// The hooks above its firing.
    pub chain: Chain,
    /// No person can approve anything that it fires.
    #[serde(rename = "nobody_to_ask")]
    pub no_approver: bool,
}

impl HandedOver {
    pub(crate) fn is(&self, hook: &Hook) -> bool {
        self.hook == hook.key() && self.digest == hook.digest()
    }
}
