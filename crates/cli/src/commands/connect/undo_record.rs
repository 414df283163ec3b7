//! [`UndoRecord`]: what `connect --undo` needs to give a file back byte for byte.
//!
//! Of each changed file the user's state folder keeps the content before the first connection, its
//! digest, and the digests of what we wrote. The record is on disk before the file changes: after a
//! crash between the two, the file still has its old content, and the record says so.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::limits::{RECORD_BYTES_MAX, SETTINGS_BYTES_MAX, WRITTEN_MAX};
use super::settings_file::SettingsFile;
use crate::error::ConnectFailure;
use crate::file_lock::{self, NotLocked};
use crate::trust::{Sha256, place_from_text, place_to_text};

/// The folder of records in the user's state folder.
const FOLDER: &str = "connect";

/// Hexadecimal digits of a path's digest that name its record.
const NAME_DIGITS: usize = 32;

/// What was done to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UndoRecord {
    /// The content before the first connection; `None` if there was no file.
    pub(super) original: Option<Vec<u8>>,
    /// Digests of what we wrote, oldest first.
    pub(super) written: Vec<Sha256>,
    /// Whether others changed the file between two connections. It is never restored then.
    pub(super) is_edited: bool,
    /// Folders that were created for it, outermost first.
    pub(super) folders: Vec<PathBuf>,
    /// Names of what an agent was asked to trust, for the file with its trust.
    pub(super) trusted: Vec<String>,
}

/// The record of one file, with its lock held.
pub(super) struct LockedRecord {
    folder: PathBuf,
    name: String,
    _lock: File,
}

impl LockedRecord {
    /// Locks the record of this file in the user's state folder.
    pub(super) fn of(state: &Path, file: &SettingsFile) -> Result<Self, ConnectFailure> {
        let folder = state.join(FOLDER);
        let mut name = Sha256::digest(file.path.as_os_str().as_bytes()).to_hex();
        name.truncate(NAME_DIGITS);
        let failed = |cause| ConnectFailure::Record { path: folder.clone(), cause };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let lock = file_lock::lock(&folder.join(format!("{name}.lock")));
        let lock = lock.map_err(|error| match error {
            NotLocked::Busy => ConnectFailure::Busy { path: file.named.clone() },
            NotLocked::Refused(cause) => failed(cause),
        })?;
        Ok(Self { folder, name, _lock: lock })
    }

    /// The record, if there is one.
    pub(super) fn read(&self) -> Result<Option<UndoRecord>, ConnectFailure> {
        let path = self.path("json");
        let Some(bytes) = read_bounded(&path, RECORD_BYTES_MAX)? else { return Ok(None) };
        let damaged = || ConnectFailure::DamagedRecord { path: path.clone() };
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let digest = |value: &Value| Sha256::from_hex(value.as_str()?);
        let texts = |key: &str| {
            let items = value[key].as_array().into_iter().flatten();
            items.map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        };
        let original = match &value["original"] {
            Value::Null => None,
            expected => {
                let bytes = read_bounded(&self.path("original"), SETTINGS_BYTES_MAX)?;
                let bytes = bytes.ok_or_else(damaged)?;
                if digest(expected) != Some(Sha256::digest(&bytes)) {
                    return Err(damaged());
                }
                Some(bytes)
            }
        };
        let written = value["written"].as_array().into_iter().flatten().map(digest);
        let folders = texts("folders").ok_or_else(damaged)?;
        let folders = folders.iter().map(|folder| place_from_text(folder));
        Ok(Some(UndoRecord {
            original,
            written: written.collect::<Option<_>>().ok_or_else(damaged)?,
            is_edited: value["edited"].as_bool().ok_or_else(damaged)?,
            folders: folders.collect::<Option<_>>().ok_or_else(damaged)?,
            trusted: texts("trusted").ok_or_else(damaged)?,
        }))
    }

    /// Writes the record. The content comes first: a record never names one that is missing.
    pub(super) fn write(&self, record: &UndoRecord, file: &Path) -> Result<(), ConnectFailure> {
        let digest = record.original.as_ref().map(|bytes| Sha256::digest(bytes).to_hex());
        let hex = record.written.iter().map(|digest| digest.to_hex());
        let folders = record.folders.iter().map(|folder| place_to_text(folder));
        let value = json!({
            "version": 1,
            "file": place_to_text(file),
            "original": digest,
            "written": hex.collect::<Vec<_>>(),
            "edited": record.is_edited,
            "folders": folders.collect::<Vec<_>>(),
            "trusted": record.trusted,
        });
        let written = record.original.iter().try_for_each(|it| self.replace("original", it));
        let written =
            written.and_then(|()| self.replace("json", format!("{value:#}\n").as_bytes()));
        written.map_err(|cause| ConnectFailure::Record { path: self.folder.clone(), cause })
    }

    /// Forgets the file.
    pub(super) fn remove(&self) -> Result<(), ConnectFailure> {
        for part in ["json", "original"] {
            match fs::remove_file(self.path(part)) {
                Err(cause) if cause.kind() != ErrorKind::NotFound => {
                    return Err(ConnectFailure::Record { path: self.folder.clone(), cause });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{}.{part}", self.name))
    }

    fn replace(&self, part: &str, bytes: &[u8]) -> io::Result<()> {
        let draft = self.path(&format!("{part}.new"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, self.path(part))?;
        File::open(&self.folder)?.sync_all()
    }
}

impl UndoRecord {
    /// The record of a file that `after` is going to be written to.
    pub(super) fn for_write(before: Option<Self>, file: &SettingsFile, after: &str) -> Self {
        let new = Sha256::digest(after.as_bytes());
        let bytes = file.content.as_ref().map(|content| content.text.as_bytes());
        // A file that was deleted meanwhile begins anew.
        let Some(before) = before.filter(|_| bytes.is_some()) else {
            return Self {
                original: bytes.map(<[u8]>::to_vec),
                written: vec![new],
                is_edited: false,
                folders: file.missing_folders.clone(),
                trusted: Vec::new(),
            };
        };
        let mut written = vec![new];
        let is_original = bytes == before.original.as_deref();
        let is_ours = bytes.is_some_and(|it| before.written.contains(&Sha256::digest(it)));
        if let (Some(bytes), true) = (bytes, is_ours) {
            // Until the file is replaced, it still has what we wrote before.
            written.insert(0, Sha256::digest(bytes));
        }
        written.truncate(WRITTEN_MAX);
        let is_edited = (before.is_edited || !is_ours) && !is_original;
        Self { written, is_edited, ..before }
    }

    /// The content before the first connection.
    pub(super) fn original_text(&self) -> Option<&str> {
        std::str::from_utf8(self.original.as_deref()?).ok()
    }

    /// Whether a file with this content is as we left it.
    pub(super) fn is_as_written(&self, text: &str) -> bool {
        !self.is_edited && self.written.contains(&Sha256::digest(text.as_bytes()))
    }
}

/// The content of a small file; `None` if it does not exist.
fn read_bounded(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, ConnectFailure> {
    let failed = |cause| ConnectFailure::Record { path: path.to_owned(), cause };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(ConnectFailure::DamagedRecord { path: path.to_owned() });
    }
    Ok(Some(bytes))
}
