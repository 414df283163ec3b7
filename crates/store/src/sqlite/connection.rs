//! Connections, with the settings that all of them share.

use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::limits;

/// Prepared statements that a connection caches: more than this crate has.
const STATEMENTS_MAX: usize = 64;

/// The first and the longest average pause between two attempts to get a lock. A commit takes
/// about as long as the first.
const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(10);

/// Connects for writing, or for reading if the file is read-only.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite's own mutex is not needed: our mutex guards the connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    with_settings(Connection::open_with_flags(path, flags)?)
}

/// Connects to the memory with this name. It is freed with its last connection.
pub(super) fn connect_to_memory(name: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    with_settings(Connection::open_with_flags(name, flags)?)
}

/// Connects to a read-only file without a log, which needs no lock and no other file.
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
    // Leave the log to the next process that opens the store. Moving it into the main file would
    // cost every short command that runs alone two syncs.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    let log_bytes = limits::LOG_FILE_BYTES_MAX;
    connection.execute_batch(&format!(
        "PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = {log_bytes}"
    ))?;
    Ok(connection)
}

/// Makes a connection wait for locks, up to [`limits::BUSY_MAX`].
pub(super) fn wait_for_locks(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(patience()))
}

/// Waits for a lock. Each attempt costs several system calls and wakes a process, so the pauses
/// grow quickly; otherwise a hundred waiting sessions would spend most of their time on attempts.
/// The pauses are random, so that processes that failed together don't try again together.
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

/// Random numbers that differ between processes.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        Self(RandomState::new().hash_one(()) | 1)
    }

    /// A number from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from((self.0 >> 32) as u32) / f64::from(u32::MAX)
    }
}
