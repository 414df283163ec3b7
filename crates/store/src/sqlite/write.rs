//! Changes of a store, each in one transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::connection::wait_for_locks;
use super::failure::SqliteFailure;
use super::last_commits::{LastCommits, Note};
use super::read::{holder, journal_id, last_of};
use crate::{
    Acquired, Append, Commit, Committed, Delete, Durability, Expected, Fence, JournalKey, Kind,
    LaneMove, Put, Queued, RecordKey, StoreError, limits,
};

/// The connection that writes.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    /// Pages in the log after the last commit, as SQLite reports.
    log_pages: Arc<AtomicU32>,
    log_pages_before: u32,
    /// Length of the log, in pages, at which the next attempt to shorten it happens.
    shorten_at: u32,
    pub(super) last_commits: LastCommits,
}

impl Writer {
    pub(super) fn new(
        mut connection: Connection,
        last_commits: LastCommits,
    ) -> rusqlite::Result<Self> {
        let log_pages = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&log_pages);
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            told.store(pages.unsigned_abs(), Ordering::Relaxed);
            Ok(())
        }))?;
        // SQLite then syncs the log only before moving it into the main file. `FULL` would sync at
        // every commit while all others wait for the disk too; see `SqliteStore::sync_log`.
        connection.execute_batch("PRAGMA synchronous = NORMAL")?;
        let (shorten_at, log_pages_before) = (limits::LOG_PAGES, 0);
        Ok(Self { connection, log_pages, log_pages_before, shorten_at, last_commits })
    }

    pub(super) fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, SqliteFailure> {
        let transaction = self.begin()?;
        if let Some(fence) = commit.fence {
            check_fence(&transaction, fence)?;
        }
        let before = transaction.total_changes();
        let (committed, journal) = make(&transaction, commit)?;
        let mut revision = committed.versions.last().copied().unwrap_or_default();
        if commit.durability == Durability::Synced && transaction.total_changes() == before {
            // A transaction without changes writes nothing, so a read-only store would go
            // unnoticed.
            revision = next_revisions(&transaction, 1)?;
        }
        if let Some(fence) = commit.fence.filter(|_| commit.releases_lease) {
            let mut delete = transaction.prepare_cached("DELETE FROM leases WHERE name = ?1")?;
            delete.execute([&fence.lease])?;
        }
        transaction.commit()?;
        let journal = journal.zip(commit.append.as_ref().map(|append| append.journal));
        self.last_commits.note(&Note::new(journal, committed.last, revision));
        self.shorten_log();
        Ok(committed)
    }

    pub(super) fn acquire(
        &mut self,
        lease: &str,
        new_holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, SqliteFailure> {
        // Never synced: no holder survives the machine.
        let transaction = self.begin()?;
        if let Some(held) = holder(&transaction, lease)?
            && instead_of != Some(held.token)
        {
            return Ok(Acquired::Held(held));
        }
        let token = next_revisions(&transaction, 1)?;
        transaction
            .prepare_cached("REPLACE INTO leases (name, holder, token) VALUES (?1, ?2, ?3)")?
            .execute(params![lease, new_holder, token])?;
        transaction.commit()?;
        self.shorten_log();
        Ok(Acquired::Granted { token })
    }

    pub(super) fn release(&mut self, lease: &str, token: u64) -> Result<bool, SqliteFailure> {
        let transaction = self.begin()?;
        let is_held = holder(&transaction, lease)?.is_some_and(|held| held.token == token);
        if is_held {
            transaction.prepare_cached("DELETE FROM leases WHERE name = ?1")?.execute([lease])?;
        }
        transaction.commit()?;
        self.shorten_log();
        Ok(is_held)
    }

    /// Takes the write lock at once, so that what the transaction reads stays true until it ends.
    pub(super) fn begin(&mut self) -> Result<Transaction<'_>, SqliteFailure> {
        Ok(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    /// Moves a long log into the main file. The next commit then restarts the log.
    pub(super) fn shorten_log(&mut self) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        if pages < self.log_pages_before {
            self.shorten_at = limits::LOG_PAGES;
        }
        self.log_pages_before = pages;
        if pages < self.shorten_at {
            return;
        }
        // The log cannot restart while a process reads. An attempt costs two syncs, so the next one
        // comes only after as many pages again.
        self.shorten_at = pages + limits::LOG_PAGES;
        // The commit is done. If this fails, a later attempt may succeed; a full disk shows when
        // the log grows.
        let _ = if pages < limits::LOG_PAGES_MAX {
            checkpoint(&self.connection, "PASSIVE")
        } else {
            checkpoint_after_readers(&mut self.connection, "RESTART")
        };
    }
}

/// Moves the log into the main file, in a mode that waits for readers, but not for long.
pub(super) fn checkpoint_after_readers(
    connection: &mut Connection,
    mode: &str,
) -> rusqlite::Result<()> {
    connection.busy_timeout(limits::READERS_WAIT_MAX)?;
    let done = checkpoint(connection, mode);
    wait_for_locks(connection)?;
    done
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
}

#[cfg(test)]
impl Writer {
    pub(super) fn log_pages(&self) -> u32 {
        self.log_pages.load(Ordering::Relaxed)
    }

    pub(super) fn shorten_at(&self) -> u32 {
        self.shorten_at
    }
}

pub(super) fn check_fence(connection: &Connection, fence: &Fence) -> Result<(), SqliteFailure> {
    let mut statement = connection.prepare_cached("SELECT token FROM leases WHERE name = ?1")?;
    let current = statement.query_row([&fence.lease], |row| row.get(0)).optional()?;
    if current == Some(fence.token) {
        return Ok(());
    }
    Err(StoreError::Fenced { lease: fence.lease.clone(), token: fence.token, current }.into())
}

/// Makes the changes; also returns the id of the journal that was appended to.
fn make(
    connection: &Connection,
    commit: &Commit<'_>,
) -> Result<(Committed, Option<i64>), SqliteFailure> {
    for journal in &commit.drop_journals {
        drop_journal(connection, journal)?;
    }
    let (last, journal) = match &commit.append {
        Some(append) => append_entries(connection, append)?,
        None => (0, None),
    };
    for expect in &commit.expects {
        expect_record(connection, expect.kind, &expect.key, expect.expected)?;
    }
    for delete in &commit.deletes {
        delete_record(connection, delete)?;
    }
    let versions = put_records(connection, &commit.puts)?;
    Ok((Committed { last, versions }, journal))
}

fn drop_journal(connection: &Connection, journal: &JournalKey) -> Result<(), SqliteFailure> {
    let Some(id) = journal_id(connection, journal)? else {
        return Ok(());
    };
    // StoredRecord may be a million entries, and other writers should not wait for their deletion.
    connection.prepare_cached("DELETE FROM journals WHERE id = ?1")?.execute([id])?;
    connection.prepare_cached("INSERT INTO dropped_journals (id) VALUES (?1)")?.execute([id])?;
    Ok(())
}

/// The journal's last sequence number now, and its id if it exists.
fn append_entries(
    connection: &Connection,
    append: &Append<'_>,
) -> Result<(u64, Option<i64>), SqliteFailure> {
    let id = journal_id(connection, append.journal)?;
    let found = id.map_or(Ok(0), |id| last_of(connection, id))?;
    if found != append.expected {
        let (journal, expected) = (append.journal.clone(), append.expected);
        return Err(StoreError::JournalConflict { journal, expected, found }.into());
    }
    let last = limits::check_journal(found, append.entries.len())?;
    let id = match id {
        Some(id) => id,
        None if append.entries.is_empty() => return Ok((last, None)),
        None => begin_journal(connection, append.journal)?,
    };
    let mut insert = connection
        .prepare_cached("INSERT INTO entries (place, value) VALUES ((?1 << 32) + ?2, ?3)")?;
    for (sequence, value) in (found + 1..).zip(append.entries) {
        insert.execute(params![id, sequence, value])?;
    }
    Ok((last, Some(id)))
}

fn begin_journal(connection: &Connection, journal: &JournalKey) -> Result<i64, SqliteFailure> {
    connection
        .prepare_cached("INSERT INTO journals (project, session) VALUES (?1, ?2)")?
        .execute(params![journal.project, journal.session])?;
    let id = connection.last_insert_rowid();
    if i32::try_from(id).is_err() {
        // The other half of `place`.
        let (found, max) = (id.unsigned_abs(), i32::MAX.unsigned_abs().into());
        return Err(StoreError::TooLarge { what: "journals ever begun", found, max }.into());
    }
    Ok(id)
}

/// The stored state of a record.
struct StoredRecord {
    id: i64,
    version: u64,
    status: String,
    queued: Option<Queued>,
}

fn expect_record(
    connection: &Connection,
    kind: Kind,
    key: &RecordKey,
    expected: Expected,
) -> Result<Option<StoredRecord>, SqliteFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT id, version, status, lane, rank, waits_for, needs FROM records
        WHERE kind = ?1 AND project = ?2 AND name = ?3",
    )?;
    let there = statement
        .query_row(params![kind.word(), key.project, key.name], |row| {
            let (lane, rank): (Option<String>, Option<i64>) = (row.get(3)?, row.get(4)?);
            let (waits_for, needs) = (texts(row, 5)?, texts(row, 6)?);
            let place = lane.zip(rank);
            let queued = place.map(|(lane, rank)| Queued { lane, rank, waits_for, needs });
            Ok(StoredRecord { id: row.get(0)?, version: row.get(1)?, status: row.get(2)?, queued })
        })
        .optional()?;
    let found = there.as_ref().map(|there| there.version);
    if !expected.is(found) {
        return Err(StoreError::RecordConflict { kind, key: key.clone(), expected, found }.into());
    }
    Ok(there)
}

fn delete_record(connection: &Connection, delete: &Delete) -> Result<(), SqliteFailure> {
    if let Some(there) = expect_record(connection, delete.kind, &delete.key, delete.expected)? {
        connection.prepare_cached("DELETE FROM records WHERE id = ?1")?.execute([there.id])?;
    }
    Ok(())
}

fn put_records(connection: &Connection, puts: &[Put]) -> Result<Vec<u64>, SqliteFailure> {
    if puts.is_empty() {
        return Ok(Vec::new());
    }
    let count = puts.len() as u64;
    let first = next_revisions(connection, count)? + 1 - count;
    let versions = (first..).zip(puts).map(|(version, put)| {
        put_record(connection, put, version)?;
        Ok(version)
    });
    versions.collect()
}

fn put_record(connection: &Connection, put: &Put, version: u64) -> Result<(), SqliteFailure> {
    let lane = put.queued.as_ref().map(|queued| &queued.lane);
    let rank = put.queued.as_ref().map(|queued| queued.rank);
    let waits_for = put.queued.as_ref().and_then(|queued| json_list(&queued.waits_for));
    let needs = put.queued.as_ref().and_then(|queued| json_list(&queued.needs));
    let (kind, key) = (put.kind.word(), &put.key);
    match expect_record(connection, put.kind, &put.key, put.expected)? {
        None => {
            let mut insert = connection.prepare_cached(
                "INSERT INTO records
                    (kind, project, name, version, created_at, status, value, lane, rank,
                        waits_for, needs)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?;
            insert.execute(params![
                kind,
                key.project,
                key.name,
                version,
                put.created_at_ms,
                put.status,
                put.value,
                lane,
                rank,
                waits_for,
                needs
            ])?;
        }
        // Status and queue position are in indexes, which are not touched if both stay the same.
        Some(there) if there.status == put.status && there.queued == put.queued => {
            connection
                .prepare_cached(
                    "UPDATE records SET version = ?2, value = ?3, claim_note = NULL WHERE id = ?1",
                )?
                .execute(params![there.id, version, put.value])?;
        }
        Some(there) => {
            connection
                .prepare_cached(
                    "UPDATE records SET version = ?2, value = ?3, claim_note = NULL, status = ?4,
                        lane = ?5, rank = ?6, waits_for = ?7, needs = ?8
                    WHERE id = ?1",
                )?
                .execute(params![
                    there.id, version, put.value, put.status, lane, rank, waits_for, needs
                ])?;
        }
    }
    if let Some(LaneMove { from, to }) = &put.moves {
        connection
            .prepare_cached(
                "UPDATE records INDEXED BY records_in_lanes SET lane = ?4
                WHERE kind = ?1 AND project = ?2 AND lane = ?3",
            )?
            .execute(params![kind, key.project, from, to])?;
    }
    Ok(())
}

/// A list as it is stored; `None` for an empty one.
fn json_list(list: &[String]) -> Option<String> {
    let json = || serde_json::to_string(list).expect("texts are JSON");
    (!list.is_empty()).then(json)
}

/// The list in a column.
pub(super) fn texts(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let Some(json) = row.get::<_, Option<String>>(column)? else { return Ok(Vec::new()) };
    serde_json::from_str(&json).map_err(|cause| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(cause))
    })
}

/// Takes this many numbers from the counter and returns the last.
pub(super) fn next_revisions(connection: &Connection, count: u64) -> Result<u64, SqliteFailure> {
    // Not `RETURNING`, for which SQLite creates a temporary table each time.
    connection.prepare_cached("UPDATE counter SET revision = revision + ?1")?.execute([count])?;
    let mut statement = connection.prepare_cached("SELECT revision FROM counter")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}
