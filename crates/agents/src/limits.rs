//! Limits of everything that waits or grows while an agent works, each with its reason.

use std::time::Duration;

/// Output kept of each of an agent's streams: the first and the last half. The bytes between are
/// counted; observers have received them.
pub const AGENT_OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// The time between SIGTERM and SIGKILL. An agent has more to clean up than a hook: its transcript,
/// an unfinished commit, its own children.
pub const AGENT_KILL_GRACE: Duration = Duration::from_secs(10);

/// How long to wait for the end of an agent's output after the agent has ended. A background
/// process of the agent may hold it open.
pub const AGENT_LINGER: Duration = Duration::from_secs(1);

/// Bytes of a prompt that is an argument: the kernel refuses 128 KiB, counting the final zero byte.
pub const PROMPT_ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// Bytes of one line of an agent's output: more than its longest message, and bounded if it never
/// ends its line.
pub const AGENT_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes read from the end of an agent's session file: the reason for its end is at the end.
pub const SESSION_FILE_BYTES_MAX: u64 = 256 * 1024;

/// Folders that are searched for that file. It is new, so it is in one of the first.
pub const SESSION_FOLDERS_MAX: usize = 32;

/// How long an agent may do nothing but retry to reach its model. A router restarts sooner. After
/// that the agent is ended, and the next agent of the list works or the session waits.
pub const OUT_OF_REACH_MAX: Duration = Duration::from_secs(2 * 60);

/// How often a scripted agent checks for the file that it waits for.
pub const WAIT_FOR_PAUSE: Duration = Duration::from_millis(10);

/// The timeout of an agent's turn without `max_runtime`: a day. An agent that never ends must not
/// hold a session for ever.
pub const TURN_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes kept of the end of an agent's last message: as much as of any other agent's output. An
/// agent that prints without end must not use up all memory.
pub const LAST_WORDS_BYTES_MAX: usize = 1024 * 1024;
