//! All limits of the server, each with its reason. Everything that waits or grows has one.

use std::time::Duration;

/// Bytes of an answer: a person's message and the fields that a chat tool adds.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a request's line and headers: browsers and proxies send one or two thousand.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Headers of a request.
pub const HEADERS_MAX: usize = 64;

/// Connections at once, for each listener. People and chat tools need a few, for a moment each; a
/// process can usually open 1,024 files. At the limit the oldest connection is closed, so clients
/// that hold connections open lose them, and new requests get through.
pub const CONNECTIONS_MAX: usize = 256;

/// How long a request's headers may take to arrive.
pub const HEADERS_WAIT: Duration = Duration::from_secs(10);

/// How long a request's body may take to arrive.
pub const BODY_WAIT: Duration = Duration::from_secs(20);

/// How long a connection may last, from its first byte to the last of the answer.
pub const CONNECTION_WAIT: Duration = Duration::from_secs(60);

/// The end of the process waits for a response that is being sent: two seconds, in steps. If the
/// machine pauses the process, that takes one step, and the response has the others.
pub const LAST_ANSWERS_STEP: Duration = Duration::from_millis(100);
/// Number of these steps.
pub const LAST_ANSWERS_STEPS: u32 = 20;

/// Pause before a listener that cannot accept (too many open files) tries again.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long the holder of our port has to prove that it is hookwright.
pub const PROOF_WAIT: Duration = Duration::from_secs(2);

/// Bytes of that proof and the headers before it.
pub const PROOF_BYTES_MAX: u64 = 4096;

/// Attempts to bind a port whose holder keeps ending while it is being identified.
pub const BIND_ATTEMPTS_MAX: u32 = 5;

/// Pause between two attempts to bind a port, for the process whose turn it is: the previous
/// listener may need a moment to end, or the port belongs to another program.
pub const TAKE_OVER_PAUSE: Duration = Duration::from_millis(250);

/// The same pause for processes whose turn it is not. They need it only if a process holds the lock
/// but does not listen.
pub const TAKE_OVER_PAUSE_WITHOUT_TURN: Duration = Duration::from_secs(300);

/// Pause between two regular checks of the store: a clock may have been set, or a process that
/// decided may have been killed before it could ring. A check takes about half a millisecond, so a
/// thousand waiting processes need 0.4 % of a core.
pub const UNASKED_LOOK_PAUSE: Duration = Duration::from_secs(120);

/// Pause between two regular checks of a store that other machines share, for a process that these
/// cannot wake: `fire`, whose hook asks a person.
pub const LOOK_PAUSE_OF_MACHINES: Duration = Duration::from_secs(2);

/// Pause between two checks of the store without a bell.
pub const LOOK_PAUSE_WITHOUT_BELL: Duration = Duration::from_millis(500);

/// Bytes per read of a bell; a question's id has a dozen.
pub const BELL_BYTES_AT_ONCE: usize = 4096;

/// Pause between two searches for orphaned bells. A search opens all bells.
pub const BELLS_SWEEP_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The owner of a younger bell may not have opened it yet.
pub const BELL_AGE_MIN: Duration = Duration::from_secs(60);

/// Characters of a word that decides: the known ones have at most ten, and offered ones have to fit
/// on a button.
pub const ACTION_CHARS_MAX: usize = 100;

/// Characters of a message that is shown to later visitors.
pub const MESSAGE_CHARS_SHOWN_MAX: usize = 2000;

/// Paths of changed files and outputs that are stored with a wait.
pub const PATHS_MAX: usize = 500;

/// Ids that are tried for a wait. The second is needed only if two of 2^40 possible ids collide.
pub const IDS_TRIED_MAX: u32 = 8;

/// Sessions pages that are kept up to date at once. Each holds a connection and at most one unread
/// message; each distinct page also holds its content.
pub const STREAMS_MAX: usize = 64;

/// How long one connection keeps a page up to date: abandoned ones end at last, and browsers
/// reconnect the others.
pub const STREAM_WAIT: Duration = Duration::from_secs(600);

/// Delay before a browser reconnects.
pub const STREAM_RETRY: Duration = Duration::from_secs(1);

/// Pause between two heartbeats to a page without news.
pub const HEARTBEAT_PAUSE: Duration = Duration::from_secs(15);

/// Pause between two checks for commits, one for all pages, while a page is open. To a person, a
/// quarter of a second feels immediate.
pub const CHANGES_LOOK_PAUSE: Duration = Duration::from_millis(200);

/// Pause between two checks for changes without a commit: a killed process, an expired wait.
pub const UNWRITTEN_LOOK_PAUSE: Duration = Duration::from_secs(3);

/// Journals that stay in the cache: one for each page that is kept up to date. With fewer, each
/// change would read whole journals again.
pub const CHRONICLES_KEPT_MAX: usize = STREAMS_MAX;

/// Minimum number of journal entries between two checkpoints. An older page reads about this many
/// before its own, which takes half a millisecond.
pub const CHECKPOINT_ENTRIES: u64 = 250;

/// Approximate bytes of one checkpoint. A larger one is not made, and older pages read on from the
/// one before.
pub const CHECKPOINT_BYTES_MAX: usize = 24 * 1024;

/// Approximate bytes of all checkpoints of a session. Beyond it, every other one is removed.
/// [`CHRONICLES_KEPT_MAX`] sessions take 32 MB at most.
pub const CHECKPOINTS_BYTES_MAX: usize = 512 * 1024;

/// Rows of a session's history on one page: a browser lays them out without delay.
pub const ROWS_MAX: usize = 60;

/// Hooks and notes of one iteration on its page; `sessions show` prints the whole history.
pub const DEEDS_SHOWN_MAX: usize = 40;

/// Sessions on one page.
pub const SESSIONS_ON_PAGE_MAX: usize = 50;

/// Questions on one page: each has a form.
pub const QUESTIONS_SHOWN_MAX: usize = 20;

/// Reports that are kept until their row exists: those of one iteration, usually a few.
pub const REPORTS_WITHOUT_ROW_MAX: usize = 1_000;

/// Journal entries before a hook's report that are searched for its output. Usually it is the entry
/// right before; more are in between only if very many hooks run at once.
pub const OUTPUT_LOOK_BACK_MAX: u64 = 10_000;

/// Characters of a reason or a summary on a page.
pub const WORDS_CHARS_MAX: usize = 1_000;

/// Bytes of each stream of a hook's output on the page of its report: the first and the last half.
pub const OUTPUT_BYTES_SHOWN_MAX: usize = 64 * 1024;
