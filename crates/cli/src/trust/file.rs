//! The trust file: read completely or not at all, and changed under a lock.
//!
//! It is `trust` in the user's state folder. It decides what runs, so it must belong to the user
//! and be writable by the user alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::limits::{TRUST_BYTES_MAX, TRUSTED_FILES_MAX};
use super::record::{self, NotRecords, Record, Records};
use crate::file_lock::{self, NotLocked};

/// Its name in the state folder.
const NAME: &str = "trust";

/// Why the trust file cannot be read or changed.
#[derive(Debug)]
pub(crate) enum TrustError {
    /// The user's state folder is unknown.
    NoStateFolder,
    /// A system error while reading.
    Unreadable { path: PathBuf, cause: io::Error },
    /// It is a folder, a pipe or a device.
    NotAFile { path: PathBuf },
    /// Other users can write it.
    OthersCanWrite { path: PathBuf, mode: u32 },
    /// It belongs to another user.
    OfOthers { path: PathBuf, owner: u32 },
    /// It is larger than the limit.
    TooLarge { path: PathBuf, bytes_max: usize },
    /// A newer version of hookwright wrote it.
    Newer { path: PathBuf, version: String },
    /// It is damaged.
    Damaged { path: PathBuf, line: usize },
    /// A system error while writing.
    NotWritable { path: PathBuf, cause: io::Error },
    /// Another process is holding the lock.
    Busy { path: PathBuf },
    /// The trust file is full.
    Full { path: PathBuf, files_max: usize },
}

/// The trusted files; empty if there is no trust file.
pub(super) fn read(folder: &Path) -> Result<Records, TrustError> {
    let path = folder.join(NAME);
    // Without this flag, opening a named pipe would block.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(nonblocking).open(&path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Records::default()),
        Err(cause) => return Err(TrustError::Unreadable { path, cause }),
    };
    let metadata = match file.metadata() {
        Ok(metadata) => metadata,
        Err(cause) => return Err(TrustError::Unreadable { path, cause }),
    };
    if !metadata.is_file() {
        return Err(TrustError::NotAFile { path });
    }
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o777);
    if owner != rustix::process::geteuid().as_raw() {
        return Err(TrustError::OfOthers { path, owner });
    }
    if mode & 0o022 != 0 {
        return Err(TrustError::OthersCanWrite { path, mode });
    }
    let mut bytes =
        Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).min(TRUST_BYTES_MAX) + 1);
    if let Err(cause) = file.take(TRUST_BYTES_MAX as u64 + 1).read_to_end(&mut bytes) {
        return Err(TrustError::Unreadable { path, cause });
    }
    if bytes.len() > TRUST_BYTES_MAX {
        return Err(TrustError::TooLarge { path, bytes_max: TRUST_BYTES_MAX });
    }
    Records::read(bytes).map_err(|error| match error {
        NotRecords::Newer { version } => TrustError::Newer { path, version },
        NotRecords::Damaged { line } => TrustError::Damaged { path, line },
    })
}

/// Changes the trust file under the lock.
pub(super) fn change(
    folder: &Path,
    change: impl FnOnce(&mut Vec<Record>),
) -> Result<(), TrustError> {
    let path = folder.join(NAME);
    make_folder(folder).map_err(|cause| TrustError::NotWritable { path: folder.into(), cause })?;
    let _lock = lock(folder)?;
    let mut records = read(folder)?.all();
    let before = records.clone();
    change(&mut records);
    if records == before {
        return Ok(());
    }
    if records.len() > TRUSTED_FILES_MAX {
        records.retain(|record| !is_gone(&record.place));
    }
    let text = record::written(&records);
    if records.len() > TRUSTED_FILES_MAX || text.len() > TRUST_BYTES_MAX {
        return Err(TrustError::Full { path, files_max: TRUSTED_FILES_MAX });
    }
    replace(folder, &path, &text).map_err(|cause| TrustError::NotWritable { path, cause })
}

/// Whether a place certainly has no file any more.
pub(super) fn is_gone(place: &Path) -> bool {
    fs::symlink_metadata(place)
        .is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Takes the lock. The file itself cannot be locked, since it is replaced.
fn lock(folder: &Path) -> Result<File, TrustError> {
    let path = folder.join("trust.lock");
    file_lock::lock(&path).map_err(|error| match error {
        NotLocked::Busy => TrustError::Busy { path },
        NotLocked::Refused(cause) => TrustError::NotWritable { path, cause },
    })
}

/// Replaces the file atomically: readers see the old or the new one.
fn replace(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let draft = folder.join("trust.new");
    // A process that died left it; this process holds the lock.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    File::open(folder)?.sync_all()
}
