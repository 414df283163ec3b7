//! [`WorkFolder`]: a worker's folder for work trees, and the parts in it.
//!
//! A worker deletes work trees there, and git obeys settings that are there. So the folder and its
//! parts have to be the user's own: no links, no other owner, not writable by others. A folder in the
//! checkout must also not come from the repository. What is below the folder is reached from an open
//! folder, by plain names, and through no link.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::git_program::GitProgram;
use super::own_files::{remove_all, write_own};
use super::{TreeError, WorkPlace};

/// The folder of a project that names none, relative to the project root.
const OF_CHECKOUT: [&str; 2] = [".hookwright", "work"];

/// The folders in it.
const PARTS: [&str; 4] =
    [WorkPlace::TREES, WorkPlace::STORES, WorkPlace::INDEXES, WorkPlace::LOCKS];

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder of all work trees of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFolder {
    /// The folder above, which may be reached through links.
    above: PathBuf,
    /// The names that lead from there to it, and through no link.
    names: Vec<OsString>,
    path: PathBuf,
    /// Whether it is in a checkout, so that a repository could contain it.
    is_in_checkout: bool,
}

/// Why a folder cannot be used for work trees.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkFolderError {
    /// A link, a file or something else.
    #[error("`{}` is not a folder", path.display())]
    NotAFolder {
        /// Its path.
        path: PathBuf,
    },
    /// The folder is another user's.
    #[error("`{}` belongs to another user", path.display())]
    OfAnotherUser {
        /// Its path.
        path: PathBuf,
    },
    /// Others may write to the folder.
    #[error("other users may write to `{}`", path.display())]
    WritableByOthers {
        /// Its path.
        path: PathBuf,
    },
    /// The folder comes from the repository.
    #[error("git tracks `{path}`, where work trees are made")]
    Tracked {
        /// The tracked path, relative to the project root.
        path: String,
    },
    /// The system reports an error.
    #[error("cannot {doing} `{}`: {cause}", path.display())]
    System {
        /// The operation.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        cause: String,
    },
    /// Git cannot be asked what it tracks.
    #[error(transparent)]
    Git(#[from] TreeError),
}

/// What to do with a folder that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

impl WorkFolder {
    /// The usual folder of a project with this root.
    pub fn of_checkout(root: &Path) -> Self {
        let names = OF_CHECKOUT.map(OsString::from).to_vec();
        let path = names.iter().fold(root.to_owned(), |path, name| path.join(name));
        Self { above: root.to_owned(), names, path, is_in_checkout: true }
    }

    /// The folder that a project or a user has chosen.
    pub fn chosen(path: &Path) -> Self {
        let (above, names) = match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => (above.to_owned(), vec![name.to_owned()]),
            _ => (path.to_owned(), Vec::new()),
        };
        Self { above, names, path: path.to_owned(), is_in_checkout: false }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it with its parts, as far as they are missing, and checks them. Git ignores it,
    /// wherever it is.
    pub fn make(&self) -> Result<(), WorkFolderError> {
        if !self.is_in_checkout {
            fs::create_dir_all(&self.above)
                .map_err(|error| system("create", &self.above, &error))?;
        }
        self.opened(Missing::Make)?;
        let ignore = self.path.join(".gitignore");
        write_own(&ignore, b"*\n").map_err(|error| system("write", &ignore, &error))
    }

    /// Checks what exists of it. `false` if it does not exist.
    pub fn check(&self) -> Result<bool, WorkFolderError> {
        Ok(self.opened(Missing::Leave)?.is_some())
    }

    /// Makes sure that nothing in it can come from the repository.
    pub async fn check_untracked(&self, git: &GitProgram) -> Result<(), WorkFolderError> {
        if !self.is_in_checkout {
            return Ok(());
        }
        let call = git.call(&self.above, "list the tracked files", &["ls-files", "-z", "--"]);
        let listed = call.argument(OF_CHECKOUT[0]).run().await?;
        // Outside git.
        if listed.code == 128 && listed.stderr.contains("not a git repository") {
            return Ok(());
        }
        if listed.code != 0 {
            return Err(WorkFolderError::Git(listed.failure()));
        }
        let own: PathBuf = OF_CHECKOUT.iter().collect();
        for name in listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let path = String::from_utf8_lossy(name);
            // A submodule or a link may be in the place of a folder above.
            if Path::new(&*path).starts_with(&own) || own.starts_with(&*path) {
                return Err(WorkFolderError::Tracked { path: path.into_owned() });
            }
        }
        Ok(())
    }

    /// Removes what is at a path below this folder, with everything in it.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let below = path.strip_prefix(&self.path).map_err(io::Error::other)?;
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        let (Some(above), Some(name), true) = (below.parent(), below.file_name(), is_plain) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut folder = rustix::fs::openat(
            CWD,
            &self.above,
            FOLDER.difference(OFlags::NOFOLLOW),
            Mode::empty(),
        )?;
        for name in self.names.iter().map(OsString::as_os_str).chain(above) {
            folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok(remove_all(&folder, name)?)
    }

    /// The open folder; `None` if it does not exist.
    fn opened(&self, missing: Missing) -> Result<Option<OwnedFd>, WorkFolderError> {
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        let mut path = self.above.clone();
        let mut folder = match rustix::fs::openat(CWD, &path, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) if missing == Missing::Leave => return Ok(None),
            Err(error) => return Err(system("open", &path, &error.into())),
        };
        for (number, name) in self.names.iter().enumerate() {
            path.push(name);
            // The folders above have other contents, which others may read.
            let mode = match number + 1 == self.names.len() {
                true => Mode::RWXU,
                false => Mode::from_raw_mode(0o777),
            };
            match entered(&folder, &path, missing, mode)? {
                Some(next) => folder = next,
                None => return Ok(None),
            }
        }
        check_owner(&folder, &path)?;
        for part in PARTS {
            let path = path.join(part);
            if let Some(part) = entered(&folder, &path, missing, Mode::RWXU)? {
                check_owner(&part, &path)?;
            }
        }
        Ok(Some(folder))
    }
}

/// The folder at this path, whose parent is open; `None` if it does not exist.
fn entered(
    parent: &OwnedFd,
    path: &Path,
    missing: Missing,
    mode: Mode,
) -> Result<Option<OwnedFd>, WorkFolderError> {
    let name = path.file_name().unwrap_or_default();
    if missing == Missing::Make {
        match rustix::fs::mkdirat(parent, name, mode) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(system("create", path, &error.into())),
        }
    }
    match rustix::fs::openat(parent, name, FOLDER, Mode::empty()) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
            Err(WorkFolderError::NotAFolder { path: path.to_owned() })
        }
        Err(error) => Err(system("open", path, &error.into())),
    }
}

/// Makes sure that only this user can have written to an open folder.
fn check_owner(folder: &OwnedFd, path: &Path) -> Result<(), WorkFolderError> {
    let found = rustix::fs::fstat(folder).map_err(|error| system("open", path, &error.into()))?;
    if found.st_uid != rustix::process::geteuid().as_raw() {
        return Err(WorkFolderError::OfAnotherUser { path: path.to_owned() });
    }
    if Mode::from_raw_mode(found.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
        return Err(WorkFolderError::WritableByOthers { path: path.to_owned() });
    }
    Ok(())
}

fn system(doing: &'static str, path: &Path, error: &io::Error) -> WorkFolderError {
    WorkFolderError::System { doing, path: path.to_owned(), cause: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn a_folder_that_is_made_is_the_users_alone() {
        let checkout = tempfile::tempdir().expect("a folder");
        let folder = WorkFolder::of_checkout(checkout.path());
        assert_eq!(folder.check(), Ok(false));
        folder.make().expect("made");
        folder.make().expect("made again");
        assert_eq!(folder.check(), Ok(true));
        assert_eq!(mode(folder.path()), 0o700);
        for part in PARTS {
            assert_eq!(mode(&folder.path().join(part)), 0o700);
        }
        let ignored = fs::read_to_string(folder.path().join(".gitignore"));
        assert_eq!(ignored.expect("there"), "*\n");
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_is_refused() {
        for name in [".hookwright", ".hookwright/work", ".hookwright/work/trees"] {
            let (checkout, precious) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let folder = WorkFolder::of_checkout(checkout.path());
            let path = checkout.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::create_dir_all(precious.path().join("work/trees")).expect("made");
            symlink(precious.path(), &path).expect("linked");
            let refused = Err(WorkFolderError::NotAFolder { path });
            assert_eq!(folder.make(), refused, "{name}");
            assert_eq!(folder.check().map(drop), refused, "{name}");
            // Nor is anything deleted through it.
            let below = folder.path().join("trees/work");
            assert!(folder.remove(&below).is_err(), "{name}");
            assert!(precious.path().join("work/trees").is_dir(), "{name}");
        }
    }

    #[test]
    fn a_folder_to_which_others_may_write_is_refused() {
        let above = tempfile::tempdir().expect("a folder");
        let folder = WorkFolder::chosen(&above.path().join("work"));
        folder.make().expect("made");
        for path in [folder.path().to_owned(), folder.path().join("stores")] {
            for mode in [0o720, 0o702] {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
                let refused = WorkFolderError::WritableByOthers { path: path.clone() };
                assert_eq!(folder.check(), Err(refused));
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
            assert_eq!(folder.check(), Ok(true));
        }
    }
}
