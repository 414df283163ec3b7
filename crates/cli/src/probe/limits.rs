//! Limits of the probe, each with its reason.

use std::time::Duration;

/// Runs of the agent at once. Each is a whole agent, and most of its time is its own start.
pub(super) const RUNS_AT_ONCE_MAX: usize = 2;

/// How long one run may take. The slowest agents need half a minute, and four times that on a machine
/// with ten other programs for each core.
pub(super) const RUN_MAX: Duration = Duration::from_secs(240);

/// The time between SIGTERM and SIGKILL for what an agent leaves behind.
pub(super) const KILL_GRACE: Duration = Duration::from_millis(500);

/// The time to wait for the end of an agent's output after its own end.
pub(super) const LINGER: Duration = Duration::from_millis(200);

/// Bytes kept of an agent's output; the end of it is shown if something went wrong.
pub(super) const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// Lines shown of the output of a run in which something went wrong.
pub(super) const OUTPUT_LINES_SHOWN: usize = 12;

/// Bytes of the events that the hooks of one run write down. One run has about a hundred.
pub(super) const EVENTS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The timeout of hooks, and the deadline that they are told, in the run with a guard that hangs.
/// Ours answers earlier, so that the run takes seconds.
pub(super) const SHORT_TIMEOUT_SECONDS: u64 = 6;

/// Most stops in a row that count as capped: ours is 8, and an agent may have one more.
pub(super) const STOPS_MAX: usize = 12;
