//! In a git work tree: asks git, with arguments, never through a shell.
//!
//! It runs one `git status` before and one after. Before, a path that status does not list is as in
//! `HEAD`; of the others a print is kept. After, a path with a print has changed if its print has.
//! Any other path has changed if it now differs from the old `HEAD`. The ids in `git status` tell
//! that and, if `HEAD` has moved, one `git diff-tree` from the old to the new one. It does not
//! matter how it moved.
//!
//! Nothing is written: not the index, which belongs to the user, and no objects. A tree made by a
//! second index would be as exact, but costs a copy of every uncommitted file, and more time.
//!
//! Two limits. A file that the agent only removed from the index (`git rm --cached`), or staged and
//! then restored, is listed though its content is unchanged. A submodule, or a nested repository,
//! is listed as one path.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hookwright_process::{How, Launch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::file_print::{Budget, FilePrint};
use super::{ScanLimits, is_ours};
use crate::limits::{GIT_LIST_BYTES_MAX, REPOSITORY_DEPTH_MAX};
use hookwright_engine::limits::{KILL_GRACE, LINGER};

/// For every call: no program of the user runs besides git.
const SETTINGS: &[&str] = &[
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "color.ui=false",
];

/// Messages are in English, so that they can be recognised; the index stays unchanged; nothing
/// prompts, and nothing is fetched.
const VARIABLES: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
];

/// Git sets variables for its own hooks, and we may run below one. Of all variables with the prefix
/// `GIT_`, only those are inherited that tell where settings are and how far to search for a
/// repository.
const INHERITED: &[&str] =
    &["GIT_CONFIG", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH"];

/// The scanned paths: everything below the working directory except Hookwright's own files.
const HERE: &[&str] = &["--", ".", ":(exclude).hookwright"];

const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "--branch",
    "--no-ahead-behind",
    "-z",
    "--untracked-files=all",
    "--no-renames",
    "--ignore-submodules=none",
];

/// The ids of the empty tree, with SHA-1 and with SHA-256.
const EMPTY_TREES: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];

#[derive(Debug, Clone)]
pub(super) struct Git {
    program: PathBuf,
    environment: Arc<[(OsString, OsString)]>,
    /// The number of calls.
    calls: Arc<AtomicU64>,
}

/// The result of comparing two scans.
#[derive(Debug)]
pub(super) struct GitComparison {
    /// The changed paths, relative to the root.
    pub(super) changed: Vec<Vec<u8>>,
    /// The second scan, usable as a first one; `None` if it is incomplete.
    pub(super) after: Option<GitSeen>,
}

/// Why git gave no answer.
#[derive(Debug)]
pub(super) enum GitProblem {
    NotARepository,
    Failed { said: String },
    TooMany,
    TookTooLong,
}

/// The state of a work tree.
#[derive(Debug)]
pub(super) struct GitSeen {
    /// The root, relative to the top of the work tree: empty, or with a trailing `/`.
    prefix: Arc<[u8]>,
    repository: Repository,
}

impl GitSeen {
    pub(super) fn prefix(&self) -> Arc<[u8]> {
        Arc::clone(&self.prefix)
    }
}

#[derive(Debug)]
struct Repository {
    /// The commit; `None` before the first one.
    head: Option<String>,
    /// Paths that differ from `HEAD`. All others are as in `HEAD`.
    prints: BTreeMap<Vec<u8>, Print>,
}

#[derive(Debug)]
enum Print {
    File(FilePrint),
    /// A submodule, or a nested repository that is not one.
    Repository(Repository),
}

/// The output of `git status`.
struct GitListing {
    head: Option<String>,
    paths: BTreeMap<Vec<u8>, GitEntry>,
}

/// One path of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum GitEntry {
    /// In the index or in `HEAD`.
    Tracked { in_head: Blob, in_index: Blob, is_as_in_index: bool },
    /// In a conflict, untracked, or removed from the index and still there.
    Other,
}

/// A file's mode and id in git. Zeros if there is no file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Blob {
    mode: Vec<u8>,
    id: Vec<u8>,
}

type GitFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, GitProblem>> + Send + 'a>>;

impl Git {
    pub(super) fn new(program: PathBuf, environment: &[(OsString, OsString)]) -> Self {
        let is_kept = |name: &OsStr| {
            let name = name.as_bytes();
            !name.starts_with(b"GIT_")
                || INHERITED.iter().any(|kept| name.starts_with(kept.as_bytes()))
        };
        let kept = environment.iter().filter(|(name, _)| is_kept(name)).cloned();
        Self { program, environment: kept.collect(), calls: Arc::default() }
    }

    /// How often git was called.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Scans the work tree of the root, with this prefix in it if that is known.
    pub(super) async fn see(
        &self,
        root: &Path,
        prefix: Option<Arc<[u8]>>,
        bounds: ScanLimits,
    ) -> Result<GitSeen, GitProblem> {
        let (prefix, listed) = match prefix {
            Some(prefix) => (prefix, self.status(root, bounds).await?),
            None => {
                let looks = tokio::join!(self.prefix(root, bounds), self.status(root, bounds));
                (looks.0?.into(), looks.1?)
            }
        };
        let listed = listed.below(&prefix);
        let prints = self.prints(root, listed.paths.into_keys(), 0, bounds).await?;
        Ok(GitSeen { prefix, repository: Repository { head: listed.head, prints } })
    }

    /// Scans again, and compares.
    pub(super) async fn changed_since(
        &self,
        root: &Path,
        before: &GitSeen,
        bounds: ScanLimits,
    ) -> Result<GitComparison, GitProblem> {
        let was = &before.repository;
        let known = was.prints.keys().cloned();
        let (listed, prints) =
            tokio::join!(self.status(root, bounds), self.prints(root, known, 0, bounds));
        let (listed, prints) = (listed?.below(&before.prefix), prints?);
        let moved = self.moved(root, was.head.as_deref(), listed.head.as_deref(), bounds).await?;
        let moved: BTreeMap<Vec<u8>, Blob> =
            moved.into_iter().filter_map(|(path, old)| below(path, &before.prefix, old)).collect();

        let changed = prints.iter().filter(|(path, is)| !is.is_same(&was.prints[*path]));
        let mut changed: BTreeSet<Vec<u8>> = changed.map(|(path, _)| path.clone()).collect();
        let candidates = listed.paths.keys().chain(moved.keys());
        changed.extend(
            candidates
                .filter(|path| !was.prints.contains_key(*path))
                .filter(|path| differs(listed.paths.get(*path), moved.get(*path)))
                .cloned(),
        );
        let changed = changed.into_iter().filter(|path| !is_ours(path)).collect();
        let after = self.as_first_look(root, before.prefix(), listed, prints, bounds).await;
        Ok(GitComparison { changed, after: after.ok() })
    }

    /// Turns a second scan into a first one: with prints of all that is listed now, and of nothing
    /// else.
    async fn as_first_look(
        &self,
        root: &Path,
        prefix: Arc<[u8]>,
        listed: GitListing,
        mut prints: BTreeMap<Vec<u8>, Print>,
        bounds: ScanLimits,
    ) -> Result<GitSeen, GitProblem> {
        prints.retain(|path, _| listed.paths.contains_key(path));
        let new: Vec<Vec<u8>> =
            listed.paths.into_keys().filter(|path| !prints.contains_key(path)).collect();
        prints.extend(self.prints(root, new.into_iter(), 0, bounds).await?);
        Ok(GitSeen { prefix, repository: Repository { head: listed.head, prints } })
    }

    /// The root's prefix in its work tree. An ignored root counts as outside git.
    async fn prefix(&self, root: &Path, bounds: ScanLimits) -> Result<Vec<u8>, GitProblem> {
        let mut prefix = self.call(root, &["rev-parse", "--show-prefix"], bounds).await?;
        if prefix.last() == Some(&b'\n') {
            prefix.pop();
        }
        if prefix.is_empty() {
            return Ok(prefix);
        }
        match self.call(root, &["check-ignore", "--quiet", "--", "."], bounds).await {
            Ok(_) => Err(GitProblem::NotARepository),
            // It also fails for "no".
            Err(GitProblem::Failed { .. }) => Ok(prefix),
            Err(problem) => Err(problem),
        }
    }

    async fn status(&self, folder: &Path, bounds: ScanLimits) -> Result<GitListing, GitProblem> {
        let arguments: Vec<&str> = STATUS.iter().chain(HERE).copied().collect();
        let printed = self.call(folder, &arguments, bounds).await?;
        let listed = GitListing::parse(&printed).ok_or_else(|| misread("status"))?;
        if listed.paths.len() > bounds.files_max {
            return Err(GitProblem::TooMany);
        }
        Ok(listed)
    }

    /// What differs between two commits, relative to the top of the work tree, as in the old one.
    async fn moved(
        &self,
        root: &Path,
        old: Option<&str>,
        new: Option<&str>,
        bounds: ScanLimits,
    ) -> Result<Vec<(Vec<u8>, Blob)>, GitProblem> {
        let Some(known) = old.or(new).filter(|_| old != new) else {
            return Ok(Vec::new());
        };
        let empty = EMPTY_TREES.iter().find(|empty| empty.len() == known.len());
        let empty = empty.ok_or_else(|| misread("status"))?;
        let (old, new) = (old.unwrap_or(empty), new.unwrap_or(empty));
        let what = ["diff-tree", "-r", "-z", "--raw", "--no-renames", old, new];
        let arguments: Vec<&str> = what.into_iter().chain(HERE.iter().copied()).collect();
        let printed = self.call(root, &arguments, bounds).await?;
        parse_diff(&printed).ok_or_else(|| misread("diff-tree"))
    }

    /// The prints of these paths.
    fn prints<'a>(
        &'a self,
        folder: &'a Path,
        paths: impl Iterator<Item = Vec<u8>> + Send + 'a,
        depth: usize,
        bounds: ScanLimits,
    ) -> GitFuture<'a, BTreeMap<Vec<u8>, Print>> {
        let paths: Vec<Vec<u8>> = paths.collect();
        Box::pin(async move {
            if paths.is_empty() {
                return Ok(BTreeMap::new());
            }
            let within = folder.to_owned();
            let looking = tokio::task::spawn_blocking(move || file_prints(&within, paths, bounds));
            let looked = tokio::time::timeout_at(bounds.deadline, looking).await;
            let looked = looked.map_err(|_| GitProblem::TookTooLong)?;
            let files = looked.map_err(|_| GitProblem::TookTooLong)??;
            let mut prints = BTreeMap::new();
            for (path, print) in files {
                let place = folder.join(OsStr::from_bytes(&path));
                let is_repository = print == FilePrint::Folder && place.join(".git").exists();
                let print = if is_repository && depth < REPOSITORY_DEPTH_MAX {
                    self.repository(&place, depth + 1, bounds).await?
                } else {
                    Print::File(print)
                };
                prints.insert(path, print);
            }
            Ok(prints)
        })
    }

    /// A nested repository. One that git can't read counts as a folder.
    async fn repository(
        &self,
        place: &Path,
        depth: usize,
        bounds: ScanLimits,
    ) -> Result<Print, GitProblem> {
        match self.status(place, bounds).await {
            Ok(GitListing { head, paths }) => {
                let prints = self.prints(place, paths.into_keys(), depth, bounds).await?;
                Ok(Print::Repository(Repository { head, prints }))
            }
            Err(GitProblem::NotARepository | GitProblem::Failed { .. }) => {
                Ok(Print::File(FilePrint::Folder))
            }
            Err(problem @ (GitProblem::TooMany | GitProblem::TookTooLong)) => Err(problem),
        }
    }

    async fn call(
        &self,
        folder: &Path,
        arguments: &[&str],
        bounds: ScanLimits,
    ) -> Result<Vec<u8>, GitProblem> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        let launch = Launch {
            program: self.program.clone(),
            args: SETTINGS.iter().chain(arguments).map(OsString::from).collect(),
            shared_env: Arc::clone(&self.environment),
            env: VARIABLES.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            working_dir: folder.to_owned(),
            stdin: Vec::new(),
            timeout: bounds.deadline.saturating_duration_since(Instant::now()),
            kill_grace: KILL_GRACE,
            linger: LINGER,
            output_bytes_max: GIT_LIST_BYTES_MAX,
            run_id: format!("changed-files-{}-{call}", std::process::id()),
        };
        let ended = hookwright_process::run(launch, &mut (), &CancellationToken::new()).await;
        match ended.how {
            How::Exited { code: 0 } => {
                ended.stdout.bytes().map(<[u8]>::to_vec).ok_or(GitProblem::TooMany)
            }
            How::Exited { code } => Err(failure(&ended.stderr.text(), code)),
            How::Killed { signal } => failed(format!("it was killed by signal {signal}")),
            How::TimedOut { .. } | How::Cancelled => Err(GitProblem::TookTooLong),
            How::WantedTerminal => failed("it tried to use the terminal".to_owned()),
            How::NotStarted { cause } => failed(cause.to_string()),
        }
    }
}

fn failed<T>(said: String) -> Result<T, GitProblem> {
    Err(GitProblem::Failed { said })
}

fn misread(command: &str) -> GitProblem {
    GitProblem::Failed { said: format!("`git {command}` printed unexpected output") }
}

fn failure(stderr: &str, code: i32) -> GitProblem {
    if stderr.contains("not a git repository") || stderr.contains("must be run in a work tree") {
        return GitProblem::NotARepository;
    }
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines.clone().find_map(|line| line.strip_prefix("fatal: "));
    let said = fatal.or_else(|| lines.next_back());
    let said = said.map_or_else(|| format!("exit code {code} without a message"), str::to_owned);
    GitProblem::Failed { said }
}

fn file_prints(
    folder: &Path,
    paths: Vec<Vec<u8>>,
    bounds: ScanLimits,
) -> Result<Vec<(Vec<u8>, FilePrint)>, GitProblem> {
    let mut budget = Budget::new();
    let print = |path: Vec<u8>| {
        if Instant::now() >= bounds.deadline {
            return Err(GitProblem::TookTooLong);
        }
        let place = folder.join(OsStr::from_bytes(&path));
        Ok((path, FilePrint::with_content(&place, &mut budget)))
    };
    paths.into_iter().map(print).collect()
}

/// Whether a path that was as in the old `HEAD` differs now. `now`: its status, `None` if it is as
/// in the new `HEAD`. `old`: its entry in the old `HEAD`, `None` if that is the same in the new
/// one.
fn differs(now: Option<&GitEntry>, old: Option<&Blob>) -> bool {
    match (now, old) {
        (None, old) => old.is_some(),
        (Some(GitEntry::Other), _) => true,
        (Some(GitEntry::Tracked { in_head, in_index, is_as_in_index }), old) => {
            !is_as_in_index || in_index != old.unwrap_or(in_head)
        }
    }
}

impl Print {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Print::File(one), Print::File(two)) => one.is_same(two),
            (Print::Repository(one), Print::Repository(two)) => one.is_same(two),
            (Print::File(_), Print::Repository(_)) | (Print::Repository(_), Print::File(_)) => {
                false
            }
        }
    }
}

impl Repository {
    fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.prints.iter().zip(&other.prints);
        self.head == other.head
            && self.prints.len() == other.prints.len()
            && pairs.all(|((path, one), (other, two))| path == other && one.is_same(two))
    }
}

impl GitListing {
    /// `None` if the output does not follow the manual.
    fn parse(printed: &[u8]) -> Option<Self> {
        let mut listed = GitListing { head: None, paths: BTreeMap::new() };
        for line in printed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let (path, entry) = match line.first()? {
                b'#' => {
                    if let Some(oid) = line.strip_prefix(b"# branch.oid ") {
                        let oid = std::str::from_utf8(oid).ok()?;
                        listed.head = (oid != "(initial)").then(|| oid.to_owned());
                    }
                    continue;
                }
                // 1 XY sub mH mI mW hH hI path
                b'1' => {
                    let parts: [&[u8]; 9] = parts(line)?;
                    let blob = |mode: usize, id: usize| Blob {
                        mode: parts[mode].to_vec(),
                        id: parts[id].to_vec(),
                    };
                    let (in_head, in_index) = (blob(3, 6), blob(4, 7));
                    let is_as_in_index = *parts[1].get(1)? == b'.';
                    (parts[8], GitEntry::Tracked { in_head, in_index, is_as_in_index })
                }
                // u XY sub m1 m2 m3 mW h1 h2 h3 path
                b'u' => (parts::<11>(line)?[10], GitEntry::Other),
                b'?' => (line.strip_prefix(b"? ")?, GitEntry::Other),
                _ => return None,
            };
            // A nested repository has a `/` at its end.
            let path = path.strip_suffix(b"/").unwrap_or(path).to_vec();
            let is_twice = listed.paths.insert(path.clone(), entry).is_some();
            if is_twice {
                listed.paths.insert(path, GitEntry::Other);
            }
        }
        Some(listed)
    }

    fn below(self, prefix: &[u8]) -> Self {
        let paths = self.paths.into_iter();
        let paths = paths.filter_map(|(path, entry)| below(path, prefix, entry)).collect();
        Self { head: self.head, paths }
    }
}

/// The path without the prefix, if it is below.
fn below<T>(path: Vec<u8>, prefix: &[u8], with: T) -> Option<(Vec<u8>, T)> {
    if prefix.is_empty() {
        return Some((path, with));
    }
    path.strip_prefix(prefix).map(|path| (path.to_vec(), with))
}

/// The words of a line; the last one is the rest.
fn parts<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let parts: Vec<&[u8]> = line.splitn(N, |byte| *byte == b' ').collect();
    parts.try_into().ok()
}

/// Paths and their old side: `:mode mode id id letter`, then the path.
fn parse_diff(printed: &[u8]) -> Option<Vec<(Vec<u8>, Blob)>> {
    let mut words = printed.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let mut moved = Vec::new();
    while let Some(line) = words.next() {
        let [mode, _, id, _, _] = parts::<5>(line.strip_prefix(b":")?)?;
        let old = Blob { mode: mode.to_vec(), id: id.to_vec() };
        moved.push((words.next()?.to_vec(), old));
    }
    Some(moved)
}
