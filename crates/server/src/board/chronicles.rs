//! [`Chronicles`]: a cache of the journals that pages have shown, so that they are not read again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_store::JournalKey;

use super::chronicle::Chronicle;
use crate::limits;

/// The most recently used journals.
#[derive(Default)]
pub(super) struct Chronicles(Mutex<ChronicleCache>);

#[derive(Default)]
struct ChronicleCache {
    all: HashMap<JournalKey, CachedChronicle>,
    uses: u64,
}

struct CachedChronicle {
    /// When the session began: a later session may have the same name.
    began: String,
    chronicle: Arc<Mutex<Chronicle>>,
    last_use: u64,
}

impl Chronicles {
    /// The journal of the session that began then.
    pub(super) fn get(&self, journal: JournalKey, began: &str) -> Arc<Mutex<Chronicle>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.uses += 1;
        let last_use = kept.uses;
        if let Some(used) = kept.all.get_mut(&journal).filter(|used| used.began == began) {
            used.last_use = last_use;
            return Arc::clone(&used.chronicle);
        }
        while kept.all.len() >= limits::CHRONICLES_KEPT_MAX {
            let oldest = kept.all.iter().min_by_key(|(_, used)| used.last_use);
            let Some(oldest) = oldest.map(|(journal, _)| journal.clone()) else { break };
            kept.all.remove(&oldest);
        }
        let chronicle = Arc::new(Mutex::new(Chronicle::new(journal.clone())));
        let (began, shared) = (began.to_owned(), Arc::clone(&chronicle));
        kept.all.insert(journal, CachedChronicle { began, chronicle: shared, last_use });
        chronicle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(session: usize) -> JournalKey {
        JournalKey { project: "p".into(), session: session.to_string() }
    }

    #[test]
    fn the_one_that_was_not_used_for_longest_makes_room() {
        let chronicles = Chronicles::default();
        let first: Vec<_> = (0..limits::CHRONICLES_KEPT_MAX)
            .map(|session| chronicles.get(journal(session), "then"))
            .collect();
        let is_kept = |at: usize| Arc::ptr_eq(&chronicles.get(journal(at), "then"), &first[at]);
        assert!(is_kept(0));
        chronicles.get(journal(limits::CHRONICLES_KEPT_MAX), "then");
        assert!(is_kept(0) && is_kept(2));
        assert!(!is_kept(1));
        // Another session of the same name is another one.
        assert!(!Arc::ptr_eq(&chronicles.get(journal(0), "later"), &first[0]));
    }
}
