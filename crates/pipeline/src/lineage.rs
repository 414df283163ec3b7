//! [`Lineage`]: the sessions above a session, each with the hook that started the next.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{CHILDREN_IN_BACKGROUND_MAX, SPAWN_DEPTH_MAX};

/// The sessions above a session, outermost first; empty if a person started it.
#[derive(Debug, Clone)]
pub(crate) struct Lineage {
    above: Vec<ParentSession>,
    /// Slots for background sessions, by depth. A session that holds one waits only for deeper
    /// sessions, so none waits for itself.
    background: Arc<[Arc<Semaphore>]>,
}

/// A session whose hook has started the next.
#[derive(Debug, Clone)]
pub(crate) struct ParentSession {
    /// The loop or pipeline that it runs.
    pub(crate) plan: String,
    /// The file of the loop or pipeline.
    pub(crate) file: PathBuf,
    /// The hook that started the next session ([`Hook::key`](hookwright_engine::Hook::key)).
    pub(crate) hook: String,
}

impl Default for Lineage {
    fn default() -> Self {
        let places = || Arc::new(Semaphore::new(CHILDREN_IN_BACKGROUND_MAX));
        let background = (0..=SPAWN_DEPTH_MAX).map(|_| places()).collect();
        Self { above: Vec::new(), background }
    }
}

impl Lineage {
    /// The lineage of a session that a hook of this one starts.
    pub(crate) fn with(&self, parent: ParentSession) -> Self {
        let mut longer = self.clone();
        longer.above.push(parent);
        longer
    }

    /// The hooks that started it and the sessions above it.
    pub(crate) fn hooks(&self) -> Vec<String> {
        self.above.iter().map(|ancestor| ancestor.hook.clone()).collect()
    }

    /// Why a session with this lineage may not run this file; `None` if it may.
    pub(crate) fn refusal(&self, plan: &str, file: &Path) -> Option<String> {
        let names = self.above.iter().map(|ancestor| ancestor.plan.as_str());
        let chain = || names.clone().chain([plan]).collect::<Vec<_>>().join(" → ");
        if self.above.iter().any(|ancestor| ancestor.file == file) {
            return Some(format!("`{plan}` would start itself again: {}", chain()));
        }
        (self.above.len() > SPAWN_DEPTH_MAX)
            .then(|| format!("sessions are already nested {SPAWN_DEPTH_MAX} deep: {}", chain()))
    }

    /// A slot for a background session of this lineage; waits until one is free.
    pub(crate) async fn place_in_background(&self) -> OwnedSemaphorePermit {
        let depth = self.above.len().min(SPAWN_DEPTH_MAX);
        let places = Arc::clone(&self.background[depth]);
        places.acquire_owned().await.expect("places are never closed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ancestor(name: &str) -> ParentSession {
        let hook = format!("{name}.yaml#x");
        ParentSession { plan: name.to_owned(), file: format!("/p/{name}.yaml").into(), hook }
    }

    #[test]
    fn a_session_does_not_run_again_below_itself_and_the_chain_is_named() {
        let lineage = Lineage::default().with(ancestor("a")).with(ancestor("b"));
        let said = |name: &str| lineage.refusal(name, Path::new(&format!("/p/{name}.yaml")));
        assert_eq!(said("a").as_deref(), Some("`a` would start itself again: a → b → a"));
        assert_eq!(said("b").as_deref(), Some("`b` would start itself again: a → b → b"));
        assert_eq!(said("c"), None);
        assert_eq!(lineage.hooks(), ["a.yaml#x", "b.yaml#x"]);
    }

    #[test]
    fn sessions_are_five_deep_at_most() {
        let mut lineage = Lineage::default();
        for name in ["0", "1", "2", "3", "4"] {
            lineage = lineage.with(ancestor(name));
        }
        assert_eq!(lineage.refusal("5", Path::new("/p/5.yaml")), None);
        let lineage = lineage.with(ancestor("5"));
        assert_eq!(
            lineage.refusal("6", Path::new("/p/6.yaml")).as_deref(),
            Some("sessions are already nested 5 deep: 0 → 1 → 2 → 3 → 4 → 5 → 6")
        );
    }
}
