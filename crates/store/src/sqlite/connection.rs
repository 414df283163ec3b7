//! A connection with the settings that all of them share.

use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::limits;

/// Statements that a connection keeps ready; more than this crate has.
const STATEMENTS_MAX: usize = 64;

/// The first and the longest pause between two looks at a lock that another process has, on average. A commit
/// takes about as long as the first.
const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(10);

/// Connects for writing, or, where the file may only be read, for reading.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // Without its own mutex: a connection is only used by whoever holds ours.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    with_settings(Connection::open_with_flags(path, flags)?)
}

/// Connects to memory that has this name in this process. It is free once no connection is left.
pub(super) fn connect_to_memory(name: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    with_settings(Connection::open_with_flags(name, flags)?)
}

/// Connects to a file that has no log and that cannot be written: no lock and no other file is needed.
pub(super) fn connect_to_unchanging(path: &Path) -> rusqlite::Result<Connection> {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                address.push(char::from(*byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    with_settings(Connection::open_with_flags(address, flags)?)
}

fn with_settings(mut connection: Connection) -> rusqlite::Result<Connection> {
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

/// Waits for a lock. Each look costs several system calls and wakes a process, so the pauses between them grow
/// quickly: with a hundred sessions that wait, most of the work would be looking. They differ by chance, so
/// that processes which found the lock taken together don't come back together.
fn patience() -> impl FnMut(i32) -> bool + Send + 'static {
    let (mut since, mut chance) = (Instant::now(), Chance::new());
    move |looks| {
        if looks == 0 {
            since = Instant::now();
        }
        let doublings = u32::try_from(looks).unwrap_or_default().min(16);
        let pause = (PAUSE_MIN * 2_u32.pow(doublings)).min(PAUSE_MAX);
        std::thread::sleep(pause / 2 + pause.mul_f64(chance.next()));
        since.elapsed() < limits::BUSY_MAX
    }
}

/// Numbers that differ from process to process.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        Self(RandomState::new().hash_one(()) | 1)
    }

    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from((self.0 >> 32) as u32) / f64::from(u32::MAX)
    }
}
