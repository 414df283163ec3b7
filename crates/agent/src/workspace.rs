//! [`Workspace`]: the folder that file tools work in, and the files in it that they may not change.
//!
//! A path of a call is followed one name at a time with open folders (`workspace/resolve.rs`), so a link
//! that is exchanged meanwhile cannot lead a tool out of the workspace: what was checked is what is
//! used. A path may lead into the workspace, or into a folder that the host allows beside it.
//!
//! Which files are protected is the host's list (`workspace/protected.rs`). What a tool does with a path
//! that was found: `workspace/located.rs`.

mod error;
mod located;
mod protected;
mod resolve;
mod unfinished;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Stat;

pub use error::PathError;
pub(crate) use located::{Found, Located, open_file_in};
pub use protected::{BadPattern, ProtectedFiles};
use resolve::{Resolved, Stuck, StuckReason, is_same_file, open_folder, resolve};

use crate::limits::{FOLDERS_DEPTH_MAX, PATH_BYTES_MAX};

/// The folder that file tools work in.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    /// The workspace first, then what is allowed beside it. They stay open, so that no other folder can
    /// get their number.
    folders: Vec<OpenedFolder>,
    protected: ProtectedFiles,
}

#[derive(Debug)]
struct OpenedFolder {
    fd: OwnedFd,
    stat: Stat,
}

impl Workspace {
    /// Opens the workspace and the folders that are allowed beside it. Both may be reached through links:
    /// the host names them.
    pub fn open(
        root: &Path,
        allowed: &[PathBuf],
        protected: ProtectedFiles,
    ) -> Result<Self, PathError> {
        let real = |path: &Path| {
            fs::canonicalize(path).map_err(|source| PathError::other("open", path, source))
        };
        let root = real(root)?;
        let mut folders = vec![OpenedFolder::open(&root)?];
        for path in allowed {
            folders.push(OpenedFolder::open(&real(path)?)?);
        }
        Ok(Self { root, folders, protected })
    }

    /// The workspace's folder, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace's folder, open.
    pub(crate) fn open_root(&self) -> io::Result<OwnedFd> {
        self.folders[0].fd.try_clone()
    }

    /// Where a path leads that a call wants to read. Relative paths start at the workspace.
    pub(crate) fn locate(&self, asked: &str) -> Result<Located, PathError> {
        let path = readable(asked)?;
        let from =
            self.open_root().map_err(|source| PathError::other("open", &self.root, source))?;
        match resolve(from, &self.root, path) {
            Ok(resolved) => {
                self.check_inside(asked, &resolved.folder, &resolved.path)?;
                let Resolved { folder, names, path, found } = resolved;
                Ok(Located::new(folder, names, path, found))
            }
            // What is outside is not described, also by saying that it is missing.
            Err(stuck) => {
                self.check_inside(asked, &stuck.folder, &stuck.path)?;
                Err(why_stuck(stuck))
            }
        }
    }

    /// The same for a call that wants to change what is there: refused if it is protected.
    pub(crate) fn locate_for_change(&self, asked: &str) -> Result<Located, PathError> {
        let located = self.locate(asked)?;
        if self.protected.covers(&located, &self.root.join(asked)) {
            return Err(PathError::Protected { path: located.path().to_owned() });
        }
        Ok(located)
    }

    fn check_inside(&self, asked: &str, folder: &OwnedFd, path: &Path) -> Result<(), PathError> {
        let inside = self.holds(folder);
        if inside.map_err(|source| PathError::other("look at", path, source))? {
            return Ok(());
        }
        let (asked, path, root) = (asked.to_owned(), path.to_owned(), self.root.clone());
        Err(PathError::Outside { asked, path, root })
    }

    /// Whether this folder is an allowed one or below it, by climbing up from it.
    fn holds(&self, folder: &OwnedFd) -> io::Result<bool> {
        let mut at = folder.try_clone()?;
        let mut stat = rustix::fs::fstat(&at)?;
        for _ in 0..FOLDERS_DEPTH_MAX {
            if self.folders.iter().any(|allowed| is_same_file(&allowed.stat, &stat)) {
                return Ok(true);
            }
            let above = open_folder(&at, "..")?;
            let above_stat = rustix::fs::fstat(&above)?;
            if is_same_file(&above_stat, &stat) {
                return Ok(false);
            }
            (at, stat) = (above, above_stat);
        }
        Ok(false)
    }
}

impl OpenedFolder {
    fn open(path: &Path) -> Result<Self, PathError> {
        let opened = || -> io::Result<Self> {
            let fd = open_folder(rustix::fs::CWD, path)?;
            let stat = rustix::fs::fstat(&fd)?;
            Ok(Self { fd, stat })
        };
        opened().map_err(|source| PathError::other("open", path, source))
    }
}

/// A path as a model writes it, if it is one.
fn readable(asked: &str) -> Result<&Path, PathError> {
    let path = Path::new(asked);
    match path.as_os_str().as_bytes() {
        b"" => Err(PathError::Empty),
        bytes if bytes.contains(&0) => Err(PathError::Nul),
        bytes if bytes.len() > PATH_BYTES_MAX => Err(PathError::TooLong),
        // A shell would expand it; here it would become a folder of that name.
        b"~" | [b'~', b'/', ..] => Err(PathError::Tilde { asked: asked.to_owned() }),
        _ => Ok(path),
    }
}

fn why_stuck(stuck: Stuck) -> PathError {
    let path = stuck.path;
    match stuck.reason {
        StuckReason::NotAFolder => PathError::NotAFolder { path },
        StuckReason::TooManyLinks => PathError::TooManyLinks { path },
        StuckReason::Missing => PathError::Missing { path },
        StuckReason::System(problem) => PathError::other("open", &path, problem.into()),
    }
}
