//! [`WorkKeeper`]: keeps what a session works on, so that another machine can continue it: its work
//! tree ([`Trees`]) and the files of its folder (`SessionFiles`).
//!
//! Both are kept at every end after which nothing is repeated: of a turn, of an awaited hook, of the
//! session. First the tree is sent, then its id and the files are stored in the same commit as the
//! end. While the tree cannot be sent, nothing counts as ended. Ends are kept one after the other,
//! so the last tree in the store holds the work of all ends in the store.
//!
//! A session and the sessions that its hooks start share one keeper: they share the work tree, and
//! their folders are inside the session's.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_engine::Secrets;
use hookwright_store::{Delete, Expected, Kind, Put, RecordKey, Store, StoreError};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::folder::{SessionFolder, SessionName, SessionNameError};
use crate::limits::{
    TREE_AWAY_MAX, TREE_AWAY_PAUSE_MAX, TREE_AWAY_PAUSE_MIN, TREE_INTERRUPT_GRACE, TREE_SLOW,
};
use crate::record::SessionRecord;
use crate::session_files::{FileChanges, FilesError, SessionFiles};
use crate::store_calls::StoreCalls;
use crate::trees::{
    CarriedWork, GitProgram, GitTrees, KeptTree, LeftOut, TreeError, TreeFuture, TreeId, TreeRefs,
    Trees, WorkPlace,
};

/// Keeps the work tree and the files of one session.
pub struct WorkKeeper {
    trees: Arc<dyn Trees>,
    key: RecordKey,
    created_at_ms: i64,
    files: Mutex<SessionFiles>,
    /// The last tree in the store. Locked from the beginning of an end until it is stored.
    stored: tokio::sync::Mutex<Option<TreeId>>,
    /// What was left out, and has been told.
    told: Mutex<BTreeSet<LeftOut>>,
    failure: Mutex<Option<KeepError>>,
}

/// The work at an end, which is yet to be stored.
pub(crate) struct KeptWork<'a> {
    keeper: &'a WorkKeeper,
    stored: tokio::sync::MutexGuard<'a, Option<TreeId>>,
    /// The tree, if it is another one than before.
    pub(crate) tree: Option<TreeId>,
    files: FileChanges,
    /// What a person has to know.
    pub(crate) notes: Vec<String>,
}

/// Why work cannot be kept or restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    /// The work tree cannot be kept or restored.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The files of the session's folder cannot be read or written.
    #[error("cannot save the session's files: {cause}")]
    Files {
        /// The cause.
        cause: String,
    },
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session was interrupted while its remote was away.
    #[error("interrupted while waiting: {0}")]
    Interrupted(TreeError),
}

/// The stored record of a tree.
#[derive(Serialize, Deserialize)]
struct StoredTree {
    tree: TreeId,
}

impl WorkKeeper {
    /// For the session with this record, whose folder is this one.
    pub fn new(trees: Arc<dyn Trees>, folder: SessionFolder, record: &SessionRecord) -> Arc<Self> {
        let (project, id) = (record.project(), &record.id);
        let created_at_ms = record.created_at_ms();
        Arc::new(Self {
            trees,
            key: tree_key(project, id),
            created_at_ms,
            files: Mutex::new(SessionFiles::new(folder, project, id, created_at_ms)),
            stored: tokio::sync::Mutex::default(),
            told: Mutex::default(),
            failure: Mutex::default(),
        })
    }

    /// Keeps the work as it is now. While the remote is away it waits, up to a limit or until the
    /// session is interrupted. `show` shows a note.
    pub(crate) async fn keep(
        &self,
        secrets: &Secrets,
        interrupt: &CancellationToken,
        show: &(dyn Fn(String) + Sync),
    ) -> Result<KeptWork<'_>, KeepError> {
        let stored = self.stored.lock().await;
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let kept = patiently(|| self.trees.keep(), interrupt, show).await;
        let KeptTree { tree, left_out } = kept.map_err(|error| self.fail(error))?;
        let files = lock(&self.files).changes(secrets);
        let files =
            files.map_err(|error| self.fail(KeepError::Files { cause: error.to_string() }))?;
        let mut notes = Vec::new();
        let mut told = lock(&self.told);
        for part in left_out {
            if told.insert(part.clone()) {
                notes.push(part.to_string());
            }
        }
        if let Some(count) = files.left_out.filter(|count| *count > 0) {
            notes.push(format!(
                "not stored from the session's folder: {count} (links, secrets or too big)"
            ));
        }
        let tree = tree.filter(|tree| stored.as_ref() != Some(tree));
        Ok(KeptWork { keeper: self, stored, tree, files, notes })
    }

    /// Publishes the work tree as the session's result.
    pub(crate) async fn publish(
        &self,
        interrupt: &CancellationToken,
        show: &(dyn Fn(String) + Sync),
    ) -> Result<String, KeepError> {
        let _stored = self.stored.lock().await;
        let published = patiently(|| self.trees.publish(), interrupt, show).await;
        published.map_err(|error| match &error {
            KeepError::Tree(TreeError::Refused { .. }) => error,
            _ => self.fail(error),
        })
    }

    /// Restores the last tree, and the files. Returns the tree, if one was stored.
    pub(crate) async fn restore(
        &self,
        calls: &StoreCalls,
        interrupt: &CancellationToken,
        show: &(dyn Fn(String) + Sync),
    ) -> Result<Option<TreeId>, KeepError> {
        let mut stored = self.stored.lock().await;
        let key = self.key.clone();
        let tree = calls.call(move |store| read_tree(store, &key)).await?;
        let Some(tree) = tree else { return Ok(None) };
        let restored = patiently(|| self.trees.restore(&tree), interrupt, show).await;
        restored.map_err(|error| self.fail(error))?;
        let mut files = lock(&self.files).clone();
        let files = calls.call(move |store| files.restore(store).map(|_| files)).await;
        *lock(&self.files) = files.map_err(|error| {
            self.fail(match error {
                FilesError::Store(error) => KeepError::Store(error),
                FilesError::Folder(error) => KeepError::Files { cause: error.to_string() },
            })
        })?;
        *stored = Some(tree.clone());
        Ok(Some(tree))
    }

    /// Why nothing more can be kept.
    pub(crate) fn failure(&self) -> Option<KeepError> {
        lock(&self.failure).clone()
    }

    fn fail(&self, error: impl Into<KeepError>) -> KeepError {
        lock(&self.failure).get_or_insert(error.into()).clone()
    }
}

impl KeptWork<'_> {
    /// The records to write.
    pub(crate) fn puts(&self) -> Vec<Put> {
        let tree = self.tree.iter().map(|tree| Put {
            kind: Kind::SessionTree,
            key: self.keeper.key.clone(),
            expected: Expected::Any,
            value: serde_json::to_string(&StoredTree { tree: tree.clone() }).unwrap_or_default(),
            created_at_ms: self.keeper.created_at_ms,
            status: String::new(),
            queued: None,
            moves: None,
        });
        tree.chain(self.files.puts.iter().cloned()).collect()
    }

    /// The records to delete.
    pub(crate) fn deletes(&self) -> Vec<Delete> {
        self.files.deletes.clone()
    }

    /// The work is in the store.
    pub(crate) fn written(mut self) {
        if let Some(tree) = self.tree.take() {
            *self.stored = Some(tree);
        }
        lock(&self.keeper.files).written(self.files);
    }
}

/// Makes the work tree of a session that this machine has claimed under a lease with this token, and
/// what keeps it. The project root is [`WorkPlace::root`]. While the remote is away it waits, up to a
/// limit.
pub async fn take_work(
    git: GitProgram,
    calls: &StoreCalls,
    record: &SessionRecord,
    work: &CarriedWork,
    token: u64,
    place: &WorkPlace,
    secrets: Secrets,
) -> Result<Arc<WorkKeeper>, TakeError> {
    let session: SessionName = record.name.parse()?;
    let key = tree_key(record.project(), &record.id);
    let tree = calls.call(move |store| read_tree(store, &key)).await.map_err(KeepError::from)?;
    let refs = TreeRefs::new(session.clone(), &record.id);
    let trees = Arc::new(GitTrees::new(git, work, refs, token, place, secrets));
    // The caller ends this future if it is interrupted, and nothing is shown before a session begins.
    let (never, show) = (CancellationToken::new(), |_| {});
    patiently(|| Box::pin(trees.prepare(tree.as_ref())), &never, &show).await?;
    Ok(WorkKeeper::new(trees, SessionFolder::new(place.root(work), session), record))
}

/// Why a machine cannot take a session's work.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// The record has no valid name.
    #[error(transparent)]
    Name(#[from] SessionNameError),
    /// The work cannot be restored.
    #[error(transparent)]
    Keep(#[from] KeepError),
}

/// The last tree of a session, for the machine that continues it.
pub fn last_tree(
    store: &dyn Store,
    project: &str,
    session_id: &str,
) -> Result<Option<TreeId>, StoreError> {
    read_tree(store, &tree_key(project, session_id))
}

/// The key of the record of a session's last tree.
pub fn tree_key(project: &str, session_id: &str) -> RecordKey {
    RecordKey { project: project.to_owned(), name: session_id.to_owned() }
}

fn read_tree(store: &dyn Store, key: &RecordKey) -> Result<Option<TreeId>, StoreError> {
    let Some(record) = store.get(Kind::SessionTree, key)? else { return Ok(None) };
    let read = serde_json::from_str::<StoredTree>(&record.value);
    let read = read.map_err(|error| StoreError::Damaged { cause: format!("a tree: {error}") })?;
    Ok(Some(read.tree))
}

/// Tries again while the remote is away. A call under way when the session is interrupted has a
/// moment to end.
async fn patiently<'a, T>(
    call: impl Fn() -> TreeFuture<'a, T>,
    interrupt: &CancellationToken,
    show: &(dyn Fn(String) + Sync),
) -> Result<T, KeepError> {
    let began = tokio::time::Instant::now();
    let (mut pause, mut is_told) = (TREE_AWAY_PAUSE_MIN, false);
    loop {
        let called = tokio::select! {
            biased;
            called = told_if_slow(call(), show) => called,
            () = moment_after(interrupt) => return Err(KeepError::Interrupted(TreeError::TookTooLong {
                doing: "reach the git remote",
                after: TREE_INTERRUPT_GRACE,
            })),
        };
        let error = match called {
            Ok(done) => {
                if is_told {
                    show("the git remote is reachable again".to_owned());
                }
                return Ok(done);
            }
            Err(error) if !error.may_pass() || began.elapsed() >= TREE_AWAY_MAX => {
                return Err(error.into());
            }
            Err(error) => error,
        };
        if !is_told {
            let minutes = TREE_AWAY_MAX.as_secs() / 60;
            show(format!("{error}; trying again for up to {minutes} minutes"));
            is_told = true;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = interrupt.cancelled() => return Err(KeepError::Interrupted(error)),
        }
        pause = (pause * 2).min(TREE_AWAY_PAUSE_MAX);
    }
}

/// Says so if a call takes long: a remote that is away may leave it without an answer.
async fn told_if_slow<T>(
    call: TreeFuture<'_, T>,
    show: &(dyn Fn(String) + Sync),
) -> Result<T, TreeError> {
    let mut call = call;
    match tokio::time::timeout(TREE_SLOW, &mut call).await {
        Ok(done) => done,
        Err(_) => {
            show("still waiting for git to save or restore the work tree".to_owned());
            call.await
        }
    }
}

async fn moment_after(interrupt: &CancellationToken) {
    interrupt.cancelled().await;
    tokio::time::sleep(TREE_INTERRUPT_GRACE).await;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    /// A remote that never answers, after this many seconds each time.
    struct Away(u64);

    impl Trees for Away {
        fn keep(&self) -> TreeFuture<'_, KeptTree> {
            let (remote, said) = ("r".to_owned(), "down".to_owned());
            Box::pin(async move {
                tokio::time::sleep(std::time::Duration::from_secs(self.0)).await;
                Err(TreeError::Unreachable { remote, said })
            })
        }

        fn restore<'a>(&'a self, _: &'a TreeId) -> TreeFuture<'a, ()> {
            unreachable!("nothing is restored")
        }

        fn publish(&self) -> TreeFuture<'_, String> {
            unreachable!("nothing is published")
        }
    }

    async fn keep(
        away: u64,
        interrupt: &CancellationToken,
    ) -> (Result<(), KeepError>, Vec<String>) {
        let root = tempfile::tempdir().expect("a folder");
        let folder = SessionFolder::new(root.path(), "s".parse().expect("a name"));
        let keeper = WorkKeeper::new(Arc::new(Away(away)), folder, &SessionRecord::default());
        let notes = Mutex::new(Vec::new());
        let show = |note: String| lock(&notes).push(note);
        let kept = keeper.keep(&Secrets::default(), interrupt, &show).await.map(drop);
        assert_eq!(keeper.failure(), kept.clone().err());
        // Nothing more is tried.
        let again = keeper.keep(&Secrets::default(), interrupt, &show).await.map(drop);
        assert_eq!(again, kept);
        (kept, notes.into_inner().expect("no panic"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_remote_that_stays_away_is_given_up_after_the_limit_and_told_once() {
        let began = Instant::now();
        let (kept, notes) = keep(0, &CancellationToken::new()).await;
        assert!(matches!(kept, Err(KeepError::Tree(TreeError::Unreachable { .. }))), "{kept:?}");
        assert!((TREE_AWAY_MAX..TREE_AWAY_MAX * 2).contains(&began.elapsed()));
        let note = "the git remote `r` is unreachable: down; trying again for up to 15 minutes";
        assert_eq!(notes, [note]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_answer_is_told_and_an_interrupt_gives_it_a_moment() {
        let interrupt = CancellationToken::new();
        let later = interrupt.clone();
        tokio::spawn(async move {
            tokio::time::sleep(TREE_SLOW * 2).await;
            later.cancel();
        });
        let began = Instant::now();
        let (kept, notes) = keep(1_000_000, &interrupt).await;
        assert!(matches!(kept, Err(KeepError::Interrupted(_))), "{kept:?}");
        assert_eq!(began.elapsed(), TREE_SLOW * 2 + TREE_INTERRUPT_GRACE);
        assert_eq!(notes, ["still waiting for git to save or restore the work tree"]);
    }
}
