//! [`Chain`]: the hooks whose actions led to a firing.
//!
//! A hook's command may fire events itself. The chain travels in the environment
//! (`HOOKWRIGHT_CHAIN`), so that a circle is found across processes too.
//!
//! Any process can set that variable, so a chain read from text is only *claimed*. A claimed chain
//! can keep a hook from starting, but it never lets an event pass: if the event can be blocked, it
//! is. [`Chain::proven`] is for a caller that has checked the processes above it.

use std::fmt;
use std::path::Path;

use hookwright_events::EventName;
use serde::{Deserialize, Serialize};

/// The environment variable that carries the chain to a hook's processes.
pub const CHAIN_VARIABLE: &str = "HOOKWRIGHT_CHAIN";

/// The hooks that run above this firing, outermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<ChainLink>", into = "Vec<ChainLink>")]
pub struct Chain {
    links: Vec<ChainLink>,
    /// It was read from text that any process could have written.
    is_claimed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ChainLink {
    event: String,
    hook: String,
    /// The file that configures the hook: two projects may use the same id.
    #[serde(default)]
    file: String,
}

impl From<Vec<ChainLink>> for Chain {
    fn from(links: Vec<ChainLink>) -> Self {
        Self { links, is_claimed: true }
    }
}

impl From<Chain> for Vec<ChainLink> {
    fn from(chain: Chain) -> Self {
        chain.links
    }
}

impl ChainLink {
    fn new(event: &EventName, hook: &str, file: &Path) -> Self {
        let file = file.to_string_lossy().into_owned();
        Self { event: event.to_string(), hook: hook.to_owned(), file }
    }
}

impl Chain {
    /// Reads the chain from an environment variable's value, as a claim. Invalid text counts as an
    /// empty chain: every hook runs.
    pub fn from_text(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The same chain, for a caller that knows that these hooks really run above it.
    pub fn proven(self) -> Self {
        Self { is_claimed: false, ..self }
    }

    /// Whether the chain was read from text and not proven since.
    pub fn is_claimed(&self) -> bool {
        self.is_claimed
    }

    /// The chain as the environment variable's value.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a chain is plain text")
    }

    /// This chain with one more hook.
    pub fn with(&self, event: &EventName, hook: &str, file: &Path) -> Self {
        let mut longer = self.clone();
        longer.links.push(ChainLink::new(event, hook, file));
        longer
    }

    /// The number of hooks above this firing.
    pub fn depth(&self) -> usize {
        self.links.len()
    }

    /// The circle that running this hook at this event would close.
    pub fn circle(&self, event: &EventName, hook: &str, file: &Path) -> Option<String> {
        let again = ChainLink::new(event, hook, file);
        let start = self.links.iter().position(|link| *link == again)?;
        let links = self.links[start..].iter().chain([&again]);
        Some(links.map(ChainLink::to_string).collect::<Vec<_>>().join(" → "))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.links.iter().map(ChainLink::to_string).collect::<Vec<_>>().join(" → "))
    }
}

impl fmt::Display for ChainLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.event, self.hook)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> EventName {
        EventName::resolve(name).expect("known")
    }

    #[test]
    fn a_cycle_is_named_from_its_beginning() {
        let chain = Chain::default()
            .with(&name("session:start"), "outer", Path::new("a.yaml"))
            .with(&name("tool:pre_execute"), "a", Path::new("a.yaml"))
            .with(&name("tool:error"), "b", Path::new("a.yaml"));
        assert_eq!(
            chain.circle(&name("tool:pre_execute"), "a", Path::new("a.yaml")).as_deref(),
            Some("tool:pre_execute (a) → tool:error (b) → tool:pre_execute (a)")
        );
        assert_eq!(chain.circle(&name("tool:post_execute"), "a", Path::new("a.yaml")), None);
        assert_eq!(chain.circle(&name("tool:pre_execute"), "c", Path::new("a.yaml")), None);
        // The same id in another project's file is another hook.
        assert_eq!(chain.circle(&name("tool:pre_execute"), "a", Path::new("b.yaml")), None);
        assert_eq!(chain.depth(), 3);
    }

    #[test]
    fn a_chain_from_the_environment_is_a_claim_and_nonsense_is_an_empty_chain() {
        let chain = Chain::default().with(
            &name("session:start"),
            "id with \" > ] in it",
            Path::new("a.yaml"),
        );
        assert!(!chain.is_claimed());
        let read = Chain::from_text(&chain.to_text());
        assert!(read.is_claimed());
        let longer = read.with(&name("tool:error"), "next", Path::new("a.yaml"));
        assert!(longer.is_claimed(), "a link more proves nothing");
        assert_eq!(read.proven(), chain);
        assert_eq!(Chain::from_text("nonsense"), Chain::default());
    }
}
