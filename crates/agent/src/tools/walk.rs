//! [`walk`]: goes through the files below a folder, for glob and grep.
//!
//! It opens each folder by its name in the one before and follows no link, so it stays in the workspace
//! whatever happens there meanwhile. `.gitignore` and `.ignore` of the workspace are heeded; they are
//! read by us, within a limit, because a repository can make them endless. (The walker of the crate
//! `ignore` opens paths and reads such files whole.)

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::Types;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::limits::{
    IGNORE_BYTES_MAX, IGNORE_FILE_BYTES_MAX, PATTERN_BYTES_MAX, SEARCH_DEPTH_MAX,
    SEARCH_ENTRIES_MAX, SEARCH_NAME_BYTES_MAX, SEARCH_TIME_MAX,
};
use crate::workspace::{Located, Workspace, open_file_in};

/// Folders of version control, in which nobody looks for text.
const NEVER_SEARCHED: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// How long a search may take, and whether anybody still waits for it.
#[derive(Clone)]
pub(super) struct SearchTime {
    cancel: CancellationToken,
    ends: Instant,
}

impl SearchTime {
    pub(super) fn new(cancel: &CancellationToken) -> Self {
        Self { cancel: cancel.clone(), ends: Instant::now() + SEARCH_TIME_MAX }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.ends
    }
}

/// Which files are wanted.
pub(super) struct Filter {
    pub(super) globs: Override,
    pub(super) types: Option<Types>,
}

impl Filter {
    fn wants(&self, path: &Path, is_folder: bool) -> bool {
        let by_type = |types: &Types| types.matched(path, is_folder).is_ignore();
        !self.globs.matched(path, is_folder).is_ignore()
            && !self.types.as_ref().is_some_and(by_type)
    }
}

/// A glob below a folder. Without a `/` it is for names in any folder.
pub(super) fn compile_globs(folder: &Path, globs: &[&str]) -> Result<Override, Failure> {
    let mut builder = OverrideBuilder::new(folder);
    for glob in globs {
        if glob.len() > PATTERN_BYTES_MAX {
            return Err(format!("the pattern is longer than {PATTERN_BYTES_MAX} bytes").into());
        }
        // In a file, this would begin a comment.
        let escaped = glob.strip_prefix('#').map(|rest| format!("\\#{rest}"));
        let glob = escaped.as_deref().unwrap_or(glob);
        let added = builder.add(glob).map(|_| ());
        added.map_err(|error| format!("the pattern `{glob}` is not a valid glob: {error}"))?;
    }
    builder.build().map_err(|error| format!("the pattern is not a valid glob: {error}").into())
}

/// A file that a walk has found.
pub(super) struct FoundFile<'a> {
    pub(super) folder: &'a OwnedFd,
    pub(super) name: &'a OsStr,
    pub(super) path: &'a Path,
}

impl FoundFile<'_> {
    /// When it was last changed.
    pub(super) fn modified(&self) -> Option<SystemTime> {
        let stat = rustix::fs::statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        // Systems differ in the types. Before 1970 is all the same.
        let seconds = u64::try_from(i128::from(stat.st_mtime)).unwrap_or(0);
        let nanos = u64::try_from(i128::from(stat.st_mtime_nsec)).unwrap_or(0);
        let since = Duration::from_secs(seconds) + Duration::from_nanos(nanos);
        Some(SystemTime::UNIX_EPOCH + since)
    }
}

/// Whether a walk goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    Enough,
}

/// What a walk has left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// It ended early: the reason.
    pub(super) ended: Option<&'static str>,
    /// Folders that could not be searched.
    pub(super) folders: usize,
    /// Lists of ignored files that were not used.
    pub(super) ignore_files: usize,
}

impl LeftOut {
    /// What to tell about it.
    pub(super) fn notes(&self) -> Vec<String> {
        let ended = self
            .ended
            .map(|reason| format!("the search ended early: {reason}. Search a smaller folder"));
        let folders = (self.folders > 0)
            .then(|| format!("{} folders could not be searched or only in part", self.folders));
        let ignore_files = (self.ignore_files > 0).then(|| {
            let count = self.ignore_files;
            format!("{count} ignore files are too large or no regular files, and were not used")
        });
        ended.into_iter().chain(folders).chain(ignore_files).collect()
    }
}

/// Visits all wanted files below a folder, in the order of their names.
pub(super) fn walk(
    workspace: &Workspace,
    start: &Located,
    filter: &Filter,
    time: &SearchTime,
    visit: &mut dyn FnMut(&FoundFile<'_>) -> Result<Next, Failure>,
) -> Result<LeftOut, Failure> {
    let mut walk = Walk {
        filter,
        time,
        visit,
        ignores: Vec::new(),
        ignore_bytes: 0,
        entries: 0,
        name_bytes: 0,
        left_out: LeftOut::default(),
    };
    walk.read_ignores_above(workspace, start.path());
    let path = start.path();
    let listed = open_listed(start.folder(), OsStr::new("."));
    let folder = listed.map_err(|error| format!("cannot list `{}`: {error}", path.display()))?;
    walk.folder(&folder, path, 0)?;
    Ok(walk.left_out)
}

struct Walk<'a> {
    filter: &'a Filter,
    time: &'a SearchTime,
    visit: &'a mut dyn FnMut(&FoundFile<'_>) -> Result<Next, Failure>,
    /// Of the folders above, the nearest last.
    ignores: Vec<Gitignore>,
    /// Bytes of their patterns.
    ignore_bytes: usize,
    entries: usize,
    /// Bytes of names that are kept, of this folder and those above.
    name_bytes: usize,
    left_out: LeftOut,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &OwnedFd, path: &Path, depth: usize) -> Result<Next, Failure> {
        let (ignores, ignore_bytes) = (self.ignores.len(), self.ignore_bytes);
        let name_bytes = self.name_bytes;
        self.read_ignores(folder, path);
        let next = self.entries_of(folder, path, depth);
        self.ignores.truncate(ignores);
        self.ignore_bytes = ignore_bytes;
        self.name_bytes = name_bytes;
        next
    }

    fn entries_of(&mut self, folder: &OwnedFd, path: &Path, depth: usize) -> Result<Next, Failure> {
        for (name, kind) in self.names(folder)? {
            if self.time.is_cancelled() {
                return Err(Failure::Interrupted);
            }
            if self.time.is_over() {
                return Ok(self.end_early("it took too long"));
            }
            self.entries += 1;
            if self.entries > SEARCH_ENTRIES_MAX {
                return Ok(self.end_early("there are too many files"));
            }
            let below = path.join(&name);
            let next = match kind {
                FileType::Directory => self.subfolder(folder, &name, &below, depth)?,
                FileType::RegularFile
                    if self.filter.wants(&below, false) && !self.is_ignored(&below, false) =>
                {
                    (self.visit)(&FoundFile { folder, name: &name, path: &below })?
                }
                _ => Next::GoOn,
            };
            if next == Next::Enough {
                return Ok(next);
            }
        }
        Ok(Next::GoOn)
    }

    fn subfolder(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        path: &Path,
        depth: usize,
    ) -> Result<Next, Failure> {
        if NEVER_SEARCHED.iter().any(|never| name == *never)
            || !self.filter.wants(path, true)
            || self.is_ignored(path, true)
        {
            return Ok(Next::GoOn);
        }
        match open_listed(folder, name) {
            Ok(below) if depth < SEARCH_DEPTH_MAX => self.folder(&below, path, depth + 1),
            Ok(_) | Err(_) => {
                self.left_out.folders += 1;
                Ok(Next::GoOn)
            }
        }
    }

    /// The names in a folder, sorted.
    fn names(&mut self, folder: &OwnedFd) -> Result<Vec<(OsString, FileType)>, Failure> {
        let mut names = Vec::new();
        let Ok(entries) = Dir::read_from(folder) else {
            self.left_out.folders += 1;
            return Ok(names);
        };
        for entry in entries {
            if self.time.is_cancelled() {
                return Err(Failure::Interrupted);
            }
            let Ok(entry) = entry else {
                self.left_out.folders += 1;
                break;
            };
            if self.name_bytes >= SEARCH_NAME_BYTES_MAX {
                self.left_out.folders += 1;
                break;
            }
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(folder, &name),
                kind => kind,
            };
            self.name_bytes += name.len() + size_of::<(OsString, FileType)>();
            names.push((name, kind));
        }
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(names)
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        for ignore in self.ignores.iter().rev() {
            match ignore.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    /// Between the workspace and the folder at which the search begins.
    fn read_ignores_above(&mut self, workspace: &Workspace, start: &Path) {
        let Ok(below) = start.strip_prefix(workspace.root()) else { return };
        let Ok(mut folder) = workspace.open_root() else { return };
        let mut path = workspace.root().to_owned();
        for name in below {
            self.read_ignores(&folder, &path);
            let Ok(next) = open_listed(&folder, name) else { return };
            folder = next;
            path.push(name);
        }
    }

    fn read_ignores(&mut self, folder: &OwnedFd, path: &Path) {
        // The later one counts more.
        for name in [".gitignore", ".ignore"] {
            let room = IGNORE_BYTES_MAX.saturating_sub(self.ignore_bytes);
            match read_ignore(folder, path, name, room) {
                Ok(Some((ignore, bytes))) => {
                    self.ignores.push(ignore);
                    self.ignore_bytes += bytes;
                }
                Ok(None) => {}
                Err(Unheeded) => self.left_out.ignore_files += 1,
            }
        }
    }

    fn end_early(&mut self, reason: &'static str) -> Next {
        self.left_out.ended = Some(reason);
        Next::Enough
    }
}

/// A list of ignored files that is not what it should be. Its folder is searched without it.
struct Unheeded;

/// Reads one such list, and says how many bytes its patterns have.
fn read_ignore(
    folder: &OwnedFd,
    path: &Path,
    name: &str,
    room: usize,
) -> Result<Option<(Gitignore, usize)>, Unheeded> {
    let file = match open_file_in(folder, OsStr::new(name)) {
        Ok(Ok(file)) => file,
        // A link may lead anywhere, a pipe may never end.
        Ok(Err(_)) => return Err(Unheeded),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(_) => return Err(Unheeded),
    };
    let mut bytes = Vec::new();
    let read = file.take(IGNORE_FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    if read.is_err() || bytes.len() > IGNORE_FILE_BYTES_MAX {
        return Err(Unheeded);
    }
    let text = String::from_utf8_lossy(&bytes);
    let patterns = || text.lines().filter(|line| !line.starts_with('#'));
    let bytes = patterns().map(str::len).sum();
    if bytes > room {
        return Err(Unheeded);
    }
    let mut builder = GitignoreBuilder::new(path);
    for line in patterns() {
        // A line that is no pattern ignores nothing, as with git.
        let _ = builder.add_line(None, line);
    }
    builder.build().map(|ignore| Some((ignore, bytes))).map_err(|_| Unheeded)
}

/// Opens a folder to list it. A link is not followed.
fn open_listed(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

fn kind_of(folder: &OwnedFd, name: &OsStr) -> FileType {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// The newest files of many, within a bound.
pub(super) struct Newest {
    files: Vec<(Option<SystemTime>, PathBuf)>,
    max: usize,
    /// How many there were.
    pub(super) total: usize,
}

impl Newest {
    pub(super) fn new(max: usize) -> Self {
        Self { files: Vec::new(), max, total: 0 }
    }

    pub(super) fn add(&mut self, path: &Path, modified: Option<SystemTime>) {
        self.total += 1;
        self.files.push((modified, path.to_owned()));
        // Sorting now and then is cheaper than keeping order.
        if self.files.len() >= self.max.saturating_mul(2).saturating_add(1000) {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.files.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        self.files.truncate(self.max);
    }

    /// The newest first.
    pub(super) fn into_paths(mut self) -> Vec<PathBuf> {
        self.sort();
        self.files.into_iter().map(|(_, path)| path).collect()
    }
}
