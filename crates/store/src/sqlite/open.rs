//! Creates, finds and checks a store before it is used.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connection::{connect, connect_to_memory, connect_to_unchanging};
use super::failure::SqliteFailure;
use super::files::{Files, identity_of};
use super::log;
use super::schema::{APPLICATION_ID, STEPS, migrate, supported, version};
use crate::{StoreError, limits};

/// SQLite's smallest page, and so its shortest file.
const PAGE_BYTES_MIN: u64 = 512;

/// The purpose that a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Writing,
    /// The store may be read-only.
    Reading,
}

/// Opens an existing store and migrates it to the newest version.
pub(super) fn open(files: &mut Files, how: Purpose) -> Result<Connection, StoreError> {
    let metadata = files.metadata(&files.main)?;
    let metadata = metadata.ok_or(StoreError::Gone)?;
    if !metadata.is_file() {
        return Err(files.damaged("it is not a file"));
    }
    // SQLite would take an empty file, or one of a single byte, for a new database and delete its
    // log. Our files are never that short: they get their name once they are complete.
    if metadata.len() < PAGE_BYTES_MIN {
        return Err(files.damaged("the file has been cut short"));
    }
    if !log::is_readable(&files.log).map_err(|error| files.explain_io(&error))? {
        return Err(files.damaged("the log of its last commits is not valid"));
    }
    files.identity = Some(identity_of(&metadata));
    let look = |connected: rusqlite::Result<Connection>| {
        let looked = connected.map_err(SqliteFailure::from).and_then(|mut connection| {
            look_over(&mut connection, files, how)?;
            Ok(connection)
        });
        looked.map_err(|failure| files.explain(failure))
    };
    match look(connect(&files.main)) {
        Err(StoreError::NotWritable { .. }) if how == Purpose::Reading && has_no_log(files) => {
            let opened = look(connect_to_unchanging(&files.main));
            files.never_changes = true;
            opened
        }
        opened => opened,
    }
}

/// Whether the main file is the whole store. SQLite cannot read a log unless it may create the
/// shared-memory file; without a log it does not need that file.
fn has_no_log(files: &Files) -> bool {
    fs::metadata(&files.log).map_or(true, |log| log.len() == 0)
}

/// A second connection to an open store.
pub(super) fn open_reader(files: &Files) -> Result<Connection, StoreError> {
    let connected = match files {
        Files { in_memory: true, .. } => connect_to_memory(&files.main),
        Files { never_changes: true, .. } => connect_to_unchanging(&files.main),
        _ => connect(&files.main),
    };
    let opened = connected.and_then(|connection| {
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    });
    opened.map_err(|error| files.explain(error))
}

fn look_over(
    connection: &mut Connection,
    files: &Files,
    how: Purpose,
) -> Result<(), SqliteFailure> {
    let is_readonly = connection.is_readonly("main")?;
    let not_writable = || StoreError::NotWritable { cause: "permission denied".into() };
    if is_readonly && how == Purpose::Writing {
        return Err(not_writable().into());
    }
    // In one transaction, so that the log is not restarted during the check.
    let transaction = connection.transaction()?;
    let number = |pragma: &str| {
        transaction.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0))
    };
    if number("application_id")? != APPLICATION_ID {
        return Err(files.damaged("it is not a store of this program").into());
    }
    let (found, newest) = (version(&transaction)?, supported(STEPS));
    if found > newest {
        return Err(StoreError::Newer { found, supported: newest }.into());
    }
    if is_cut_short(files, number("page_count")?, number("page_size")?)? {
        return Err(files.damaged("the file has been cut short").into());
    }
    transaction.commit()?;
    if found < newest {
        if is_readonly {
            return Err(not_writable().into());
        }
        migrate(connection, STEPS)?;
    }
    Ok(())
}

/// Whether pages are missing from both the file and the log. The file alone may be shorter than the
/// store: it grows when the log is moved into it.
fn is_cut_short(files: &Files, pages: i64, page_bytes: i64) -> Result<bool, StoreError> {
    let bytes = fs::metadata(&files.main).map_err(|error| files.explain_io(&error))?.len();
    let whole = bytes.checked_div(page_bytes.unsigned_abs()).unwrap_or_default();
    let first = u32::try_from(whole + 1).unwrap_or(u32::MAX);
    let last = u32::try_from(pages).unwrap_or(u32::MAX);
    if first > last {
        return Ok(false);
    }
    let missing = log::missing(&files.log, first..=last);
    Ok(!missing.map_err(|error| files.explain_io(&error))?.is_empty())
}

/// Creates a store. It gets its name once it is complete, so a crash never leaves half of one.
pub(super) fn create(files: &Files) -> Result<(), StoreError> {
    let created = make_folder(files).and_then(|()| File::open(&files.folder));
    let folder = created.map_err(|error| files.explain_io(&error))?;
    lock(&folder, files)?;
    // Another process may have held the lock and created the store.
    if files.exist()? {
        return Ok(());
    }
    let draft = files.folder.join("store.sqlite3.new");
    remove_draft(files)?;
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(&draft);
    made.map_err(|error| files.explain_io(&error))?;
    fill(&draft).map_err(|failure| files.explain(failure))?;
    // Closing `folder` releases the lock, after the name is on the disk.
    let named = fs::rename(&draft, &files.main).and_then(|()| folder.sync_all());
    named.map_err(|error| files.explain_io(&error))
}

/// Makes a store in memory.
pub(super) fn create_in_memory(files: &Files) -> Result<Connection, StoreError> {
    let filled =
        connect_to_memory(&files.main).map_err(SqliteFailure::from).and_then(|mut connection| {
            migrate(&mut connection, STEPS)?;
            Ok(connection)
        });
    filled.map_err(|failure| files.explain(failure))
}

/// Removes the draft of a process that died while creating a store. The caller holds the lock.
fn remove_draft(files: &Files) -> Result<(), StoreError> {
    for end in ["", "-journal", "-wal", "-shm"] {
        let left = files.folder.join(format!("store.sqlite3.new{end}"));
        match fs::remove_file(left) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(files.explain_io(&error)),
        }
    }
    Ok(())
}

fn fill(draft: &std::path::Path) -> Result<(), SqliteFailure> {
    let mut connection = connect(draft)?;
    // Before the first table; later it would require rewriting the file (`reclaim.rs`).
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    migrate(&mut connection, STEPS)?;
    // Last, so that everything is in the one file that gets the name. Later connections find it
    // set.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

fn make_folder(files: &Files) -> io::Result<()> {
    if files.folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&files.folder)?;
    // The folder's name has to survive a crash of the machine too.
    files.folder.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// Takes the lock for creating a store in this folder.
fn lock(folder: &File, files: &Files) -> Result<(), StoreError> {
    let since = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(files.explain_io(&error)),
            Err(TryLockError::WouldBlock) if since.elapsed() < limits::BUSY_MAX => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Busy { waited: since.elapsed() });
            }
        }
    }
}
