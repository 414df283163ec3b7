//! A store in one SQLite file with a write-ahead log, or in memory.
//!
//! One connection writes and another reads, so a long list in one thread does not delay a commit in
//! another. `open.rs` finds, creates and checks the file, `schema.rs` has its tables, `write.rs`
//! commits, `read.rs` queries, `reclaim.rs` shrinks the file.

mod claim;
mod connection;
mod failure;
mod files;
mod last_commits;
mod log;
mod open;
mod read;
mod reclaim;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::Connection;

use self::claim::ClaimStep;
use self::failure::SqliteFailure;
use self::files::Files;
use self::last_commits::LastCommits;
use self::write::Writer;
use crate::{
    Acquired, ClaimRequest, ClaimedRecord, Commit, Committed, Durability, Entry, Filter, Heading,
    Held, JournalKey, Kind, LaneKey, Loss, Reclaimed, Record, RecordKey, Rewrite, Store,
    StoreError, limits,
};

/// A store in the file `store.sqlite3` of a folder, which has to be on a local file system. Any
/// number of processes and threads may use it at once.
#[derive(Debug)]
pub struct SqliteStore {
    files: Files,
    writer: Mutex<Writer>,
    /// Opened by the first read.
    reader: Mutex<Option<Connection>>,
    syncs: AtomicU64,
    /// The write-ahead log, open for syncing.
    log: OnceLock<File>,
    /// What was missing when the store was opened.
    losses: Mutex<Vec<Loss>>,
}

impl SqliteStore {
    /// Opens the store of this folder. If there is none, creates it for its user alone: the folder
    /// with mode 0700, the file with 0600.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let files = Files::of(folder)?;
        if !files.exist()? {
            open::create(&files)?;
        }
        Self::open_files(files, open::Purpose::Writing)
    }

    /// Opens the store of this folder if there is one. Never creates a store, and can read one that
    /// is not writable.
    pub fn find(folder: &Path) -> Result<Option<Self>, StoreError> {
        let files = Files::of(folder)?;
        match files.exist()? {
            true => Self::open_files(files, open::Purpose::Reading).map(Some),
            false => Ok(None),
        }
    }

    /// A store in memory that lasts as long as this value, for tests and programs that keep
    /// nothing.
    pub fn in_memory() -> Result<Self, StoreError> {
        let files = Files::in_memory();
        let connection = open::create_in_memory(&files)?;
        Self::with_connection(files, connection, Vec::new())
    }

    /// How many commits this value has synced to the disk.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// The store's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.files.main
    }

    pub(crate) fn file_in(folder: &Path) -> PathBuf {
        folder.join(files::MAIN)
    }

    fn open_files(mut files: Files, how: open::Purpose) -> Result<Self, StoreError> {
        let notes = last_commits::read(&files.last_commits);
        let connection = open::open(&mut files, how)?;
        let losses = last_commits::losses(&connection, &notes);
        let losses = losses.map_err(|failure| files.explain(failure))?;
        Self::with_connection(files, connection, losses)
    }

    fn with_connection(
        files: Files,
        connection: Connection,
        losses: Vec<Loss>,
    ) -> Result<Self, StoreError> {
        let losses = Mutex::new(losses);
        let last_commits = LastCommits::at(&files.last_commits);
        let writer = Writer::new(connection, last_commits).map_err(|error| files.explain(error))?;
        let (writer, reader) = (Mutex::new(writer), Mutex::new(None));
        Ok(Self { files, writer, reader, syncs: AtomicU64::new(0), log: OnceLock::new(), losses })
    }

    fn write<T>(
        &self,
        deed: impl FnOnce(&mut Writer) -> Result<T, SqliteFailure>,
    ) -> Result<T, StoreError> {
        // A panic has rolled its transaction back, so the connection is still usable.
        let mut writer = lock(&self.writer);
        self.files.are_still_there()?;
        deed(&mut writer).map_err(|failure| self.files.explain(failure))
    }

    /// Waits until the log, with all earlier commits, is on the disk. Other processes can commit
    /// meanwhile, and the same sync may cover their commits. Log content that was moved into the
    /// main file is already on the disk: SQLite syncs it before overwriting the log.
    fn sync_log(&self) -> Result<(), StoreError> {
        let synced = match self.log.get() {
            Some(log) => log.sync_data(),
            None => File::open(&self.files.log).and_then(|log| {
                log.sync_data()?;
                // Another thread may have been faster.
                let _ = self.log.set(log);
                Ok(())
            }),
        };
        // The commit is made but may not survive a crash of the machine, whatever the cause.
        synced.map_err(|error| StoreError::Io { cause: error.to_string() })
    }

    /// Makes the last commit as safe as requested.
    fn make(&self, durability: Durability) -> Result<(), StoreError> {
        if durability == Durability::Synced && !self.files.in_memory {
            self.sync_log()?;
            self.syncs.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn read<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, SqliteFailure>,
    ) -> Result<T, StoreError> {
        let mut reader = lock(&self.reader);
        let connection = match &mut *reader {
            Some(connection) => connection,
            none => {
                self.files.are_still_there()?;
                none.insert(open::open_reader(&self.files)?)
            }
        };
        question(connection).map_err(|failure| self.files.explain(failure))
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for SqliteStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        limits::check_commit(commit)?;
        let committed = self.write(|writer| writer.commit(commit))?;
        self.make(commit.durability)?;
        Ok(committed)
    }

    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.read(|connection| read::journal(connection, journal, after, limit))
    }

    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError> {
        self.read(|connection| read::last(connection, journal))
    }

    fn changes(&self) -> Result<u64, StoreError> {
        self.read(read::changes)
    }

    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        self.read(|connection| read::get(connection, kind, key))
    }

    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        limits::check_statuses(&filter.statuses)?;
        self.read(|connection| read::list(connection, kind, filter))
    }

    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError> {
        limits::check_statuses(&filter.statuses)?;
        self.read(|connection| read::headings(connection, kind, filter))
    }

    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError> {
        self.read(|connection| read::queue(connection, lane, from_rank, limit))
    }

    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError> {
        self.read(|connection| read::next_lane(connection, behind))
    }

    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError> {
        self.read(|connection| read::queued(connection, prefix))
    }

    fn claim(&self, request: &ClaimRequest<'_>) -> Result<Option<ClaimedRecord>, StoreError> {
        limits::check_claim(request)?;
        loop {
            match self.write(|writer| writer.claim(request))? {
                ClaimStep::Claimed(claimed) => {
                    self.make(request.durability)?;
                    return Ok(Some(*claimed));
                }
                ClaimStep::NothingReady => return Ok(None),
                ClaimStep::MovedAside => {}
            }
        }
    }

    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError> {
        limits::check_lease(lease, holder)?;
        self.write(|writer| writer.acquire(lease, holder, instead_of))
    }

    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError> {
        self.read(|connection| read::holder(connection, lease))
    }

    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError> {
        self.write(|writer| writer.release(lease, token))
    }

    fn take_losses(&self) -> Vec<Loss> {
        let losses = std::mem::take(&mut *lock(&self.losses));
        if !losses.is_empty() {
            lock(&self.writer).last_commits.forget();
        }
        losses
    }

    fn reclaim(&self, rewrite: Rewrite) -> Result<Reclaimed, StoreError> {
        reclaim::reclaim(self, rewrite)
    }
}
