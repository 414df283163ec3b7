//! Whatever waits or grows in the runner has a limit. All of them stand here, each with its reason.

use std::time::Duration;

/// Output kept of each of an agent's streams: the first and the last half. What lies between is
/// counted; whoever watches has seen it pass.
pub const AGENT_OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// Between SIGTERM and SIGKILL. An agent has more to put away than a hook: its transcript, a commit
/// it is in the middle of, its own children.
pub const AGENT_KILL_GRACE: Duration = Duration::from_secs(10);

/// After an agent has ended: how long to wait for the end of its output, which something that it
/// left in the background may hold.
pub const AGENT_LINGER: Duration = Duration::from_secs(1);

/// Bytes of a prompt that is an argument: the kernel refuses one of 128 KiB with the zero behind it.
pub const PROMPT_ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// How often a scripted agent looks for the file that it waits for.
pub const WAIT_FOR_PAUSE: Duration = Duration::from_millis(10);
