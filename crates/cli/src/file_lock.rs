//! A lock for files that are replaced as a whole, and so cannot be locked themselves.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for the lock. One change takes a fraction of a millisecond; an agent with many
/// parallel tools makes dozens on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_micros(300);

/// Why the lock could not be taken.
#[derive(Debug)]
pub(crate) enum NotLocked {
    /// Other processes held it for too long.
    Busy,
    /// A system error.
    Refused(io::Error),
}

impl From<NotLocked> for io::Error {
    fn from(error: NotLocked) -> Self {
        match error {
            NotLocked::Busy => io::ErrorKind::TimedOut.into(),
            NotLocked::Refused(cause) => cause,
        }
    }
}

/// Takes the lock of this file; dropping the result releases it.
pub(crate) fn lock(path: &Path) -> Result<File, NotLocked> {
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let lock = opened.map_err(NotLocked::Refused)?;
    let since = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if since.elapsed() < WAIT_MAX => {
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => return Err(NotLocked::Busy),
            Err(TryLockError::Error(cause)) => return Err(NotLocked::Refused(cause)),
        }
    }
}
