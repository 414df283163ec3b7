//! Whatever waits or grows has a limit. All of the engine's stand here, each with its reason.

use std::time::Duration;

/// A shorter secret would be found, and hidden, in places where it is none.
pub const SECRET_BYTES_MIN: usize = 8;

/// More hooks than this in one set is a generated mistake; matching is measured up to here.
pub const HOOKS_MAX: usize = 10_000;

/// Bytes of one condition's text. Longer ones are generated, and nobody could read them in a report.
pub const CONDITION_BYTES_MAX: usize = 10_000;

/// Parentheses, lists, `!` and `-` inside one another. Parsing and evaluation recurse this deep.
pub const CONDITION_DEPTH_MAX: usize = 64;

/// Bytes of one compiled regular expression: enough for any list of tool names, and
/// `(a{1000}){1000}` is short to write.
pub const REGEX_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of an expression that is compiled only when it is asked: names and dots of this length stay far below
/// [`REGEX_BYTES_MAX`]. A longer one is compiled when it is read, to see whether it does.
pub const PLAIN_REGEX_BYTES_MAX: usize = 256;

/// Output kept of each stream: the first and the last half. What lies between is counted.
pub const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// The kernel refuses an environment string of 128 KiB; this leaves room for the name.
pub const ENV_VALUE_BYTES_MAX: usize = 96 * 1024;

/// All of our values in one environment. Each is set under two names, and the kernel's limit for
/// arguments and environment together is a quarter of the stack, as a rule 2 MiB.
pub const ENV_TOTAL_BYTES_MAX: usize = 512 * 1024;

/// Bytes of a first line that may still be an `async` answer; a longer one is none.
pub const ASYNC_LINE_BYTES_MAX: usize = 4096;

/// Chunks of output on their way to whoever watches. A reader that is slower than a hook prints
/// misses some, and is told how many bytes; the outcome holds what the limit on output allows.
pub const OUTPUT_CHUNKS_MAX: usize = 256;

/// Run events an in-memory journal keeps; older ones make room, so that it cannot eat its host.
pub const JOURNAL_EVENTS_MAX: usize = 100_000;

/// Sessions an in-memory memory knows; the one that was used longest ago makes room.
pub const SESSIONS_MAX: usize = 10_000;

/// Late answers that wait for a session's next safe point; older ones make room.
pub const LATE_ANSWERS_MAX: usize = 1_000;

/// How deep firing may nest: a hook that fires an event whose hook fires an event…
pub const FIRING_DEPTH_MAX: usize = 4;

/// Children at once, of each kind: awaited, and fire-and-forget. More only queue for the cores.
pub const CHILDREN_MAX: usize = 64;

/// Stops that hooks may block in a row with no work between them, before the session ends anyway.
pub const STOP_BLOCKS_MAX: u32 = 8;

/// Agents of one session whose blocked stops are counted; a session has far fewer at once.
pub const STOPPING_AGENTS_MAX: usize = 256;

/// Extra attempts with `on_failure: retry`, unless `retries` says otherwise; a child pipeline has
/// none.
pub const RETRIES: u32 = 3;

/// Attempts a hook may ask for: beyond this a retry is a loop.
pub const RETRIES_MAX: u32 = 100;

/// The longest `timeout`, `retry_delay` or wait that can be asked for: 30 days.
pub const WAIT_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// After a hook's leader has ended: how long to wait for the end of its output where nothing
/// depends on it.
pub const LINGER: Duration = Duration::from_millis(200);

/// The same at a point that can block, where a late answer still counts.
pub const LINGER_AT_GUARDS: Duration = Duration::from_secs(2);

/// Between SIGTERM and SIGKILL, unless `kill_grace` says otherwise.
pub const KILL_GRACE: Duration = Duration::from_secs(2);

/// What a callback gets between the cancelling of its token and the dropping of its future: enough
/// to write a last line somewhere, too little for anybody to notice.
pub const CALLBACK_GRACE: Duration = Duration::from_secs(1);

/// Bytes read in vain, by attempts to read an answer at a line's start, before we stop looking.
/// Nested objects that are never closed are read once for each level; without an end to that, a
/// megabyte of them would take seconds. What was not looked at may have been a deny, so the output
/// is then broken, unless what was read before denies or stops anyway.
pub const ANSWER_VAIN_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How long a command that answered `{"async": true}` may go on, unless it says otherwise.
pub const ASYNC_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest that such a command may ask for.
pub const ASYNC_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Shell and git actions and callbacks, unless `timeout` says otherwise.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(300);

/// Sending a webhook, unless `timeout` says otherwise.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// A person's answer and a child pipeline, unless `timeout` says otherwise.
pub const PATIENT_TIMEOUT: Duration = Duration::from_secs(3600);

/// What a child pipeline gets between being asked to end and being ended: its agent has ten seconds to
/// put its things away, and its last hooks the rest.
pub const SPAWN_GRACE: Duration = Duration::from_secs(30);

/// Between attempts, unless `retry_delay` says otherwise.
pub const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Bytes of a response that are kept; a receiver has no reason to send more than a command prints.
pub const RESPONSE_BYTES_MAX: usize = OUTPUT_BYTES_MAX;

/// To reach a receiver at all; one that does not answer in that time is down.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of `/etc/hosts`: lists that keep advertisements out have a few MiB.
pub const HOSTS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Bytes of `/etc/resolv.conf`, which has a few lines.
pub const RESOLVER_BYTES_MAX: u64 = 64 * 1024;

/// DNS servers that are asked, as the C library does; further ones would only be waited for.
pub const DNS_SERVERS_MAX: usize = 3;

/// Domains in which a short name is looked for: each is one question more.
pub const DNS_DOMAINS_MAX: usize = 32;

/// How long one DNS server may take, and how often all are asked: the C library's own limits. All of it
/// has to fit into [`CONNECT_TIMEOUT`].
pub const DNS_TIMEOUT_MAX: Duration = Duration::from_secs(30);

/// See [`DNS_TIMEOUT_MAX`].
pub const DNS_ATTEMPTS_MAX: usize = 5;

/// Redirects that one request follows: within one host, more is a circle.
pub const REDIRECTS_MAX: usize = 3;

/// Requests on their way at once, of each kind: awaited, and fire-and-forget. More only queue at the
/// receiver, and each holds a connection and its body.
pub const REQUESTS_MAX: usize = 32;

/// Connections that are kept for the next request to the same host.
pub const IDLE_CONNECTIONS_MAX: usize = REQUESTS_MAX;

/// The longest between two attempts to send, whatever the receiver asks for and however often the
/// delay has doubled: who waits for the hook waits for this too.
pub const SEND_DELAY_MAX: Duration = Duration::from_secs(300);

/// How deep `$(…)` and backticks are looked into for an `if`. Deeper ones count as unreadable, and
/// then the handler runs.
pub const SUBSTITUTION_DEPTH_MAX: usize = 16;
