//! A store in memory that refuses some entries of journals, as if the program had ended there.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use hookwright_store::{Commit, SqliteStore, Store, StoreError, WatchedStore};

/// A store that may refuse entries.
pub(crate) struct Forgetful {
    store: Arc<WatchedStore>,
    /// Entries with this text are refused, after this many were accepted.
    refused: Arc<Mutex<Option<(&'static str, usize)>>>,
    /// Changes every entry that is read.
    rewritten: Arc<Mutex<Option<Rewrite>>>,
    /// Receives every commit before it is made.
    recorder: Arc<Mutex<Option<Recorder>>>,
}

/// Receives a commit.
type Recorder = Box<dyn Fn(&Commit<'_>) + Send>;

/// Turns an entry into another one.
type Rewrite = fn(String) -> String;

impl Default for Forgetful {
    fn default() -> Self {
        let refused = Arc::new(Mutex::new(None::<(&'static str, usize)>));
        let rewritten = Arc::new(Mutex::new(None::<Rewrite>));
        let recorder = Arc::new(Mutex::new(None::<Recorder>));
        let (refuses, rewrites) = (Arc::clone(&refused), Arc::clone(&rewritten));
        let records = Arc::clone(&recorder);
        let store = WatchedStore::new(Arc::new(SqliteStore::in_memory().expect("memory")))
            .before_commit(move |commit| {
                if let Some(record) = &*records.lock().expect("no test panics with it") {
                    record(commit);
                }
                if let Some((text, left)) = &mut *refuses.lock().expect("no test panics with it")
                    && let Some(append) = &commit.append
                    && append.entries.iter().any(|entry| entry.contains(*text))
                {
                    if *left == 0 {
                        return Err(StoreError::NotWritable {
                            cause: "it is forgetful".to_owned(),
                        });
                    }
                    *left -= 1;
                }
                Ok(())
            })
            .rewriting(move |entry| match *rewrites.lock().expect("no test panics with it") {
                Some(rewrite) => rewrite(entry),
                None => entry,
            });
        Self { store: Arc::new(store), refused, rewritten, recorder }
    }
}

impl Forgetful {
    /// From now on accepts this many entries with this text, and then none.
    pub(crate) fn refuse(&self, text: &'static str, after: usize) {
        *self.refused.lock().expect("no test panics with it") = Some((text, after));
    }

    /// From now on journals read as if another program had written their entries.
    pub(crate) fn rewrite(&self, rewritten: Rewrite) {
        *self.rewritten.lock().expect("no test panics with it") = Some(rewritten);
    }

    /// From now on passes every commit to this before it is made.
    pub(crate) fn record(&self, recorder: impl Fn(&Commit<'_>) + Send + 'static) {
        *self.recorder.lock().expect("no test panics with it") = Some(Box::new(recorder));
    }

    /// The store for sessions.
    pub(crate) fn shared(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as _
    }

    /// From now on accepts everything.
    pub(crate) fn take_all(&self) {
        *self.refused.lock().expect("no test panics with it") = None;
    }
}

impl Deref for Forgetful {
    type Target = WatchedStore;

    fn deref(&self) -> &WatchedStore {
        &self.store
    }
}
