//! [`walk`]: goes through the files below a folder, for glob and grep.
//!
//! It opens each folder by its name in the one before and follows no link, so it stays in the workspace
//! whatever happens there meanwhile. `.gitignore` and `.ignore` of the workspace are heeded; they are
//! read by us, within a limit, because a repository can make them endless. (The walker of the crate
//! `ignore` opens paths and reads such files whole.)

mod ignore_file;

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ignore::Match;
use ignore::gitignore::Gitignore;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::Types;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::ToolFailure;
use super::search_time::SearchTime;
use crate::limits::{
    IGNORE_BYTES_MAX, PATTERN_BYTES_MAX, SEARCH_DEPTH_MAX, SEARCH_ENTRIES_MAX,
    SEARCH_NAME_BYTES_MAX,
};
use crate::workspace::{Located, Workspace};
use ignore_file::{Unheeded, read_ignore};

/// Folders of version control, which a search skips.
const NEVER_SEARCHED: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// Which files are wanted.
pub(super) struct FileFilter {
    pub(super) globs: Override,
    pub(super) types: Option<Types>,
}

impl FileFilter {
    fn wants(&self, path: &Path, is_folder: bool) -> bool {
        let by_type = |types: &Types| types.matched(path, is_folder).is_ignore();
        !self.globs.matched(path, is_folder).is_ignore()
            && !self.types.as_ref().is_some_and(by_type)
    }
}

/// A glob below a folder. Without a `/` it is for names in any folder.
pub(super) fn compile_globs(folder: &Path, globs: &[&str]) -> Result<Override, ToolFailure> {
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
pub(super) enum WalkNext {
    GoOn,
    Enough,
}

/// What a walk has left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unsearched {
    /// It ended early: the reason.
    pub(super) ended: Option<&'static str>,
    /// Folders that could not be searched.
    pub(super) folders: usize,
    /// Lists of ignored files that were not used.
    pub(super) ignore_files: usize,
}

impl Unsearched {
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
    filter: &FileFilter,
    time: &SearchTime,
    visit: &mut dyn FnMut(&FoundFile<'_>) -> Result<WalkNext, ToolFailure>,
) -> Result<Unsearched, ToolFailure> {
    let mut walk = Walk {
        filter,
        time,
        visit,
        ignores: Vec::new(),
        ignore_bytes: 0,
        entries: 0,
        name_bytes: 0,
        left_out: Unsearched::default(),
    };
    walk.read_ignores_above(workspace, start.path());
    let path = start.path();
    let listed = open_listed(start.folder(), OsStr::new("."));
    let folder = listed.map_err(|error| format!("cannot list `{}`: {error}", path.display()))?;
    walk.folder(&folder, path, 0)?;
    Ok(walk.left_out)
}

struct Walk<'a> {
    filter: &'a FileFilter,
    time: &'a SearchTime,
    visit: &'a mut dyn FnMut(&FoundFile<'_>) -> Result<WalkNext, ToolFailure>,
    /// Of the folders above, the nearest last.
    ignores: Vec<Gitignore>,
    /// Bytes of their patterns.
    ignore_bytes: usize,
    entries: usize,
    /// Bytes of names that are kept, of this folder and those above.
    name_bytes: usize,
    left_out: Unsearched,
}

impl Walk<'_> {
    fn folder(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        depth: usize,
    ) -> Result<WalkNext, ToolFailure> {
        let (ignores, ignore_bytes) = (self.ignores.len(), self.ignore_bytes);
        let name_bytes = self.name_bytes;
        self.read_ignores(folder, path);
        let next = self.entries_of(folder, path, depth);
        self.ignores.truncate(ignores);
        self.ignore_bytes = ignore_bytes;
        self.name_bytes = name_bytes;
        next
    }

    fn entries_of(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        depth: usize,
    ) -> Result<WalkNext, ToolFailure> {
        for (name, kind) in self.names(folder)? {
            if self.time.is_cancelled() {
                return Err(ToolFailure::Interrupted);
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
                _ => WalkNext::GoOn,
            };
            if next == WalkNext::Enough {
                return Ok(next);
            }
        }
        Ok(WalkNext::GoOn)
    }

    fn subfolder(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        path: &Path,
        depth: usize,
    ) -> Result<WalkNext, ToolFailure> {
        if NEVER_SEARCHED.iter().any(|never| name == *never)
            || !self.filter.wants(path, true)
            || self.is_ignored(path, true)
        {
            return Ok(WalkNext::GoOn);
        }
        match open_listed(folder, name) {
            Ok(below) if depth < SEARCH_DEPTH_MAX => self.folder(&below, path, depth + 1),
            Ok(_) | Err(_) => {
                self.left_out.folders += 1;
                Ok(WalkNext::GoOn)
            }
        }
    }

    /// The names in a folder, sorted.
    fn names(&mut self, folder: &OwnedFd) -> Result<Vec<(OsString, FileType)>, ToolFailure> {
        let mut names = Vec::new();
        let Ok(entries) = Dir::read_from(folder) else {
            self.left_out.folders += 1;
            return Ok(names);
        };
        for entry in entries {
            if self.time.is_cancelled() {
                return Err(ToolFailure::Interrupted);
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

    fn end_early(&mut self, reason: &'static str) -> WalkNext {
        self.left_out.ended = Some(reason);
        WalkNext::Enough
    }
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
