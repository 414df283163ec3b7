//! Signals that this program was started to ignore, as `nohup` and background jobs of scripts are.
//!
//! Where SIGCHLD is ignored, the system throws the exit codes of children away. A child that
//! [`run`](crate::run) did not start inherits what is ignored, and then its `trap` and `kill` don't work
//! as its author expects. A signal that is caught, however, is the default again in whatever is
//! executed. So an ignored signal is caught here, and nothing done about it: this program goes on as if
//! it were ignored.
//!
//! Only a program that is its own host does this; a library has no business with its host's signals.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD, SIGXCPU, SIGXFSZ by their
/// numbers on Linux and, but for the four in the middle, elsewhere. Not SIGPIPE, which the standard
/// library sees to; nor SIGTSTP, SIGTTIN and SIGTTOU: caught, they interrupt a read of the terminal again
/// and again.
#[cfg(target_os = "linux")]
const CAUGHT: [i32; 10] = [1, 2, 3, 10, 12, 14, 15, 17, 24, 25];
#[cfg(not(target_os = "linux"))]
const CAUGHT: [i32; 0] = [];

const SIGHUP: i32 = 1;

/// What this program was started to ignore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IgnoredSignals {
    /// Bit 0 is signal 1.
    mask: u64,
}

impl IgnoredSignals {
    /// What is ignored now. Where the system does not tell, nothing.
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

    /// Catches them, so that children start with the default. Costs nothing where none is ignored.
    pub fn catch(self) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut ignored = CAUGHT.into_iter().filter(|number| self.has(*number));
        // Handlers stay when the runtime goes.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let inside = runtime.enter();
        let caught = ignored.try_for_each(|number| signal(SignalKind::from_raw(number)).map(drop));
        drop(inside);
        // Nothing runs on it, and a caller that is itself asynchronous may not wait for its end.
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
