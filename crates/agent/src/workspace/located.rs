//! [`Located`]: where a path leads, and what a tool does there: read a file, or write it whole.
//!
//! Everything goes by a plain name in the open folder that was checked, and no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::PathError;
use super::resolve::{is_same_file, open_folder};
use super::unfinished::UnfinishedFile;

/// What is where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Missing,
    Folder,
    File,
    Other(FileType),
}

impl From<FileType> for Found {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            kind => Self::Other(kind),
        }
    }
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Located {
    folder: OwnedFd,
    /// Empty for the folder itself; else all but the last are folders that do not exist.
    names: Vec<OsString>,
    path: PathBuf,
    found: Found,
}

impl Located {
    pub(super) fn new(folder: OwnedFd, names: Vec<OsString>, path: PathBuf, found: Found) -> Self {
        Self { folder, names, path, found }
    }

    /// The whole path, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn found(&self) -> Found {
        self.found
    }

    /// The last folder on the way that exists; the place itself if that is a folder.
    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// The file's stat, if there is something.
    pub(super) fn is_file_of(&self, other: &Stat) -> bool {
        let [name] = self.names.as_slice() else { return false };
        let stat = rustix::fs::statat(&self.folder, &**name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| is_same_file(&stat, other))
    }

    /// Opens the regular file that is there. Never waits: a pipe is no file.
    pub(crate) fn open_file(&self) -> Result<File, PathError> {
        let path = &self.path;
        match self.found {
            Found::Missing => return Err(PathError::Missing { path: path.clone() }),
            Found::Folder => return Err(self.not_a_file(FileType::Directory)),
            Found::Other(kind) => return Err(self.not_a_file(kind)),
            Found::File => {}
        }
        let [name] = self.names.as_slice() else {
            return Err(PathError::Missing { path: path.clone() });
        };
        match open_file_in(&self.folder, name) {
            Ok(Ok(file)) => Ok(file),
            Ok(Err(kind)) => Err(self.not_a_file(kind)),
            Err(Errno::NOENT) => Err(PathError::Missing { path: path.clone() }),
            Err(problem) => Err(PathError::other("read", path, problem.into())),
        }
    }

    fn not_a_file(&self, kind: FileType) -> PathError {
        PathError::NotAFile { path: self.path.clone(), found: kind_name(kind) }
    }

    /// Writes the file whole: the old content stays until the new one is complete. A file that is there
    /// keeps its mode; folders that are missing are made.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<(), PathError> {
        match self.found {
            Found::Missing | Found::File => {}
            Found::Folder => return Err(self.not_a_file(FileType::Directory)),
            Found::Other(kind) => return Err(self.not_a_file(kind)),
        }
        let Some((name, missing)) = self.names.split_last() else {
            return Err(self.not_a_file(FileType::Directory));
        };
        let mut made = Vec::new();
        let done = self.make_folders(missing, &mut made).and_then(|folder| {
            replace_in(folder.as_ref().unwrap_or(&self.folder), name, bytes, &self.path)
        });
        if done.is_err() {
            for (folder, name) in made.iter().rev() {
                // Only a folder that is still empty goes. The first problem is the one to tell.
                let _ = rustix::fs::unlinkat(folder, &**name, AtFlags::REMOVEDIR);
            }
        }
        done
    }

    /// Makes the folders that are missing; gives the last one. What was made, and where, is in `made`.
    fn make_folders(
        &self,
        names: &[OsString],
        made: &mut Vec<(OwnedFd, OsString)>,
    ) -> Result<Option<OwnedFd>, PathError> {
        let problem = |source: io::Error| PathError::writing(&self.path, source);
        let mut last: Option<OwnedFd> = None;
        for name in names {
            let folder = last.as_ref().unwrap_or(&self.folder);
            match rustix::fs::mkdirat(folder, &**name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push((folder.try_clone().map_err(problem)?, name.clone())),
                // Another tool made it meanwhile; if it is no folder, opening fails.
                Err(Errno::EXIST) => {}
                Err(cause) => return Err(problem(cause.into())),
            }
            last = Some(open_folder(folder, &**name).map_err(|cause| problem(cause.into()))?);
        }
        Ok(last)
    }
}

/// Opens a regular file by its name in a folder, or says what else it is.
pub(crate) fn open_file_in(
    folder: &OwnedFd,
    name: &OsStr,
) -> Result<Result<File, FileType>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(fd) => match kind(&rustix::fs::fstat(&fd)?) {
            FileType::RegularFile => Ok(Ok(File::from(fd))),
            other => Ok(Err(other)),
        },
        // What can't be opened may have a better reason in what it is: a link, a socket.
        Err(cause) => match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) != FileType::RegularFile => Ok(Err(kind(&stat))),
            _ => Err(cause),
        },
    }
}

fn replace_in(folder: &OwnedFd, name: &OsStr, bytes: &[u8], path: &Path) -> Result<(), PathError> {
    let problem = |cause: Errno| PathError::writing(path, cause.into());
    let old = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Some(stat),
            kind => {
                return Err(PathError::NotAFile { path: path.to_owned(), found: kind_name(kind) });
            }
        },
        Err(Errno::NOENT) => None,
        Err(cause) => return Err(problem(cause)),
    };
    if old.is_some() {
        // Exchanging the file would not ask whether it may be written.
        let access = rustix::fs::accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS);
        access.map_err(problem)?;
    }
    let mut unfinished = UnfinishedFile::create(folder, old.is_some()).map_err(problem)?;
    let written = fill(unfinished.file(), bytes, old.as_ref());
    written
        .and_then(|()| Ok(unfinished.take_name(name, old.is_some())?))
        .map_err(|source| PathError::writing(path, source))
}

fn fill(file: &mut File, bytes: &[u8], old: Option<&Stat>) -> io::Result<()> {
    file.write_all(bytes)?;
    let Some(old) = old else { return Ok(()) };
    let new = rustix::fs::fstat(&*file)?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Only root may; for others the file becomes theirs, as with most editors.
        let _ = rustix::fs::fchown(&*file, Some(owner), Some(group));
    }
    // Not the bits that lend rights: writing into the file would remove them too.
    Ok(rustix::fs::fchmod(&*file, Mode::from_raw_mode(old.st_mode & 0o777))?)
}

pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "of an unknown kind",
    }
}
