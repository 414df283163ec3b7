//! Whatever waits or grows has a limit. All of this crate's are here, each with its reason.

use std::time::Duration;

/// Values inside one another in a tool's input. Checking recurses this deep, and no tool needs more.
pub const INPUT_DEPTH_MAX: usize = 64;

/// Bytes of a path. The system's own limit for one call is the same; we follow names one by one, and
/// would not meet it.
pub const PATH_BYTES_MAX: usize = 4096;

/// Links that one path may lead through, as on Linux.
pub const LINKS_MAX: usize = 40;

/// Folders above one another. No path that fits [`PATH_BYTES_MAX`] has more.
pub const FOLDERS_DEPTH_MAX: usize = PATH_BYTES_MAX / 2;

/// Names tried for a file that is being written, before the folder counts as hostile.
pub const WRITE_ATTEMPTS_MAX: u32 = 8;

/// Entries of a folder that are looked at for unfinished files of killed programs, before a file is
/// written there. Reading more would take longer than writing.
pub const UNFINISHED_LOOKED_AT_MAX: usize = 1_000;

/// The age from which an unfinished file without a living owner is removed. Writing one file takes less.
pub const UNFINISHED_AGE_MIN: Duration = Duration::from_mins(10);

/// Bytes of a file that is read without `offset` and `limit`, and of what one read shows: a model has
/// room for few of these.
pub const READ_BYTES_MAX: usize = 256 * 1024;

/// Lines that one read shows unless `limit` says otherwise.
pub const READ_LINES: usize = 2000;

/// Bytes of one line that a read shows. Longer lines are generated, and the rest tells a model little.
pub const READ_LINE_BYTES_MAX: usize = 2000;

/// Bytes of a file through which a read looks for its lines and counts them: a few seconds' work.
pub const READ_SCAN_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Bytes at the start of a file in which a NUL byte says that it is not text.
pub const BINARY_CHECK_BYTES: usize = 8 * 1024;

/// Bytes of a file that is written or edited. It is kept a few times for a moment: the old text, the
/// new one, and both in the response for hooks.
pub const CHANGED_FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long the difference between two texts is worked out; then it becomes coarser.
pub const DIFF_TIME_MAX: Duration = Duration::from_millis(500);

/// Files whose state a session remembers, so that no change of another is overwritten. More are read
/// again before they are edited.
pub const SEEN_FILES_MAX: usize = 10_000;

/// Bytes of each output of a shell command that hooks and the model get: the first and the last half.
/// The middle is counted.
pub const SHELL_OUTPUT_BYTES_MAX: usize = 30_000;

/// How long a shell command may run unless `timeout` says otherwise.
pub const SHELL_TIMEOUT: Duration = Duration::from_secs(120);

/// The longest `timeout` of a shell command.
pub const SHELL_TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// Bytes of a shell command: what the system accepts as one argument, less its end.
pub const SHELL_COMMAND_BYTES_MAX: usize = 128 * 1024 - 1;

/// Between SIGTERM and SIGKILL when a shell command is ended.
pub const SHELL_KILL_GRACE: Duration = Duration::from_secs(2);

/// How long we wait for the end of output when a shell command has ended and left something in the
/// background.
pub const SHELL_LINGER: Duration = Duration::from_millis(200);

/// How long one search through files may take. What was found by then is shown.
pub const SEARCH_TIME_MAX: Duration = Duration::from_secs(20);

/// Files and folders that one search looks at.
pub const SEARCH_ENTRIES_MAX: usize = 500_000;

/// Bytes of names that a search keeps to go through folders in order: those of one folder and of the
/// folders above. A hundred thousand files in one folder fit.
pub const SEARCH_NAME_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Folders inside one another through which a search goes: it holds each of them open.
pub const SEARCH_DEPTH_MAX: usize = 64;

/// Bytes of a `.gitignore` or `.ignore` that is read.
pub const IGNORE_FILE_BYTES_MAX: usize = 256 * 1024;

/// Bytes of the patterns of all ignore files that count for one folder. A compiled pattern can need a
/// thousand times its text, so this bounds a hostile repository to about 30 MB.
pub const IGNORE_BYTES_MAX: usize = 32 * 1024;

/// Bytes of a glob or a regular expression of a search.
pub const PATTERN_BYTES_MAX: usize = 4096;

/// Bytes of a compiled regular expression, and of what it remembers while it searches:
/// `(a{1000}){1000}` is short to write.
pub const SEARCH_REGEX_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Parentheses inside one another in a regular expression. Compiling recurses this deep.
pub const SEARCH_REGEX_DEPTH_MAX: u32 = 100;

/// Bytes that a search keeps of one file: its longest line, or the whole file with `multiline`.
pub const SEARCH_BUFFER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Files that a glob shows: the newest.
pub const GLOB_FILES_MAX: usize = 100;

/// Lines, files or counts that a search for text shows unless `head_limit` says otherwise.
pub const GREP_RESULTS: usize = 250;

/// The largest `head_limit` and `offset`: files up to here are kept to find the newest.
pub const GREP_RESULTS_MAX: usize = 10_000;

/// Bytes of all that a search for text shows.
pub const GREP_BYTES_MAX: usize = 30_000;

/// Bytes of one line that a search for text shows.
pub const GREP_LINE_BYTES_MAX: usize = 500;

/// Lines of context around a match.
pub const GREP_CONTEXT_MAX: u64 = 100;

/// Bytes of one event of a model's answer. A delta has a few; only an encrypted thought comes in one piece.
pub const EVENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of a model's whole answer. The longest answers have 128,000 tokens, and each may come in an event
/// of its own, about 150 bytes long.
pub const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Until a model's answer begins. A busy server queues a long request for minutes.
pub const ANSWER_BEGINS_MAX: Duration = Duration::from_secs(10 * 60);

/// How long an answer may pause. Servers send a `ping` while the model thinks.
pub const ANSWER_SILENCE_MAX: Duration = Duration::from_secs(2 * 60);

/// How long to wait, when all of an answer's content has come, for what it can do without: the tokens that
/// it used, and a mark for its end that some servers never send.
pub const ANSWER_TAIL_MAX: Duration = Duration::from_secs(5);

/// How long to wait for the end of the connection's message behind a complete answer. It lets the next
/// request use the same connection, and nothing waits for it.
pub const ANSWER_DRAIN_MAX: Duration = Duration::from_secs(5);

/// Bytes of an error's body that are read. Servers send a sentence; proxies a page.
pub const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Characters of a server's own words in an error.
pub const ERROR_CHARS_MAX: usize = 500;

/// Attempts of one request. A server that is overloaded for longer than the waits between them needs a
/// person.
pub const ATTEMPTS_MAX: u32 = 6;

/// The wait before the second attempt; each further one is twice as long.
pub const BACKOFF_FIRST: Duration = Duration::from_secs(1);

/// The longest wait between two attempts. A server that names a longer one is out of reach for this
/// session.
pub const RETRY_WAIT_MAX: Duration = Duration::from_secs(120);

/// Tools that run at once. The others of the same answer wait.
pub const TOOLS_AT_ONCE_MAX: usize = 8;

/// Subagents inside one another. One that starts another like itself ends here.
pub const SUBAGENT_DEPTH_MAX: usize = 3;

/// Subagents that run at once in a session: each holds a conversation and its transcript's file.
pub const SUBAGENTS_AT_ONCE_MAX: usize = 32;

/// Subagents of a session in all. Each leaves a transcript.
pub const SUBAGENTS_MAX: usize = 1000;

/// Bytes of a subagent's kind, which is part of every event that it fires.
pub const SUBAGENT_KIND_BYTES_MAX: usize = 64;

/// Bytes of the few words for what a subagent does: they are shown on one line.
pub const SUBAGENT_DESCRIPTION_BYTES_MAX: usize = 1000;

/// Bytes of a token, about. Code has three to four; fewer make an estimate higher, and compaction earlier.
pub const BYTES_PER_TOKEN: usize = 3;

/// Tokens that a model has room for if it does not say so itself: as many as most models that call tools.
pub const CONTEXT_TOKENS: u64 = 128_000;

/// The fewest tokens of a context that can be set. The system prompt and the tools need most of these.
pub const CONTEXT_TOKENS_MIN: u64 = 1000;

/// A context this full, in percent, is compacted. The rest is room for the answer and for what the estimate
/// missed.
pub const CONTEXT_FULL_PERCENT: u64 = 80;

/// The last calls and their results are kept if they fill this much of the context, in percent.
pub const CONTEXT_KEPT_PERCENT: u64 = 25;

/// Compactions that fail in a row before none is tried by itself any more.
pub const COMPACTION_FAILURES_MAX: u32 = 3;

/// Bytes of the task that are repeated in front of a summary. A prompt can be a whole file.
pub const SUMMARY_TASK_BYTES_MAX: usize = 16 * 1024;

/// Bytes to which results and inputs are cut for a summary, until the request for it fits.
pub const SUMMARISED_BYTES_STEPS: &[usize] = &[16 * 1024, 4 * 1024, 1024, 256];

/// How often a program is told about the output of a hook that runs.
pub const HOOK_PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Bytes of a hook's output in one such message: the last ones. All of it comes when the hook has ended.
pub const HOOK_PROGRESS_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a transcript that is continued: it is read as a whole, and the conversation in it is kept in
/// memory. Months of work fit.
pub const TRANSCRIPT_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Bytes of one line of a transcript that is continued. The largest has a file twice, as it was and as
/// it is: [`CHANGED_FILE_BYTES_MAX`], escaped.
pub const TRANSCRIPT_LINE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Characters of a call, a reason or an error in the journal: enough to recognise it. The transcript has
/// the whole text.
pub const JOURNAL_CHARS_MAX: usize = 500;

/// Servers of one session. Each is a process with tools that every request describes.
pub const MCP_SERVERS_MAX: usize = 32;

/// How long a server may take until its tools are known, unless its `start_timeout` says otherwise. Some
/// are downloaded at their first start.
pub const MCP_START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a call of a server's tool may take unless the server's `timeout` says otherwise; as long as a
/// hook.
pub const MCP_CALL_TIMEOUT: Duration = Duration::from_secs(300);

/// How long a server may take to read that a call is cancelled. A server that does not read is ended.
pub const MCP_CANCEL_WAIT: Duration = Duration::from_secs(2);

/// How long a server may take to end by itself when its input is closed.
pub const MCP_CLOSE_WAIT: Duration = Duration::from_secs(2);

/// Between SIGTERM and SIGKILL when a server is ended.
pub const MCP_KILL_GRACE: Duration = Duration::from_secs(2);

/// Bytes of one message of a server. A screenshot fits; nothing longer would fit into a request to a
/// model.
pub const MCP_MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes that a server may send between two answers. One useless answer of 100 MB passes, and a server
/// that prints without end is ended.
pub const MCP_UNASKED_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Requests of a server to us that wait for their answer. More are not answered.
pub const MCP_OPEN_REQUESTS_MAX: usize = 16;

/// Tools of one server. Every request to a model describes them all.
pub const MCP_TOOLS_MAX: usize = 200;

/// Pages in which a server lists its tools.
pub const MCP_PAGES_MAX: usize = 100;

/// Bytes of a tool's input schema.
pub const MCP_SCHEMA_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a tool's description that a model reads.
pub const MCP_DESCRIPTION_BYTES_MAX: usize = 4096;

/// Characters of a tool's name, as every model's server accepts it.
pub const TOOL_NAME_CHARS_MAX: usize = 64;

/// Bytes of a result that a model reads, and of one block of it that hooks read: about 25,000 tokens.
pub const MCP_OUTPUT_BYTES_MAX: usize = 100_000;

/// Bytes kept of a server's standard error: its first and its last half.
pub const MCP_STDERR_BYTES_MAX: usize = 64 * 1024;

/// Characters of a server's own words in a message.
pub const MCP_WORDS_CHARS_MAX: usize = 300;
