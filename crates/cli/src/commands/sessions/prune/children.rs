//! Sessions that hooks started, by parent: read once for all sessions to delete.

use std::collections::HashMap;

use crate::known_session::KnownSession;

/// Sessions by project and parent.
#[derive(Default)]
pub(super) struct PrunedChildren {
    by_parent: HashMap<(String, String), Vec<KnownSession>>,
}

impl PrunedChildren {
    /// Adds a session, unless it has no parent.
    pub(super) fn add(&mut self, session: KnownSession) {
        let Some(parent) = &session.record.parent else { return };
        let key = (session.record.project().to_owned(), parent.session.clone());
        self.by_parent.entry(key).or_default().push(session);
    }

    /// The children of this session and their children, each before its parent.
    pub(super) fn below(&self, project: &str, name: &str) -> Vec<&KnownSession> {
        let (mut found, mut names) = (Vec::new(), vec![name.to_owned()]);
        while let Some(name) = names.pop() {
            let children = self.by_parent.get(&(project.to_owned(), name));
            for child in children.into_iter().flatten() {
                names.push(child.name().to_owned());
                found.push(child);
            }
        }
        found.reverse();
        found
    }
}
