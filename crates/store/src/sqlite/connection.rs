//! A connection with the settings that all of them share.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::limits;

/// Statements that a connection keeps ready; more than this crate has.
const STATEMENTS_MAX: usize = 64;

/// The longest pause between two looks at a lock that another process has.
const PAUSE_MAX: Duration = Duration::from_millis(2);

pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // Without its own mutex: a connection is only used by whoever holds ours.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    wait_for_locks(&mut connection)?;
    // The log is left for whoever opens next. Moving it into the main file would cost every short
    // command that was alone two syncs.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    let log_bytes = limits::LOG_FILE_BYTES_MAX;
    connection.execute_batch(&format!(
        "PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = {log_bytes}"
    ))?;
    Ok(connection)
}

/// Makes a connection wait for those before it, up to [`limits::BUSY_MAX`].
pub(super) fn wait_for_locks(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(patience()))
}

/// Waits for a lock. Commits take microseconds, so the first looks follow one another closely.
fn patience() -> impl FnMut(i32) -> bool + Send + 'static {
    let mut since = Instant::now();
    move |looks| {
        if looks == 0 {
            since = Instant::now();
        }
        let doublings = u32::try_from(looks / 4).unwrap_or_default().min(8);
        std::thread::sleep((Duration::from_micros(20) * 2_u32.pow(doublings)).min(PAUSE_MAX));
        since.elapsed() < limits::BUSY_MAX
    }
}
