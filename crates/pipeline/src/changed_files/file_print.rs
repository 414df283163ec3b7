//! [`FilePrint`]: identifies the state of a file.
//!
//! Content is compared if it was read, else size and times. The amount read is bounded.

use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags};

use crate::limits::CHANGED_BYTES_READ_MAX;

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilePrint {
    Missing,
    File {
        executable: bool,
        bytes: u64,
        times: Times,
        content: Option<u64>,
    },
    Link {
        target: Vec<u8>,
    },
    Folder,
    /// A pipe, a socket, a device: it has no content to compare.
    Other,
}

/// Differ after every change of the file, except for two changes within one tick of the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Times {
    modified: (i64, i64),
    /// The inode's change time: no program can set it.
    changed: (i64, i64),
    inode: u64,
}

/// How many bytes may still be read.
pub(super) struct Budget(u64);

impl Budget {
    pub(super) fn new() -> Self {
        Self(CHANGED_BYTES_READ_MAX)
    }

    fn take(&mut self, bytes: u64) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

impl FilePrint {
    /// Without content.
    pub(super) fn of(path: &Path) -> Self {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Self::of_metadata(|| path.to_owned(), &metadata),
            Err(_) => Self::Missing,
        }
    }

    /// With content, as far as the budget allows.
    pub(super) fn with_content(path: &Path, budget: &mut Budget) -> Self {
        let mut print = Self::of(path);
        print.read_content(path, budget);
        print
    }

    /// The path is only evaluated if needed.
    pub(super) fn of_metadata(path: impl FnOnce() -> PathBuf, metadata: &Metadata) -> Self {
        let kind = metadata.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(path()).map(|target| target.into_os_string().into_vec());
            Self::Link { target: target.unwrap_or_default() }
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_fifo()
            || kind.is_socket()
            || kind.is_char_device()
            || kind.is_block_device()
        {
            Self::Other
        } else {
            Self::File {
                executable: metadata.mode() & 0o100 != 0,
                bytes: metadata.len(),
                times: Times {
                    modified: (metadata.mtime(), metadata.mtime_nsec()),
                    changed: (metadata.ctime(), metadata.ctime_nsec()),
                    inode: metadata.ino(),
                },
                content: None,
            }
        }
    }

    /// Reads the content of a file, as far as the budget allows.
    pub(super) fn read_content(&mut self, path: &Path, budget: &mut Budget) {
        if let Self::File { bytes, content, .. } = self
            && budget.take(*bytes)
        {
            *content = content_of(path, *bytes).ok().flatten();
        }
    }

    /// Whether its times are too new to be trusted later: a file that was just changed can be
    /// changed again in the same tick of its file system's clock.
    pub(super) fn is_fresh(&self, now: SystemTime) -> bool {
        const COARSEST_TICK: Duration = Duration::from_secs(2);
        let Self::File { times, .. } = self else { return false };
        let since = now - COARSEST_TICK;
        let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        times.modified.0.max(times.changed.0) >= since
    }

    /// Whether it is the same file with the same content, as far as known.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { executable, bytes, content: Some(content), .. },
                Self::File {
                    executable: other_executable,
                    bytes: other_bytes,
                    content: Some(other_content),
                    ..
                },
            ) => (executable, bytes, content) == (other_executable, other_bytes, other_content),
            (
                Self::File { bytes, times, .. },
                Self::File { bytes: other_bytes, times: other_times, .. },
            ) => (bytes, times) == (other_bytes, other_times),
            (
                Self::Missing | Self::File { .. } | Self::Link { .. } | Self::Folder | Self::Other,
                _,
            ) => self == other,
        }
    }
}

/// A hash of the content; `None` if it does not have the expected length. Never waits for a writer,
/// whatever the path has become.
fn content_of(path: &Path, bytes: u64) -> io::Result<Option<u64>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut hasher = DefaultHasher::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut file = file.take(bytes + 1);
    let mut total = 0;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((total == bytes).then(|| hasher.finish())),
            read => {
                hasher.write(&chunk[..read]);
                total += read as u64;
            }
        }
    }
}
