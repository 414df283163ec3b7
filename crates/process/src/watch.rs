//! Looking on while a child runs: the one way news leaves [`run`](crate::run) before it returns.

use std::time::Duration;

use crate::{Captured, Leader};

/// Which of the child's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Looks on while the child runs. `()` looks away.
pub trait Watch: Send {
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
