//! Whatever waits or grows while an agent works has a limit. All of them are here, each with its reason.

use std::time::Duration;

/// Output kept of each of an agent's streams: the first and the last half. What lies between is
/// counted; observers have seen it pass.
pub const AGENT_OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// Between SIGTERM and SIGKILL. An agent has more to put away than a hook: its transcript, a commit
/// it is in the middle of, its own children.
pub const AGENT_KILL_GRACE: Duration = Duration::from_secs(10);

/// After an agent has ended: how long to wait for the end of its output, which something that it
/// left in the background may hold.
pub const AGENT_LINGER: Duration = Duration::from_secs(1);

/// Bytes of a prompt that is an argument: the kernel refuses one of 128 KiB with the zero behind it.
pub const PROMPT_ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// Bytes of one line of an agent's output that is put together: more than any message of one, and not
/// all memory for one that never ends its line.
pub const AGENT_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes read from the end of the file in which an agent records its session: why it ended is last.
pub const SESSION_FILE_BYTES_MAX: u64 = 256 * 1024;

/// Folders that are looked into for that file. It is new, so it is in one of the first.
pub const SESSION_FOLDERS_MAX: usize = 32;

/// How long an agent may tell of nothing but that it cannot reach its model and tries again. A router comes
/// back sooner. Then the agent is ended, and the next one of the list works, or the session waits.
pub const OUT_OF_REACH_MAX: Duration = Duration::from_secs(2 * 60);

/// How often a scripted agent looks for the file that it waits for.
pub const WAIT_FOR_PAUSE: Duration = Duration::from_millis(10);

/// How long one turn of an agent may take when `max_runtime` says nothing: a day. An agent that never
/// ends must not hold a session for ever.
pub const TURN_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of an agent's last words, the end of them: as much as is kept of what any other agent prints.
/// One that talks without end must not take all memory.
pub const LAST_WORDS_BYTES_MAX: usize = 1024 * 1024;
