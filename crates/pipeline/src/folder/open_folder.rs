//! [`OpenFolder`]: a folder that is held open, and the operations on its files.
//!
//! Every operation uses a plain name in an open folder, and no symbolic link is followed. So a
//! process that replaces folders by links meanwhile can't redirect us, on any Unix system.
//! (`openat2` could do the same in one step, but only on Linux, and old containers forbid it.)

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use hookwright_process::faults;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::FolderError;
use crate::limits::WRITE_ATTEMPTS_MAX;

/// The result of reading a file.
pub(super) enum Read {
    Missing,
    Whole(Vec<u8>),
    TooBig { bytes: u64 },
    NotAFile { found: &'static str },
}

pub(super) struct OpenFolder {
    fd: OwnedFd,
    /// For messages.
    path: PathBuf,
}

/// The state of a file. It differs after every change, except for two changes within one tick of the
/// clock that leave the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    kind: FileType,
    inode: u64,
    bytes: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl FileStamp {
    pub(super) fn is_file(self) -> bool {
        self.kind == FileType::RegularFile
    }

    pub(super) fn is_folder(self) -> bool {
        self.kind == FileType::Directory
    }
}

/// Who may read a written file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// Determined by the user's umask.
    Usual,
    /// The user only: it may contain a secret.
    UserAlone,
}

/// What to do with an existing file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    Replace,
    Leave,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl OpenFolder {
    /// The project root: the only folder that may be reached through links, for its user named it.
    pub(super) fn root(path: &Path) -> Result<Self, FolderError> {
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
            Ok(fd) => Ok(Self { fd, path: path.to_owned() }),
            Err(Errno::NOENT) => Err(FolderError::RootMissing { path: path.to_owned() }),
            Err(Errno::NOTDIR) => Err(FolderError::NotAFolder { path: path.to_owned() }),
            Err(problem) => Err(error("open", path.to_owned(), problem)),
        }
    }

    /// The folder of this name, made if missing.
    pub(super) fn make(&self, name: &str) -> Result<Self, FolderError> {
        // Usually it exists.
        if let Some(folder) = self.enter(name)? {
            return Ok(folder);
        }
        faults::point("folder");
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(problem) => return Err(error("make", self.path.join(name), problem)),
        }
        let missing = || error("open", self.path.join(name), Errno::NOENT);
        self.enter(name)?.ok_or_else(missing)
    }

    /// The folder of this name, if it exists.
    pub(super) fn enter(&self, name: &str) -> Result<Option<Self>, FolderError> {
        let path = self.path.join(name);
        match rustix::fs::openat(&self.fd, name, FOLDER, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, path })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => match self.kind(name)? {
                Some(FileType::Symlink) => Err(FolderError::SymbolicLink { path }),
                Some(_) | None => Err(FolderError::NotAFolder { path }),
            },
            Err(problem) => Err(error("open", path, problem)),
        }
    }

    /// All names in it.
    pub(super) fn names(&self) -> Result<Vec<OsString>, FolderError> {
        let problem = |problem| error("list", self.path.clone(), problem);
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd).map_err(problem)? {
            let name = entry.map_err(problem)?.file_name().to_bytes().to_vec();
            names.push(OsString::from_vec(name));
        }
        Ok(names)
    }

    /// Whether it has a regular file of this name.
    pub(super) fn has_file(&self, name: &str) -> Result<bool, FolderError> {
        Ok(self.kind(name)? == Some(FileType::RegularFile))
    }

    /// Writes a whole file, replacing an existing one.
    pub(super) fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        self.write(name, bytes, Existing::Replace, Readers::Usual)
    }

    /// The same for a file that only the user may read.
    pub(super) fn replace_private(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        self.write(name, bytes, Existing::Replace, Readers::UserAlone)
    }

    /// Writes a whole file, unless it exists.
    pub(super) fn add(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        match self.kind(name)? {
            None => self.write(name, bytes, Existing::Leave, Readers::Usual),
            // A process killed right after the naming left the other name.
            Some(FileType::RegularFile) => self.clean_up(name),
            Some(FileType::Symlink) => {
                Err(FolderError::SymbolicLink { path: self.path.join(name) })
            }
            Some(_) => Err(FolderError::NotAFile { path: self.path.join(name) }),
        }
    }

    /// Reads a file, within a limit. Never waits: a pipe is not a file.
    pub(super) fn read(&self, name: &str, bytes_max: u64) -> Result<Read, FolderError> {
        let problem = |problem| error("read", self.path.join(name), problem);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(Read::Missing),
            // Its kind may explain better why it can't be opened: a link, a socket.
            Err(cause) => {
                return match self.kind(name)? {
                    Some(FileType::RegularFile) | None => Err(problem(cause)),
                    Some(kind) => Ok(Read::NotAFile { found: kind_name(kind) }),
                };
            }
        };
        let stat = rustix::fs::fstat(&file).map_err(problem)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            kind => return Ok(Read::NotAFile { found: kind_name(kind) }),
        }
        let mut bytes = Vec::new();
        match file.take(bytes_max + 1).read_to_end(&mut bytes) {
            Ok(read) if read as u64 > bytes_max => Ok(Read::TooBig {
                bytes: u64::try_from(stat.st_size).unwrap_or(0).max(read as u64),
            }),
            Ok(_) => Ok(Read::Whole(bytes)),
            Err(source) => {
                Err(FolderError::Other { doing: "read", path: self.path.join(name), source })
            }
        }
    }

    /// The state of an entry; `None` if it does not exist.
    pub(super) fn stamp(&self, name: &str) -> Result<Option<FileStamp>, FolderError> {
        let stat = match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(problem) => return Err(error("look at", self.path.join(name), problem)),
        };
        Ok(Some(FileStamp {
            kind: FileType::from_raw_mode(stat.st_mode),
            inode: stat.st_ino,
            bytes: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }))
    }

    /// Removes a file, if it exists.
    pub(super) fn remove(&self, name: &str) -> Result<(), FolderError> {
        faults::point("file is removed");
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            // Systems report different errors for a folder.
            Err(problem) => match self.kind(name) {
                Ok(Some(FileType::Directory)) => {
                    Err(FolderError::NotAFile { path: self.path.join(name) })
                }
                Ok(_) | Err(_) => Err(error("remove", self.path.join(name), problem)),
            },
        }
    }

    /// Removes a file, or a folder with everything in it, if it exists.
    pub(super) fn remove_all(&self, name: &OsStr) -> Result<(), FolderError> {
        let problem = |problem| error("remove", self.path.join(name), problem);
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // Systems report different errors for a folder.
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(cause) => return Err(problem(cause)),
        }
        let fd = match rustix::fs::openat(&self.fd, name, FOLDER, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(()),
            Err(cause) => return Err(problem(cause)),
        };
        let folder = Self { fd, path: self.path.join(name) };
        for inner in folder.names()? {
            if inner != "." && inner != ".." {
                folder.remove_all(&inner)?;
            }
        }
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(cause) => Err(problem(cause)),
        }
    }

    fn kind(&self, name: &str) -> Result<Option<FileType>, FolderError> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(problem) => Err(error("look at", self.path.join(name), problem)),
        }
    }

    fn write(
        &self,
        name: &str,
        bytes: &[u8],
        existing: Existing,
        readers: Readers,
    ) -> Result<(), FolderError> {
        self.clean_up(name)?;
        let mut attempt = 1;
        loop {
            let unfinished = unfinished_name(name);
            faults::point("file");
            let done = self.write_beside(&unfinished, bytes, readers);
            faults::point("file written beside");
            let done = done.and_then(|()| self.give_name(&unfinished, name, existing));
            faults::point("file named");
            match done {
                Ok(()) => return Ok(()),
                // Another writer removed ours as a leftover. Both may do so.
                Err(Named::Gone) if attempt < WRITE_ATTEMPTS_MAX => attempt += 1,
                Err(Named::Gone) => {
                    return Err(error("write", self.path.join(name), Errno::NOENT));
                }
                Err(Named::Problem(problem)) => {
                    // The folder stays clean in any case. The first error is reported.
                    let _ = self.remove(&unfinished);
                    return Err(self.write_error(name, problem));
                }
            }
        }
    }

    /// Removes what killed writers of this file left.
    fn clean_up(&self, name: &str) -> Result<(), FolderError> {
        for found in self.names()? {
            if let Some(found) = found.to_str().filter(|found| is_unfinished(found, name)) {
                // A folder of such a name is not ours, and does no harm.
                let _ = self.remove(found);
            }
        }
        Ok(())
    }

    fn write_beside(&self, unfinished: &str, bytes: &[u8], readers: Readers) -> Result<(), Named> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(match readers {
            Readers::Usual => 0o666,
            Readers::UserAlone => 0o600,
        });
        let fd = match rustix::fs::openat(&self.fd, unfinished, flags, mode) {
            Ok(fd) => fd,
            // Another process planted it, or a dead process had our number. The next name differs.
            Err(Errno::EXIST) => return Err(Named::Gone),
            Err(problem) => return Err(Named::Problem(problem.into())),
        };
        let mut file = File::from(fd);
        faults::point("file opened beside");
        file.write_all(bytes).map_err(Named::Problem)
    }

    fn give_name(&self, unfinished: &str, name: &str, existing: Existing) -> Result<(), Named> {
        if existing == Existing::Leave {
            let linked = rustix::fs::linkat(&self.fd, unfinished, &self.fd, name, AtFlags::empty());
            match linked {
                // Another writer was faster; its file stays.
                Ok(()) | Err(Errno::EXIST) => {
                    faults::point("file linked");
                    let _ = self.remove(unfinished);
                    return Ok(());
                }
                Err(Errno::NOENT) => return Err(Named::Gone),
                // Some file systems have no hard links. It did not exist a moment ago.
                Err(_) => {}
            }
        }
        match rustix::fs::renameat(&self.fd, unfinished, &self.fd, name) {
            Ok(()) => Ok(()),
            Err(Errno::NOENT) => Err(Named::Gone),
            Err(problem) => Err(Named::Problem(problem.into())),
        }
    }

    fn write_error(&self, name: &str, problem: io::Error) -> FolderError {
        let path = self.path.join(name);
        match Errno::from_io_error(&problem) {
            Some(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => FolderError::NotAFile { path },
            Some(errno) => error("write", path, errno),
            None => FolderError::Other { doing: "write", path, source: problem },
        }
    }
}

/// Why an unfinished file did not get its name.
enum Named {
    /// It does not exist any more, or is not ours.
    Gone,
    Problem(io::Error),
}

const UNFINISHED: &str = ".unfinished";

/// A name that no other writer uses: not in this process, and not in another living one.
fn unfinished_name(name: &str) -> String {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    format!(".{name}.{}-{number}{UNFINISHED}", std::process::id())
}

/// Whether a file of this name was never finished, whatever its name was to be.
pub(super) fn is_unfinished_name(found: &str) -> bool {
    found.starts_with('.') && found.ends_with(UNFINISHED)
}

fn is_unfinished(found: &str, name: &str) -> bool {
    let rest = found.strip_prefix('.').and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(UNFINISHED))
}

fn error(doing: &'static str, path: PathBuf, problem: Errno) -> FolderError {
    let source = io::Error::from(problem);
    match problem {
        Errno::ACCESS | Errno::PERM | Errno::ROFS if doing != "read" => {
            FolderError::NotWritable { path, source }
        }
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => FolderError::NoRoom { path, source },
        _ => FolderError::Other { doing, path, source },
    }
}

fn kind_name(kind: FileType) -> &'static str {
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
