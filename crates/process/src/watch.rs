//! Watches a child while it runs: the only way news leaves [`run`](crate::run) before it returns.

use std::time::Duration;

use crate::{Captured, Leader};

/// Which of the child's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Changes a child's output before it is shown or kept.
pub trait OutputFilter: Send {
    /// Takes bytes, and appends what may pass to `out`. It may hold bytes back until it has seen
    /// more.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>);

    /// Ends the input: appends what was held back to `out`.
    fn finish(&mut self, out: &mut Vec<u8>);
}

/// Watches a running child. `()` ignores everything.
pub trait Watch: Send {
    /// The filter for this stream. Called once, before the child runs.
    fn filter(&mut self, stream: Stream) -> Option<Box<dyn OutputFilter>> {
        let _ = stream;
        None
    }

    /// The child runs.
    fn started(&mut self, leader: &Leader) {
        let _ = leader;
    }

    /// New output. `Some(d)`: the deadline moves to `d` from now.
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        let _ = (stream, bytes);
        None
    }

    /// The leader has ended but some process still holds the output open. Returns whether this
    /// output is enough.
    fn enough(&mut self, stdout: &Captured) -> bool {
        let _ = stdout;
        false
    }
}

impl Watch for () {}
