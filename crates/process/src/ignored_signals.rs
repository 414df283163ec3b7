//! Signals that this program was started to ignore, as `nohup` and background jobs of scripts do.
//!
//! If SIGCHLD is ignored, the system discards the exit codes of children. A child that
//! [`run`](crate::run) did not start inherits ignored signals, and then its `trap` and `kill` don't
//! work as expected. A caught signal, however, is reset to the default in every executed program.
//! So ignored signals are caught here and not acted on: this program behaves as if they were
//! ignored.
//!
//! Only a program that is its own host does this; a library must not change its host's signals.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD, SIGXCPU, SIGXFSZ by their
/// numbers on Linux and, except for the four in the middle, elsewhere. Not SIGPIPE, which the
/// standard library handles; nor SIGTSTP, SIGTTIN and SIGTTOU: if caught, they interrupt a read of
/// the terminal again and again.
#[cfg(target_os = "linux")]
const CAUGHT: [i32; 10] = [1, 2, 3, 10, 12, 14, 15, 17, 24, 25];
#[cfg(not(target_os = "linux"))]
const CAUGHT: [i32; 0] = [];

const SIGHUP: i32 = 1;

/// The signals that this program was started to ignore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IgnoredSignals {
    /// Bit 0 is signal 1.
    mask: u64,
}

impl IgnoredSignals {
    /// The signals ignored now; none if the system does not tell.
    pub fn read() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        Self { mask: mask.unwrap_or_default() }
    }

    /// Whether there is nothing to catch.
    pub fn is_empty(self) -> bool {
        !CAUGHT.into_iter().any(|number| self.has(number))
    }

    /// Catches them, so that children start with the default. Costs nothing if none is ignored.
    pub fn catch(self) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut ignored = CAUGHT.into_iter().filter(|number| self.has(*number));
        // Handlers outlive the runtime.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let inside = runtime.enter();
        let caught = ignored.try_for_each(|number| signal(SignalKind::from_raw(number)).map(drop));
        drop(inside);
        // Nothing runs on it, and an asynchronous caller may not wait for its end.
        runtime.shutdown_background();
        caught
    }

    /// Whether this program was started to outlive its terminal.
    pub fn hangup(self) -> bool {
        self.has(SIGHUP)
    }

    fn has(self, number: i32) -> bool {
        self.mask & (1 << (number - 1)) != 0
    }
}
