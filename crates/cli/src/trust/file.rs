//! The trust file: read whole or not at all, and changed by one process at a time.
//!
//! It is `trust` in the user's state folder. Whoever can write it decides what runs, so it has to
//! belong to the user, and nobody else may write it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::limits::{TRUST_BYTES_MAX, TRUSTED_FILES_MAX};
use super::record::{self, NotRecords, Record, Records};
use crate::file_lock::{self, NotLocked};

/// Its name in the state folder.
const NAME: &str = "trust";

/// Why nothing is trusted, or why that cannot be changed.
#[derive(Debug)]
pub(crate) enum TrustError {
    /// Nobody knows where it is kept.
    NoStateFolder,
    /// The system does not let us read it.
    Unreadable { path: PathBuf, cause: io::Error },
    /// It is a folder, a pipe or a device.
    NotAFile { path: PathBuf },
    /// Others could have added what they like.
    OthersCanWrite { path: PathBuf, mode: u32 },
    /// Somebody else has put it there.
    OfOthers { path: PathBuf, owner: u32 },
    /// It is larger than any that is written.
    TooLarge { path: PathBuf, bytes_max: usize },
    /// A newer hookwright wrote it.
    Newer { path: PathBuf, version: String },
    /// It is not as it was written.
    Damaged { path: PathBuf, line: usize },
    /// The system does not let us write it.
    NotWritable { path: PathBuf, cause: io::Error },
    /// Another process is at it, and does not come to an end.
    Busy { path: PathBuf },
    /// There is no room for more.
    Full { path: PathBuf, files_max: usize },
}

/// What is trusted; nothing if there is no such file.
pub(super) fn read(folder: &Path) -> Result<Records, TrustError> {
    let path = folder.join(NAME);
    // A pipe would keep us waiting for ever without this flag.
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

/// Changes what is trusted. Two processes at once do it one after the other.
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

/// Whether there is clearly nothing at this place any more.
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

/// Waits until this process alone changes the file. The file itself cannot be locked, since it is
/// replaced.
fn lock(folder: &Path) -> Result<File, TrustError> {
    let path = folder.join("trust.lock");
    file_lock::lock(&path).map_err(|error| match error {
        NotLocked::Busy => TrustError::Busy { path },
        NotLocked::Refused(cause) => TrustError::NotWritable { path, cause },
    })
}

/// Puts a new file in place of the old one: whoever reads meanwhile sees one of the two, whole.
fn replace(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let draft = folder.join("trust.new");
    // Left by a process that died; only the holder of the lock is here.
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
