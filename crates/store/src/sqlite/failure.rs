//! Turns errors of SQLite and of the system into [`StoreError`]s.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};

use rusqlite::ErrorCode;
use rusqlite::ffi;

use super::files::Files;
use crate::{StoreError, limits};

/// Files of a store that SQLite opens at once: the main file, the log, the shared memory.
const FILES: usize = 3;

/// Too many open files, in this process or in the system. The same on every Unix.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// An error inside this module.
pub(super) enum SqliteFailure {
    /// An error of the store itself.
    Store(StoreError),
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
}

impl From<StoreError> for SqliteFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for SqliteFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Files {
    /// The error as a [`StoreError`].
    pub(super) fn explain(&self, failure: impl Into<SqliteFailure>) -> StoreError {
        match failure.into() {
            SqliteFailure::Store(error) => error,
            SqliteFailure::Sqlite(rusqlite::Error::SqliteFailure(code, message)) => {
                self.explain_code(code, message.unwrap_or_else(|| code.to_string()))
            }
            // Every other error means a value that this program does not write.
            SqliteFailure::Sqlite(other) => self.damaged(other.to_string()),
        }
    }

    fn explain_code(&self, error: ffi::Error, cause: String) -> StoreError {
        match error.code {
            ErrorCode::DiskFull => StoreError::Full { cause },
            ErrorCode::SystemIoFailure => match error.extended_code {
                // A quota or a limit on file sizes. A full disk has the code above.
                ffi::SQLITE_IOERR_WRITE
                | ffi::SQLITE_IOERR_SHMSIZE
                | ffi::SQLITE_IOERR_TRUNCATE => StoreError::Full { cause },
                ffi::SQLITE_IOERR_CORRUPTFS => self.damaged(cause),
                _ => StoreError::Io { cause },
            },
            ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied => StoreError::NotWritable { cause },
            ErrorCode::CannotOpen => self.explain_cannot_open(cause),
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed => StoreError::Busy { waited: limits::BUSY_MAX },
            // A missing table or column, or rows that none of our transactions leaves.
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ConstraintViolation
            | ErrorCode::SchemaChanged
            | ErrorCode::TypeMismatch
            | ErrorCode::NotFound
            | ErrorCode::Unknown => self.damaged(cause),
            ErrorCode::InternalMalfunction
            | ErrorCode::OperationAborted
            | ErrorCode::OperationInterrupted
            | ErrorCode::OutOfMemory
            | ErrorCode::TooBig
            | ErrorCode::ApiMisuse
            | ErrorCode::NoLargeFileSupport
            | ErrorCode::ParameterOutOfRange
            | _ => StoreError::Io { cause },
        }
    }

    /// SQLite does not say why it cannot open a file. Creating a file beside it does.
    fn explain_cannot_open(&self, cause: String) -> StoreError {
        let probe = self.folder.join(format!("probe-{}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&probe) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => self.explain_io(&error),
            Err(_) => StoreError::NotWritable { cause },
            Ok(file) => {
                // If this fails, an empty file stays behind, which is harmless.
                let _ = fs::remove_file(&probe);
                // As many as SQLite opens at once.
                let opened: io::Result<Vec<_>> = (0..FILES).map(|_| file.try_clone()).collect();
                match opened {
                    Err(error) => self.explain_io(&error),
                    Ok(_) => StoreError::NotWritable { cause },
                }
            }
        }
    }

    /// The error of a system call on one of the store's files.
    pub(super) fn explain_io(&self, error: &io::Error) -> StoreError {
        let cause = error.to_string();
        if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) {
            return StoreError::NoDescriptors;
        }
        match error.kind() {
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory => StoreError::NotWritable { cause },
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                StoreError::Full { cause }
            }
            _ => StoreError::Io { cause },
        }
    }

    pub(super) fn damaged(&self, cause: impl Into<String>) -> StoreError {
        StoreError::Damaged { cause: cause.into() }
    }
}
