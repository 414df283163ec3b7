//! What changed in the work tree during an iteration, committed or not: [`Snapshot::take`] before,
//! [`Snapshot::changed_since`] after.
//!
//! A file counts as changed if its content, its kind or its executable bit differs, or if it was
//! created or deleted. A renamed file counts under both names. Files below `.hookwright/` never
//! count.
//!
//! In a git work tree git itself is asked (`git.rs`), so ignored files don't count. Elsewhere, or
//! without git, all files are scanned (`walk.rs`). Either way a scan is bounded in time and size;
//! if it fails, the list is empty and [`Changes::note`] says why.
//!
//! The scan after an iteration also serves as the one before the next, if that follows at once,
//! nothing ran in between, and the root is still in the same repository (`repository_place.rs`).

mod file_print;
mod git;
mod repository_place;
mod walk;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookwright_process::{find_program, runs_started};
use tokio::time::Instant;

use crate::limits::{CHANGED_FILES_MAX, CHANGED_FILES_TIMEOUT, LOOK_KEPT};
use git::{Git, GitProblem, GitSeen};
use repository_place::RepositoryPlace;
use walk::Walked;

/// The folder to scan, and how git is called there. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkTree {
    root: Arc<Path>,
    git: Option<Git>,
    timeout: Duration,
    files_max: usize,
    kept: Arc<Mutex<Kept>>,
}

/// What one scan leaves for the next.
#[derive(Debug, Default)]
struct Kept {
    look: Option<KeptLook>,
    /// The root's prefix in its repository, in git's words, as long as it stays in this one.
    prefix: Option<(RepositoryPlace, Arc<[u8]>)>,
}

/// A scan that may be used once more.
#[derive(Debug)]
struct KeptLook {
    seen: Seen,
    /// The repository at that time, if there was one.
    place: Option<RepositoryPlace>,
    began: Instant,
    /// How many runs and how many scans had been started when it ended.
    runs: u64,
    looks: u64,
}

/// The beginning of a scan that may be kept.
struct ScanStart {
    at: Instant,
    /// How many runs had been started; `None` if a start was in progress.
    runs: Option<u64>,
    /// How many of these were calls of git for this work tree.
    calls: u64,
    looks: u64,
}

/// Scans made by this process: another session may have worked between two scans of one session.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// The limits of one scan.
#[derive(Debug, Clone, Copy)]
struct ScanLimits {
    deadline: Instant,
    files_max: usize,
}

/// The state of the work tree.
#[derive(Debug)]
pub struct Snapshot {
    work_tree: WorkTree,
    /// The repository of the root, if there was one.
    place: Option<RepositoryPlace>,
    seen: Seen,
}

#[derive(Debug, Clone)]
enum Seen {
    Git(Arc<GitSeen>),
    Files(Arc<Walked>),
    Nothing(Unseen),
}

/// What changed since a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Relative to the root, sorted. Invalid UTF-8 is shown as U+FFFD.
    pub paths: Vec<String>,
    /// What could not be scanned, and why. Unless it is [`Unseen::Folders`], there are no paths.
    pub note: Option<Unseen>,
}

/// Why changes are unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// Too many files for a useful list.
    #[error("there are more than {files_max} files to scan")]
    TooMany {
        /// The limit.
        files_max: usize,
    },
    /// A file system that hangs, or a very big one.
    #[error("scanning the files took more than {} s", after.as_secs())]
    TookTooLong {
        /// The limit.
        after: Duration,
    },
    /// Git knows the folder, but fails.
    #[error("git failed: {said}")]
    GitFailed {
        /// Git's message.
        said: String,
    },
    /// The root can't be listed.
    #[error("`{}` can't be read: {cause}", path.display())]
    Root {
        /// The root's path.
        path: PathBuf,
        /// The system's error.
        cause: String,
    },
    /// Folders that can't be listed; the rest was scanned.
    #[error("folders that can't be read: {count}, the first is `{}`: {cause}", first.display())]
    Folders {
        /// The number of folders.
        count: usize,
        /// One of them, relative to the root.
        first: PathBuf,
        /// The system's error for it.
        cause: String,
    },
}

impl WorkTree {
    /// The project root, and the host's environment, which says where git is and which settings it
    /// reads.
    pub fn new(root: &Path, environment: &[(OsString, OsString)]) -> Self {
        let path = environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |(_, path)| path);
        let git = find_program(OsStr::new("git"), path, root);
        let git = git.map(|program| Git::new(program, environment));
        let (timeout, files_max) = (CHANGED_FILES_TIMEOUT, CHANGED_FILES_MAX);
        Self { root: root.into(), git, timeout, files_max, kept: Arc::default() }
    }

    /// Limits the time of each scan.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Limits the number of scanned files.
    pub fn with_files_max(mut self, files_max: usize) -> Self {
        self.files_max = files_max;
        self
    }

    fn bounds(&self) -> ScanLimits {
        ScanLimits { deadline: Instant::now() + self.timeout, files_max: self.files_max }
    }

    fn too_many(&self) -> Unseen {
        Unseen::TooMany { files_max: self.files_max }
    }

    fn took_too_long(&self) -> Unseen {
        Unseen::TookTooLong { after: self.timeout }
    }

    fn unseen(&self, problem: GitProblem) -> Unseen {
        match problem {
            GitProblem::NotARepository => {
                Unseen::GitFailed { said: "the repository no longer exists".to_owned() }
            }
            GitProblem::Failed { said } => Unseen::GitFailed { said },
            GitProblem::TooMany => self.too_many(),
            GitProblem::TookTooLong => self.took_too_long(),
        }
    }

    async fn see(&self, place: Option<&RepositoryPlace>) -> Seen {
        if let Some(seen) = self.take_kept(place) {
            return seen;
        }
        let bounds = self.bounds();
        LOOKS.fetch_add(1, Ordering::Relaxed);
        if let (Some(git), Some(place)) = (&self.git, place) {
            match self.see_by_git(git, place, bounds).await {
                Ok(seen) => return Seen::Git(Arc::new(seen)),
                Err(GitProblem::NotARepository) => {}
                Err(problem) => return Seen::Nothing(self.unseen(problem)),
            }
        }
        let root = Arc::clone(&self.root);
        match self.in_time(bounds, move || walk::walk(&root, bounds)).await {
            Ok(walked) => Seen::Files(Arc::new(walked)),
            Err(unseen) => Seen::Nothing(unseen),
        }
    }

    /// Scans with git; looks up the root's prefix in its repository only once.
    async fn see_by_git(
        &self,
        git: &Git,
        place: &RepositoryPlace,
        bounds: ScanLimits,
    ) -> Result<GitSeen, GitProblem> {
        let known = self.kept().prefix.clone().filter(|(known, _)| known == place);
        let seen = git.see(&self.root, known.map(|(_, prefix)| prefix), bounds).await?;
        self.kept().prefix = Some((place.clone(), seen.prefix()));
        Ok(seen)
    }

    /// The scan after the last iteration, if nothing can have changed since that would be blamed on
    /// the next iteration.
    fn take_kept(&self, place: Option<&RepositoryPlace>) -> Option<Seen> {
        let kept = self.kept().look.take()?;
        let is_alone = LOOKS.load(Ordering::Relaxed) == kept.looks;
        let is_still_so = kept.began.elapsed() < LOOK_KEPT && runs_started() == Some(kept.runs);
        (is_alone && is_still_so && kept.place.as_ref() == place).then_some(kept.seen)
    }

    fn begin_look(&self) -> ScanStart {
        let (at, runs) = (Instant::now(), runs_started());
        let calls = self.git.as_ref().map_or(0, Git::calls);
        ScanStart { at, runs, calls, looks: LOOKS.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    /// Keeps a finished scan, unless something else ran meanwhile or the root is no longer in the
    /// repository of the previous scan.
    fn keep(&self, seen: Seen, began: &ScanStart, place: Option<&RepositoryPlace>) {
        if RepositoryPlace::find(&self.root).as_ref() != place {
            return;
        }
        let calls = self.git.as_ref().map_or(0, Git::calls) - began.calls;
        let Some(runs) =
            runs_started().filter(|now| began.runs.map(|then| then + calls) == Some(*now))
        else {
            return;
        };
        let (place, looks) = (place.cloned(), began.looks);
        self.kept().look = Some(KeptLook { seen, place, began: began.at, runs, looks });
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scans all files again.
    async fn walk_again(
        &self,
        before: &Arc<Walked>,
        place: Option<&RepositoryPlace>,
        bounds: ScanLimits,
    ) -> Result<(Vec<Vec<u8>>, Option<Unseen>), Unseen> {
        let began = self.begin_look();
        let (root, before) = (Arc::clone(&self.root), Arc::clone(before));
        let look = move || walk::changed_since(&root, &before, bounds);
        let walk::WalkComparison { changed, note, after } = self.in_time(bounds, look).await?;
        self.keep(Seen::Files(Arc::new(after)), &began, place);
        Ok((changed, note))
    }

    async fn ask_git_again(
        &self,
        before: &GitSeen,
        place: Option<&RepositoryPlace>,
        bounds: ScanLimits,
    ) -> Result<Vec<Vec<u8>>, GitProblem> {
        let git = self.git.as_ref().expect("git has seen");
        let began = self.begin_look();
        let compared = git.changed_since(&self.root, before, bounds).await?;
        if let Some(after) = compared.after {
            self.keep(Seen::Git(Arc::new(after)), &began, place);
        }
        Ok(compared.changed)
    }

    /// Reads files on a thread of its own. A thread that hangs in the system is abandoned.
    async fn in_time<T: Send + 'static>(
        &self,
        bounds: ScanLimits,
        look: impl FnOnce() -> Result<T, Unseen> + Send + 'static,
    ) -> Result<T, Unseen> {
        let looking = tokio::task::spawn_blocking(look);
        match tokio::time::timeout_at(bounds.deadline, looking).await {
            Ok(Ok(Err(Unseen::TookTooLong { .. })) | Err(_)) | Err(_) => Err(self.took_too_long()),
            Ok(Ok(seen)) => seen,
        }
    }
}

impl Snapshot {
    /// Scans the work tree. Needs a tokio runtime with io and time. Never fails:
    /// [`Snapshot::changed_since`] reports what could not be scanned.
    pub async fn take(work_tree: &WorkTree) -> Self {
        let place = RepositoryPlace::find(&work_tree.root);
        let seen = work_tree.see(place.as_ref()).await;
        Self { work_tree: work_tree.clone(), place, seen }
    }

    /// Scans again, and compares.
    pub async fn changed_since(&self) -> Changes {
        let (work_tree, place) = (&self.work_tree, self.place.as_ref());
        let bounds = work_tree.bounds();
        let found = match &self.seen {
            Seen::Git(before) => {
                let changed = work_tree.ask_git_again(before, place, bounds).await;
                changed.map(|paths| (paths, None)).map_err(|problem| work_tree.unseen(problem))
            }
            Seen::Files(before) => work_tree.walk_again(before, place, bounds).await,
            Seen::Nothing(unseen) => Err(unseen.clone()),
        };
        match found {
            Ok((paths, _)) if paths.len() > work_tree.files_max => {
                Changes { paths: Vec::new(), note: Some(work_tree.too_many()) }
            }
            Ok((paths, note)) => Changes { paths: display_paths(paths), note },
            Err(unseen) => Changes { paths: Vec::new(), note: Some(unseen) },
        }
    }
}

fn display_paths(paths: Vec<Vec<u8>>) -> Vec<String> {
    let paths = paths.iter().map(|path| String::from_utf8_lossy(path).into_owned());
    let mut paths: Vec<String> = paths.collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Whether a path from the root is one of Hookwright's own.
fn is_ours(path: &[u8]) -> bool {
    path.strip_prefix(b".hookwright").is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
