//! Whatever waits or grows has a limit. All of the server's stand here, each with its reason.

use std::time::Duration;

/// Bytes of an answer: a person's words and whatever a chat tool puts around them.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a request's line and headers: browsers and proxies send one or two thousand.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Headers of a request.
pub const HEADERS_MAX: usize = 64;

/// Connections at once, for each listener. People and chat tools need a few, for a moment each; a
/// process may as a rule open 1,024 files. One more, and the oldest is closed: those who hold
/// connections open lose them, and whoever has something to say gets through.
pub const CONNECTIONS_MAX: usize = 256;

/// How long a request's headers may take to arrive.
pub const HEADERS_WAIT: Duration = Duration::from_secs(10);

/// How long a request's body may take to arrive.
pub const BODY_WAIT: Duration = Duration::from_secs(20);

/// How long a connection may last, from its first byte to the last of the answer.
pub const CONNECTION_WAIT: Duration = Duration::from_secs(60);

/// How long an answer that is on its way to a person holds up the end of the program: two seconds, in
/// steps. A machine that keeps the program from running for a while takes the time of one step, and the
/// answer has the others.
pub const LAST_ANSWERS_STEP: Duration = Duration::from_millis(100);
/// How many of these steps.
pub const LAST_ANSWERS_STEPS: u32 = 20;

/// Before a listener that cannot take connections (the process has too many open files) tries again.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long whoever holds our port has to prove that it is one of us.
pub const PROOF_WAIT: Duration = Duration::from_secs(2);

/// Bytes of that proof and the headers before it.
pub const PROOF_BYTES_MAX: u64 = 4096;

/// How often a port is tried whose holder goes away while it is asked.
pub const BIND_ATTEMPTS_MAX: u32 = 5;

/// Between two tries to listen at a port by the one process whose turn it is: the process that listened there
/// may need a moment to end, or the port belongs to another program.
pub const TAKE_OVER_PAUSE: Duration = Duration::from_millis(250);

/// Between two tries to listen at a port by the others, for whom the system has not had a turn yet. They need
/// it only if a program holds the lock and does not listen.
pub const TAKE_OVER_PAUSE_WITHOUT_TURN: Duration = Duration::from_secs(300);

/// Between two looks into the store that nothing has asked for: a clock may have been set, and a process that
/// decided may have been killed before it could ring. Each look takes about half a millisecond, so a thousand
/// processes that wait need 0.4 % of a core for it.
pub const UNASKED_LOOK_PAUSE: Duration = Duration::from_secs(120);

/// Between two looks into the store where there is no bell.
pub const LOOK_PAUSE_WITHOUT_BELL: Duration = Duration::from_millis(500);

/// Bytes of a bell that are read at once; the id of a question has a dozen.
pub const BELL_BYTES_AT_ONCE: usize = 4096;

/// Between two searches for bells whose owners were killed. A search looks at all bells.
pub const BELLS_SWEEP_PAUSE: Duration = Duration::from_secs(60 * 60);

/// A younger bell may be one that its owner is about to open.
pub const BELL_AGE_MIN: Duration = Duration::from_secs(60);

/// Characters of a word that decides: those that mean something have at most ten, and offered ones
/// have to fit on a button.
pub const ACTION_CHARS_MAX: usize = 100;

/// Characters of a message that is shown again to whoever comes later.
pub const MESSAGE_CHARS_SHOWN_MAX: usize = 2000;

/// Paths of changed files and outputs that are kept with a wait.
pub const PATHS_MAX: usize = 500;

/// Ids that are tried for a wait before it is given up. The second is tried only if two waits of two
/// to the power of 40 happen to meet.
pub const IDS_TRIED_MAX: u32 = 8;

/// Pages of sessions that are kept up to date at once. Each holds a connection, and a message at most that
/// its browser has not read; pages that show different things hold what they show.
pub const STREAMS_MAX: usize = 64;

/// How long a page is kept up to date over one connection: those of people who went away without saying
/// so end some day, and all others are made anew by the browser.
pub const STREAM_WAIT: Duration = Duration::from_secs(600);

/// After which time a browser comes back whose connection ended.
pub const STREAM_RETRY: Duration = Duration::from_secs(1);

/// Between two signs of life to a page for which there is nothing new.
pub const HEARTBEAT_PAUSE: Duration = Duration::from_secs(15);

/// Between two looks whether anything was committed, one for all pages, while one is open. A person takes
/// what comes within a quarter of a second for at once.
pub const CHANGES_LOOK_PAUSE: Duration = Duration::from_millis(200);

/// Between two looks for what changes without a commit: a process that was killed, a time that is over.
pub const UNWRITTEN_LOOK_PAUSE: Duration = Duration::from_secs(3);

/// Journals whose story is kept for the next look: one for each page that is kept up to date. With fewer
/// each of many pages would have its whole journal read at every change.
pub const CHRONICLES_KEPT_MAX: usize = STREAMS_MAX;

/// Entries of a journal from one checkpoint to the next, at least. An older page reads about so many before
/// its own: half a millisecond.
pub const CHECKPOINT_ENTRIES: u64 = 250;

/// Bytes of one checkpoint, about. Where more is under way, none is made, and older pages read on from the one
/// before.
pub const CHECKPOINT_BYTES_MAX: usize = 24 * 1024;

/// Bytes of all checkpoints of a session, about. Where they would take more, every other one goes.
/// [`CHRONICLES_KEPT_MAX`] sessions take 32 MB at most.
pub const CHECKPOINTS_BYTES_MAX: usize = 512 * 1024;

/// Rows of a session's story on one page: what a browser lays out without being felt.
pub const ROWS_MAX: usize = 60;

/// Hooks and notes of one iteration on its page; a session's whole story is told by `sessions show`.
pub const DEEDS_SHOWN_MAX: usize = 40;

/// Sessions on one page.
pub const SESSIONS_ON_PAGE_MAX: usize = 50;

/// Questions on one page: each has a form.
pub const QUESTIONS_SHOWN_MAX: usize = 20;

/// Reports that are kept until their row comes; those of one iteration, as a rule a handful.
pub const REPORTS_WITHOUT_ROW_MAX: usize = 1_000;

/// Journal entries before a hook's report that are searched for its output. Usually it is the entry right
/// before; there are more in between only where very many hooks run at once.
pub const OUTPUT_LOOK_BACK_MAX: u64 = 10_000;

/// Characters of a reason or a summary on a page.
pub const WORDS_CHARS_MAX: usize = 1_000;

/// Bytes of each stream of a hook's output on the page of its report: the first and the last half.
pub const OUTPUT_BYTES_SHOWN_MAX: usize = 64 * 1024;
