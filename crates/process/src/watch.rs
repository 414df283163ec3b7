//! Looking on while a child runs: the one way news leaves [`run`](crate::run) before it returns.

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

/// Changes what a child prints before anybody sees it or keeps it.
pub trait OutputFilter: Send {
    /// Takes what was read, and puts what may pass by now behind `out`. It may hold bytes back until
    /// it has seen more.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>);

    /// Nothing more comes: puts what it held back behind `out`.
    fn finish(&mut self, out: &mut Vec<u8>);
}

/// Looks on while the child runs. `()` looks away.
pub trait Watch: Send {
    /// What this stream has to pass before it is kept or shown. Asked once, before the child runs.
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

    /// The leader has ended but something still holds the output open: is this all that is needed?
    fn enough(&mut self, stdout: &Captured) -> bool {
        let _ = stdout;
        false
    }
}

impl Watch for () {}
