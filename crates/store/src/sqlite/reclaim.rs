//! Shrinks a store's file: deletes entries of dropped journals and gives free pages back.
//!
//! Every transaction is small, and after each the lock stays free for as long as it was held. The
//! next call continues where an interrupted one stopped. A file that an older version created has
//! no map of its pages' owners, so it has to be rewritten once, in one transaction.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use super::SqliteStore;
use super::failure::SqliteFailure;
use super::write::{Writer, checkpoint_after_readers};
use crate::{Reclaimed, Rewrite, StoreError, limits};

/// Value of `PRAGMA auto_vacuum` for a file whose free pages can be given back.
const INCREMENTAL: u64 = 2;

pub(super) fn reclaim(store: &SqliteStore, rewrite: Rewrite) -> Result<Reclaimed, StoreError> {
    let mut reclaimed = Reclaimed::default();
    while store.read(has_dropped)? {
        let began = Instant::now();
        reclaimed.entries += store.write(delete_some)?;
        let_others_write(began.elapsed());
    }
    let before = store.read(Pages::of)?;
    if before.free == 0 {
        return Ok(reclaimed);
    }
    if before.auto_vacuum == INCREMENTAL {
        give_back(store)?;
    } else if before.is_worth_rewriting(rewrite) {
        store.write(rewrite_file)?;
    } else {
        reclaimed.bytes_left = before.free * before.bytes_each;
        return Ok(reclaimed);
    }
    // The file is cut when the log is moved into it. If a reader prevents that, a later commit does
    // it.
    store.write(|writer| {
        let _ = checkpoint_after_readers(&mut writer.connection, "TRUNCATE");
        Ok(())
    })?;
    let after = store.read(Pages::of)?;
    reclaimed.bytes = before.all.saturating_sub(after.all) * before.bytes_each;
    Ok(reclaimed)
}

fn let_others_write(took: Duration) {
    std::thread::sleep(took.min(limits::RECLAIM_PAUSE_MAX));
}

/// The pages of a store's file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pages {
    pub(super) all: u64,
    pub(super) free: u64,
    pub(super) bytes_each: u64,
    pub(super) auto_vacuum: u64,
}

impl Pages {
    fn of(connection: &Connection) -> Result<Self, SqliteFailure> {
        let number = |pragma: &str| -> rusqlite::Result<u64> {
            connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
        };
        Ok(Self {
            all: number("page_count")?,
            free: number("freelist_count")?,
            bytes_each: number("page_size")?,
            auto_vacuum: number("auto_vacuum")?,
        })
    }

    pub(super) fn is_worth_rewriting(self, rewrite: Rewrite) -> bool {
        let used = self.all.saturating_sub(self.free) * self.bytes_each;
        match rewrite {
            Rewrite::Always => true,
            Rewrite::IfQuick => {
                self.free * limits::REWRITE_FREE_PART >= self.all
                    && used <= limits::REWRITE_BYTES_MAX
            }
        }
    }
}

fn has_dropped(connection: &Connection) -> Result<bool, SqliteFailure> {
    Ok(connection
        .query_row("SELECT EXISTS (SELECT 1 FROM dropped_journals)", [], |row| row.get(0))?)
}

/// Deletes some entries of dropped journals and returns their number.
pub(super) fn delete_some(writer: &mut Writer) -> Result<u64, SqliteFailure> {
    // Not synced: entries that a crash of the machine restores are deleted next time.
    let transaction = writer.begin()?;
    let mut room = DeletionBudget {
        entries: limits::ENTRIES_RECLAIMED_AT_ONCE,
        bytes: limits::ENTRY_BYTES_RECLAIMED_AT_ONCE,
    };
    while room.is_left()
        && let Some(id) = dropped(&transaction)?
    {
        let portion = Portion::of(&transaction, id, &mut room)?;
        transaction
            .prepare_cached("DELETE FROM entries WHERE place > ?1 << 32 AND place <= ?2")?
            .execute([id, portion.last_place])?;
        if portion.is_all {
            transaction
                .prepare_cached("DELETE FROM dropped_journals WHERE id = ?1")?
                .execute([id])?;
        }
    }
    transaction.commit()?;
    writer.shorten_log();
    Ok((limits::ENTRIES_RECLAIMED_AT_ONCE - room.entries) as u64)
}

fn dropped(connection: &Connection) -> Result<Option<i64>, SqliteFailure> {
    let mut statement = connection.prepare_cached("SELECT id FROM dropped_journals LIMIT 1")?;
    Ok(statement.query_row([], |row| row.get(0)).optional()?)
}

/// What one transaction may still delete.
struct DeletionBudget {
    entries: usize,
    bytes: u64,
}

impl DeletionBudget {
    fn is_left(&self) -> bool {
        self.entries > 0 && self.bytes > 0
    }
}

/// The first entries of a journal, as many as one transaction deletes.
struct Portion {
    last_place: i64,
    is_all: bool,
}

impl Portion {
    /// As many entries as there is room for.
    fn of(
        connection: &Connection,
        id: i64,
        room: &mut DeletionBudget,
    ) -> Result<Self, SqliteFailure> {
        // `octet_length` does not read the value.
        let mut statement = connection.prepare_cached(
            "SELECT place, octet_length(value) FROM entries
            WHERE place > ?1 << 32 AND place <= (?1 << 32) + 0xffffffff ORDER BY place",
        )?;
        let mut rows = statement.query([id])?;
        let mut portion = Self { last_place: id << 32, is_all: true };
        while let Some(row) = rows.next()? {
            if !room.is_left() {
                portion.is_all = false;
                break;
            }
            portion.last_place = row.get(0)?;
            room.entries -= 1;
            room.bytes = room.bytes.saturating_sub(row.get(1)?);
        }
        Ok(portion)
    }
}

/// Gives free pages back in small steps.
fn give_back(store: &SqliteStore) -> Result<(), StoreError> {
    loop {
        let began = Instant::now();
        let is_done = store.write(|writer| {
            let transaction = writer.begin()?;
            let free = |connection: &Connection| Pages::of(connection).map(|pages| pages.free);
            let before = free(&transaction)?;
            give_back_some(&transaction)?;
            let after = free(&transaction)?;
            transaction.commit()?;
            writer.shorten_log();
            // Other processes may use or free pages meanwhile, so stop without progress too.
            Ok(after == 0 || after >= before)
        })?;
        if is_done {
            return Ok(());
        }
        let_others_write(began.elapsed());
    }
}

fn give_back_some(connection: &Connection) -> Result<(), SqliteFailure> {
    let pages = limits::PAGES_RECLAIMED_AT_ONCE;
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    // Each step gives one page back.
    let mut steps = statement.query([])?;
    while steps.next()?.is_some() {}
    Ok(())
}

/// Rewrites the whole file without free pages, so that later ones can be given back.
fn rewrite_file(writer: &mut Writer) -> Result<(), SqliteFailure> {
    let used = Pages::of(&writer.connection)?;
    let used = used.all.saturating_sub(used.free) * used.bytes_each;
    let copy = if used <= limits::REWRITE_BYTES_MAX { "MEMORY" } else { "FILE" };
    let connection = &writer.connection;
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "temp_store", copy)?;
    let done = connection.execute_batch("VACUUM");
    connection.pragma_update(None, "temp_store", "DEFAULT")?;
    done?;
    Ok(())
}
