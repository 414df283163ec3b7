//! Follows a path one name at a time, each in the open folder before it. The system follows no link for
//! us: we read each one and go on with its text. So a folder that is exchanged for a link between two
//! steps is noticed, and the folder that we end in is the one that the caller checks and uses.
//! (`openat2` could do that in one step, but only on Linux, and old containers forbid it.)

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::Found;
use crate::limits::LINKS_MAX;

/// Where a path leads.
pub(super) struct Resolved {
    /// The last folder on the way that exists.
    pub(super) folder: OwnedFd,
    /// What follows in it: nothing if the path leads to the folder itself, else the names up to the last
    /// one. All but the last are folders that do not exist.
    pub(super) names: Vec<OsString>,
    /// The whole path, without links.
    pub(super) path: PathBuf,
    pub(super) found: Found,
}

/// A path that leads nowhere.
pub(super) struct Stuck {
    /// The last folder that was reached.
    pub(super) folder: OwnedFd,
    /// The path up to where it went wrong, without links.
    pub(super) path: PathBuf,
    pub(super) reason: StuckReason,
}

pub(super) enum StuckReason {
    NotAFolder,
    TooManyLinks,
    /// `..` behind a folder that does not exist.
    Missing,
    System(Errno),
}

enum PathStep {
    Root,
    Up,
    Name(OsString),
}

/// Opens folders for what is below them. Where the system can, this needs no right to list them.
#[cfg(any(target_os = "linux", target_os = "android"))]
const THROUGH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const THROUGH: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a folder to go through it. A link is not followed.
pub(super) fn open_folder(folder: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(folder, name, THROUGH | OFlags::NOFOLLOW, Mode::empty())
}

pub(super) fn is_same_file(one: &Stat, other: &Stat) -> bool {
    one.st_dev == other.st_dev && one.st_ino == other.st_ino
}

/// Follows `asked`, from the folder `from` if it is relative.
pub(super) fn resolve(from: OwnedFd, from_path: &Path, asked: &Path) -> Result<Resolved, Stuck> {
    let mut at = FolderPosition { folder: from, path: from_path.to_owned() };
    let mut links = 0;
    let mut missing = Vec::new();
    // The next step is the last element.
    let mut steps = Vec::new();
    add_steps(&mut steps, asked);
    while let Some(step) = steps.pop() {
        let name = match step {
            PathStep::Name(name) if missing.is_empty() => name,
            PathStep::Name(name) => {
                missing.push(name);
                continue;
            }
            PathStep::Root | PathStep::Up if !missing.is_empty() => {
                at.path.extend(&missing);
                return Err(at.stuck(StuckReason::Missing));
            }
            PathStep::Root => match at.enter_root() {
                Ok(()) => continue,
                Err(problem) => return Err(at.stuck(StuckReason::System(problem))),
            },
            PathStep::Up => match at.go_up() {
                Ok(()) => continue,
                Err(problem) => return Err(at.stuck(StuckReason::System(problem))),
            },
        };
        match at.kind(&name) {
            Ok(None) => missing.push(name),
            Ok(Some(FileType::Symlink)) if links >= LINKS_MAX => {
                return Err(at.stuck_at(&name, StuckReason::TooManyLinks));
            }
            Ok(Some(FileType::Symlink)) => {
                links += 1;
                match at.link(&name) {
                    Ok(target) => add_steps(&mut steps, &target),
                    // It is no link any more.
                    Err(Errno::INVAL | Errno::NOENT) => steps.push(PathStep::Name(name)),
                    Err(problem) => return Err(at.stuck_at(&name, StuckReason::System(problem))),
                }
            }
            Ok(Some(FileType::Directory)) => match open_folder(&at.folder, &*name) {
                Ok(folder) => {
                    at.folder = folder;
                    at.path.push(name);
                }
                // It is no folder any more.
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK | Errno::NOENT)
                    if links < LINKS_MAX =>
                {
                    links += 1;
                    steps.push(PathStep::Name(name));
                }
                Err(problem) => return Err(at.stuck_at(&name, StuckReason::System(problem))),
            },
            Ok(Some(kind)) if steps.is_empty() => return Ok(at.ends_at(vec![name], kind.into())),
            Ok(Some(_)) => return Err(at.stuck_at(&name, StuckReason::NotAFolder)),
            Err(problem) => return Err(at.stuck_at(&name, StuckReason::System(problem))),
        }
    }
    let found = if missing.is_empty() { Found::Folder } else { Found::Missing };
    Ok(at.ends_at(missing, found))
}

/// The folder that has been reached.
struct FolderPosition {
    folder: OwnedFd,
    path: PathBuf,
}

impl FolderPosition {
    fn enter_root(&mut self) -> Result<(), Errno> {
        self.folder = open_folder(CWD, "/")?;
        self.path = PathBuf::from("/");
        Ok(())
    }

    fn go_up(&mut self) -> Result<(), Errno> {
        self.folder = open_folder(&self.folder, "..")?;
        self.path.pop();
        Ok(())
    }

    /// What has this name, not through a link.
    fn kind(&self, name: &OsStr) -> Result<Option<FileType>, Errno> {
        match rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    fn link(&self, name: &OsStr) -> Result<PathBuf, Errno> {
        let target = rustix::fs::readlinkat(&self.folder, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    fn ends_at(self, names: Vec<OsString>, found: Found) -> Resolved {
        let mut path = self.path;
        path.extend(&names);
        Resolved { folder: self.folder, names, path, found }
    }

    fn stuck(self, reason: StuckReason) -> Stuck {
        Stuck { folder: self.folder, path: self.path, reason }
    }

    fn stuck_at(mut self, name: &OsStr, reason: StuckReason) -> Stuck {
        self.path.push(name);
        self.stuck(reason)
    }
}

fn add_steps(steps: &mut Vec<PathStep>, path: &Path) {
    let new = path.components().filter_map(|component| match component {
        Component::RootDir => Some(PathStep::Root),
        Component::ParentDir => Some(PathStep::Up),
        Component::Normal(name) => Some(PathStep::Name(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    });
    steps.extend(new.collect::<Vec<_>>().into_iter().rev());
}
