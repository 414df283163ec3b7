//! Everything that waits or grows has a limit. The engine's limits are here, each with its reason.

use std::time::Duration;

/// A shorter secret would be found, and hidden, in unrelated text.
pub const SECRET_BYTES_MIN: usize = 8;

/// More hooks than this in one set are a generated mistake; matching is measured up to here.
pub const HOOKS_MAX: usize = 10_000;

/// Bytes of one condition's text. Longer ones are generated, and too long to read in a report.
pub const CONDITION_BYTES_MAX: usize = 10_000;

/// Nested parentheses, lists, `!` and `-`. Parsing and evaluation recurse this deep.
pub const CONDITION_DEPTH_MAX: usize = 64;

/// Bytes of one compiled regular expression: enough for any list of tool names, and small enough to
/// refuse `(a{1000}){1000}`.
pub const REGEX_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of an expression that is compiled on first use: names and dots of this length stay far
/// below [`REGEX_BYTES_MAX`]. A longer one is compiled when it is read, to check its size.
pub const PLAIN_REGEX_BYTES_MAX: usize = 256;

/// Output kept of each stream: the first and the last half. The bytes between are counted.
pub const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// The kernel refuses an environment string of 128 KiB; this leaves room for the name.
pub const ENV_VALUE_BYTES_MAX: usize = 96 * 1024;

/// All built-in values in one environment. Each is set under two names, and the kernel's limit for
/// arguments and environment together is a quarter of the stack, usually 2 MiB.
pub const ENV_TOTAL_BYTES_MAX: usize = 512 * 1024;

/// Bytes of a first line that may still be an `async` answer.
pub const ASYNC_LINE_BYTES_MAX: usize = 4096;

/// Chunks of output on their way to observers. An observer that is slower than a hook prints misses
/// some, and is told how many bytes; the outcome holds what the limit on output allows.
pub const OUTPUT_CHUNKS_MAX: usize = 256;

/// Run events in an in-memory journal. Older ones are dropped, so that it cannot use up the host's
/// memory.
pub const JOURNAL_EVENTS_MAX: usize = 100_000;

/// Sessions in an in-memory memory. The least recently used one is dropped.
pub const SESSIONS_MAX: usize = 10_000;

/// Late answers that wait for a session's next safe point. Older ones are dropped.
pub const LATE_ANSWERS_MAX: usize = 1_000;

/// How deep firing may nest: a hook that fires an event whose hook fires an event…
pub const FIRING_DEPTH_MAX: usize = 4;

/// Child processes at once, of each kind: awaited and background. More would only queue for the
/// cores.
pub const CHILDREN_MAX: usize = 64;

/// Stops that hooks may block in a row with no work between them. The next stop ends the session
/// anyway.
pub const STOP_BLOCKS_MAX: u32 = 8;

/// Agents of one session whose blocked stops are counted; a session has far fewer at once.
pub const STOPPING_AGENTS_MAX: usize = 256;

/// Extra attempts with `on_failure: retry`, unless `retries` is set; a child pipeline has none.
pub const RETRIES: u32 = 3;

/// The most retries that a hook may request: beyond this a retry is a loop.
pub const RETRIES_MAX: u32 = 100;

/// The longest `timeout`, `retry_delay` or wait that can be configured: 30 days.
pub const WAIT_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long to wait for the end of a hook's output after its main process has ended, if nothing
/// depends on it.
pub const LINGER: Duration = Duration::from_millis(200);

/// The same at an event that can be blocked, where a late answer still counts.
pub const LINGER_AT_GUARDS: Duration = Duration::from_secs(2);

/// The time between SIGTERM and SIGKILL, unless `kill_grace` is set.
pub const KILL_GRACE: Duration = Duration::from_secs(2);

/// The time between cancelling a callback's token and dropping its future: enough to write a last
/// line, too short for a user to notice.
pub const CALLBACK_GRACE: Duration = Duration::from_secs(1);

/// Bytes read by failed attempts to parse an answer at a line's start, before the search ends.
/// Nested objects that are not closed are read once per level; without a limit, a megabyte of them
/// would take seconds. The unread rest may contain a deny, so the output then counts as invalid,
/// unless an answer before it denies or stops anyway.
pub const ANSWER_VAIN_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How long a command that answered `{"async": true}` may continue, unless it requests another
/// time.
pub const ASYNC_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time that such a command may request.
pub const ASYNC_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The timeout of shell and git actions and callbacks, unless `timeout` is set.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(300);

/// The timeout for sending a webhook, unless `timeout` is set.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The timeout of a person's answer and of a child pipeline, unless `timeout` is set.
pub const PATIENT_TIMEOUT: Duration = Duration::from_secs(3600);

/// The time between asking a child pipeline to end and killing it: its agent has ten seconds to
/// clean up, and its last hooks the rest.
pub const SPAWN_GRACE: Duration = Duration::from_secs(30);

/// The delay between attempts, unless `retry_delay` is set.
pub const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Bytes kept of a response; a receiver has no reason to send more than a command prints.
pub const RESPONSE_BYTES_MAX: usize = OUTPUT_BYTES_MAX;

/// The time to connect to a receiver; one that needs longer is down.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of `/etc/hosts`: lists that block advertisements have a few MiB.
pub const HOSTS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Bytes of `/etc/resolv.conf`, which has a few lines.
pub const RESOLVER_BYTES_MAX: u64 = 64 * 1024;

/// DNS servers that are asked, as the C library does; more would only add waiting time.
pub const DNS_SERVERS_MAX: usize = 3;

/// Search domains for a short name: each is one more query.
pub const DNS_DOMAINS_MAX: usize = 32;

/// The longest timeout per DNS server: the C library's own limit, as is [`DNS_ATTEMPTS_MAX`]. The
/// whole lookup must fit into [`CONNECT_TIMEOUT`].
pub const DNS_TIMEOUT_MAX: Duration = Duration::from_secs(30);

/// See [`DNS_TIMEOUT_MAX`].
pub const DNS_ATTEMPTS_MAX: usize = 5;

/// Redirects that one request follows: within one host, more is a circle.
pub const REDIRECTS_MAX: usize = 3;

/// Requests at once, of each kind: awaited and background. More would only queue at the receiver,
/// and each holds a connection and its body.
pub const REQUESTS_MAX: usize = 32;

/// Idle connections kept for the next request to the same host.
pub const IDLE_CONNECTIONS_MAX: usize = REQUESTS_MAX;

/// The longest delay between two attempts to send, whatever the receiver requests and however often
/// the delay has doubled: the awaiting host waits for this too.
pub const SEND_DELAY_MAX: Duration = Duration::from_secs(300);

/// How deep `$(…)` and backticks are looked into for an `if`. Deeper ones count as unreadable, and
/// then the handler runs.
pub const SUBSTITUTION_DEPTH_MAX: usize = 16;
