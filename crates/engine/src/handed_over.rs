//! [`HandedOver`]: a hook that nothing waits for, on its way to whoever runs it.
//!
//! A host that ends with its answer cannot run such hooks itself. With [`Background::Elsewhere`] the
//! engine judges them as ever (condition, `once`, order), but does not start them:
//! [`Engine::handed_over`](crate::Engine::handed_over) gives them to the host, and
//! [`Engine::take_over`](crate::Engine::take_over) of another engine with the same hooks, as a rule in
//! a process that outlives the host, starts exactly them.

use hookwright_events::Event;
use serde::{Deserialize, Serialize};

use crate::chain::Chain;
use crate::hook::{Action, Hook};
use crate::variables::Carried;

/// Where hooks run that nothing waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Background {
    /// In this engine.
    #[default]
    Here,
    /// With whoever is given [`Engine::handed_over`](crate::Engine::handed_over). Functions of this
    /// program run here all the same: no other has them.
    Elsewhere,
}

impl Background {
    pub(crate) fn hands_over(self, hook: &Hook) -> bool {
        self == Background::Elsewhere && !matches!(hook.action, Action::Callback(_))
    }
}

/// A hook that was to start, and all that it has to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HandedOver {
    /// The event as the hook sees it.
    pub event: Event,
    /// Which hook it is ([`Hook::key`]).
    pub hook: String,
    /// What that hook was ([`Hook::digest`]): another one must not run in its place.
    pub digest: String,
    /// What earlier hooks left for it.
    pub carried: Carried,
    /// Under which name things are remembered.
    pub session: String,
    /// The firings above its own.
    pub chain: Chain,
    /// Nobody can be asked about what it fires.
    pub nobody_to_ask: bool,
}

impl HandedOver {
    pub(crate) fn is(&self, hook: &Hook) -> bool {
        self.hook == hook.key() && self.digest == hook.digest()
    }
}
