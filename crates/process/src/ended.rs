//! How a run ended and what it left. A failing child is a result, not an error.

use std::time::Duration;

use crate::{Captured, StartFailure};

/// A finished run.
#[derive(Debug)]
pub struct Ended {
    /// How the leader ended.
    pub how: How,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// A process still held the output open when the wait for its end was over: a background child,
    /// or after a timeout a process out of reach.
    pub output_held: bool,
    /// The time from the call of `run` to its return.
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
    /// A signal that we did not send ended the leader. Signal 0: another part of this program
    /// reaped the leader, and how it ended is unknown.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The deadline passed; the whole tree was ended.
    TimedOut {
        /// The leader's time limit.
        after: Duration,
    },
    /// The host cancelled it; the whole tree was ended, or nothing was started.
    Cancelled,
    /// It stopped to use the terminal, which it does not have; the whole tree was ended.
    WantedTerminal,
    /// The child did not start.
    NotStarted {
        /// Why it did not start.
        cause: StartFailure,
    },
}
