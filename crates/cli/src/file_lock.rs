//! One process at a time changes files that are replaced whole, and so cannot be locked themselves.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for others. One change takes a fraction of a millisecond, and an agent with many
/// tools at once makes dozens, on a machine that they keep busy.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Between two looks whether they are done.
const PAUSE: Duration = Duration::from_micros(300);

/// Why nothing can be changed.
#[derive(Debug)]
pub(crate) enum NotLocked {
    /// Others change it all the time.
    Busy,
    /// The system says no.
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

/// Waits until this process alone changes what this file stands for; until it is dropped.
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
