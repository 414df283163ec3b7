//! How a run ended and what it left. A child that fails is news, not an error.

use std::time::Duration;

use crate::{Captured, StartFailure};

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub how: How,
    /// What it printed on standard output.
    pub stdout: Captured,
    /// What it printed on standard error.
    pub stderr: Captured,
    /// Something still held the output when we stopped waiting for its end: a background child, or
    /// after a timeout a process out of our reach.
    pub output_held: bool,
    /// From the call of `run` to its return.
    pub duration: Duration,
}

/// How a run ended.
#[derive(Debug)]
pub enum How {
    /// The leader ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal that was not ours ended the leader. Signal 0: somebody else in this program
    /// collected the leader's end, and how it ended cannot be known any more.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The deadline came first; the whole tree was ended.
    TimedOut {
        /// The time it had.
        after: Duration,
    },
    /// The host no longer wants it; the whole tree was ended, or nothing was started.
    Cancelled,
    /// It stopped to use the terminal, which is not its own; the whole tree was ended.
    WantedTerminal,
    /// There never was a child.
    NotStarted {
        /// Why.
        cause: StartFailure,
    },
}
