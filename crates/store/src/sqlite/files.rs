//! The paths of a store's files, and whether they still exist.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::StoreError;

/// The database of a store, in its folder.
pub(super) const MAIN: &str = "store.sqlite3";

/// The files of one store.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) folder: PathBuf,
    /// The database.
    pub(super) main: PathBuf,
    /// Its write-ahead log: commits that are not in the main file yet.
    pub(super) log: PathBuf,
    /// Notes about the last commits.
    pub(super) last_commits: PathBuf,
    /// Device and inode of the main file, once it has been opened.
    pub(super) identity: Option<(u64, u64)>,
    /// Whether the store is read-only and has no log.
    pub(super) never_changes: bool,
    /// Whether the store is in memory, under the name of the main file.
    pub(super) in_memory: bool,
}

impl Files {
    pub(super) fn of(folder: &Path) -> Result<Self, StoreError> {
        let named = |folder: &Path| Self {
            folder: folder.to_owned(),
            main: folder.join(MAIN),
            log: folder.join("store.sqlite3-wal"),
            last_commits: folder.join("store.sqlite3-last"),
            identity: None,
            never_changes: false,
            in_memory: false,
        };
        // Absolute, because SQLite reads a relative path that starts with `file:` as a URI.
        let absolute = std::path::absolute(folder);
        absolute.map(|folder| named(&folder)).map_err(|error| named(folder).explain_io(&error))
    }

    /// A new, separate store in memory.
    pub(super) fn in_memory() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // With a leading slash, all connections of a process share the memory of this name.
        let main = PathBuf::from(format!("file:/hookwright-{number}?vfs=memdb"));
        let [folder, log, last_commits] = [PathBuf::new(), PathBuf::new(), PathBuf::new()];
        let (identity, never_changes) = (None, false);
        Self { folder, main, log, last_commits, identity, never_changes, in_memory: true }
    }

    /// Whether there is a store. A log without its main file is an error.
    pub(super) fn exist(&self) -> Result<bool, StoreError> {
        if self.metadata(&self.main)?.is_some() {
            return Ok(true);
        }
        if self.metadata(&self.log)?.is_none() {
            return Ok(false);
        }
        // Another process may have created the store between the two checks.
        if self.metadata(&self.main)?.is_some() {
            return Ok(true);
        }
        Err(self.damaged("the file is gone, and the log of its last commits is still there"))
    }

    pub(super) fn metadata(&self, path: &Path) -> Result<Option<Metadata>, StoreError> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.explain_io(&error)),
        }
    }

    /// Fails if the main file is gone: an unlinked open file accepts writes, and all of them are
    /// lost.
    pub(super) fn are_still_there(&self) -> Result<(), StoreError> {
        if self.in_memory {
            return Ok(());
        }
        let there = self.metadata(&self.main)?.as_ref().map(identity_of);
        if there.is_some() && there == self.identity {
            return Ok(());
        }
        Err(StoreError::Gone)
    }
}

pub(super) fn identity_of(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
