//! The tables, and the migration of older files.

use rusqlite::{Connection, TransactionBehavior};

use super::failure::SqliteFailure;

/// Marks a file as a store, so that another program's database is never taken for one.
pub(super) const APPLICATION_ID: i64 = 0x486b_5772;

/// Each step migrates a file from the version that is its index to the next. Released steps never
/// change; a new version adds a step at the end.
pub(super) const STEPS: &[&str] = &[STEP_1, STEP_2, STEP_3, STEP_4];

/// - `journals`: ids are never reused (`AUTOINCREMENT`), so a reader of a journal that was dropped
///   and started again meanwhile finds no entries instead of wrong ones.
/// - `entries`: `place` has the journal's id in the upper half and the sequence number in the lower
///   (`<< 32` in `read.rs` and `write.rs`). So a journal's entries lie together, in order, in one
///   tree: an append changes one page.
/// - `records`: `id` is the order of insertion. The indexes of both lists contain everything that a
///   filter uses, so only the returned rows are read.
/// - `counter`: the one row that versions and tokens come from.
const STEP_1: &str = "
    CREATE TABLE journals (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project TEXT NOT NULL,
        session TEXT NOT NULL,
        UNIQUE (project, session)
    );
    CREATE TABLE entries (place INTEGER PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE records (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        project TEXT NOT NULL,
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        status TEXT NOT NULL,
        value TEXT NOT NULL,
        UNIQUE (kind, project, name)
    );
    CREATE INDEX records_of_project ON records (kind, project, created_at, id, status, name);
    CREATE INDEX records_of_all ON records (kind, created_at, id, status, name);
    CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL);
    CREATE TABLE counter (revision INTEGER NOT NULL);
    INSERT INTO counter VALUES (0);
";

/// Queues: `records_in_lanes` has only records with a lane, in their order. Existing tasks and
/// issues get the lanes that `kept_tasks/lanes.rs` and the pipeline's `issue_states.rs` write
/// today. Values that are not JSON stay out of the queue.
const STEP_2: &str = "
    ALTER TABLE records ADD COLUMN lane TEXT;
    ALTER TABLE records ADD COLUMN rank INTEGER;
    UPDATE records SET
        rank = (json_extract(value, '$.priority') << 56) + CAST(substr(name, 5) AS INTEGER),
        lane = CASE status
            WHEN 'open' THEN 'open/'
            ELSE 'by/' || json_extract(value, '$.session') || '/'
        END
    WHERE kind = 'task' AND status IN ('open', 'in_progress') AND json_valid(value);
    UPDATE records SET
        rank = json_extract(value, '$.number'),
        lane = CASE status
            WHEN 'open' THEN 'open/' || json_extract(value, '$.folder') || '//'
            ELSE 'by/' || json_extract(value, '$.folder') || '//'
                || json_extract(value, '$.session') || '/'
        END
    WHERE kind = 'issue' AND status IN ('open', 'active') AND json_valid(value);
    CREATE INDEX records_in_lanes ON records (kind, project, lane, rank, id) WHERE lane IS NOT NULL;
";

/// Dropped journals whose entries still exist: `reclaim.rs` deletes them in small steps.
const STEP_3: &str = "CREATE TABLE dropped_journals (id INTEGER PRIMARY KEY);";

/// Claims: what a record waits for and needs, as JSON lists of texts, and the claimer's note.
const STEP_4: &str = "
    ALTER TABLE records ADD COLUMN waits_for TEXT;
    ALTER TABLE records ADD COLUMN needs TEXT;
    ALTER TABLE records ADD COLUMN claim_note TEXT;
    UPDATE records SET waits_for = json_extract(value, '$.depends_on')
    WHERE kind = 'task' AND lane IS NOT NULL AND json_array_length(value, '$.depends_on') > 0;
";

/// The version that a file has after all steps.
pub(super) fn supported(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).expect("a handful")
}

/// The version of a file; 0 if it has no tables yet.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Migrates the file to the newest version, in one transaction.
pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<(), SqliteFailure> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again, because another process may have migrated it.
    let done = usize::try_from(version(&transaction)?).unwrap_or(usize::MAX);
    for step in steps.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    if done < steps.len() {
        transaction.pragma_update(None, "user_version", supported(steps))?;
    }
    transaction.commit()?;
    Ok(())
}
