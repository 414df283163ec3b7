//! Everything that waits or grows in the runner has a limit. All of them are here, each with its
//! reason.

use std::time::Duration;

/// How long `git commit` of a killed session may continue by itself before it is ended. It takes
/// less than a second, unless hooks of the repository run in it.
pub const GIT_GRACE: Duration = Duration::from_secs(10);

/// Bytes of a prompt that are stored for people, the first and the last half: the task is in the
/// last. Hook output in it may be longer, but people don't read that much.
pub const PROMPT_KEPT_BYTES_MAX: usize = 256 * 1024;

/// Stored bytes of what an agent says while it works, the first and the last half.
pub const SAID_KEPT_BYTES_MAX: usize = 256 * 1024;

/// Characters of an agent's last output in a message: enough to see what it wanted.
pub const LAST_WORDS_CHARS_MAX: usize = 300;

/// The first wait for an agent that cannot work and does not say until when; each further one is
/// twice as long.
pub const OUTAGE_WAIT_MIN: Duration = Duration::from_secs(30);

/// The longest of these waits: the session should continue soon after the service does.
pub const OUTAGE_WAIT_MAX: Duration = Duration::from_secs(10 * 60);

/// How often in a row an agent is asked again without knowing when it can work: about three
/// quarters of an hour. Then the session pauses for a person.
pub const OUTAGES_IN_A_ROW_MAX: u32 = 8;

/// The same if it says when. A limit of five hours that never lets anything through is given up
/// after four days; one of a second after twenty.
pub const LIMITS_IN_A_ROW_MAX: u32 = 20;

/// How often a waiting session reads the clock, which may have been set, or have stood still with
/// the machine.
pub const PAUSE_LOOK: Duration = Duration::from_secs(20);

/// Sessions of agents in a session's record: the latest ones. The journal has all.
pub const AGENT_SESSIONS_MAX: usize = 20;

/// Bytes of `status.json`. Agents write a few hundred; one that writes more uses it as a log.
pub const STATUS_BYTES_MAX: u64 = 1024 * 1024;

/// Outputs of earlier iterations in `context.json`: the latest ones. With all of them the cost of
/// an iteration would grow with the session, since each is checked.
pub const EARLIER_OUTPUTS_MAX: u32 = 25;

/// How often a file is written again because another process cleaned up the half-written one.
pub const WRITE_ATTEMPTS_MAX: u32 = 16;

/// Files below a project root outside git, and paths that git reports. A longer list is of no use,
/// and scanning more would take seconds in every iteration.
pub const CHANGED_FILES_MAX: usize = 50_000;

/// Bytes of uncommitted files that one scan reads, to distinguish a changed file from one that was
/// only touched. The rest is compared by size and times.
pub const CHANGED_BYTES_READ_MAX: u64 = 64 * 1024 * 1024;

/// How long one scan of the work tree may take: enough for a very big repository that is not in
/// memory. After a file system that hangs the session continues.
pub const CHANGED_FILES_TIMEOUT: Duration = Duration::from_secs(60);

/// How long after its beginning a scan of all files may serve as the next one too. A person who
/// edits a file between two iterations takes longer.
pub const LOOK_KEPT: Duration = Duration::from_secs(1);

/// Bytes of one list of paths from git: [`CHANGED_FILES_MAX`] of ordinary length.
pub const GIT_LIST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The depth of nested repositories that are scanned.
pub const REPOSITORY_DEPTH_MAX: usize = 4;

/// Iterations of a loop without a configured number.
pub const ITERATIONS_BY_DEFAULT: u32 = 25;

/// Iterations in a row that may fail before a session ends, whatever its hooks do about it.
pub const ERRORS_IN_A_ROW_MAX: u32 = 3;

/// Waits from this length on are shown; shorter ones go unnoticed.
pub const LONG_WAIT: Duration = Duration::from_secs(1);

/// Bytes of hook output on its way to the agent. Output beyond that is counted and left out: a
/// longer prompt would push the task itself out of the agent's sight.
pub const PENDING_OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// Firings whose events a session's state remembers: background hooks are reported long after the
/// decision.
pub const FIRINGS_REMEMBERED_MAX: usize = 10_000;

/// Hooks, decisions and notes of one iteration that a timeline keeps at each of its two ends. The
/// rest is counted: too many to read, and an iteration is shown only when it is over.
pub const DEEDS_KEPT_AT_EACH_END: usize = 2_500;

/// Lines of output of a hook that did not succeed: the last ones, in which programs say what went
/// wrong.
pub const HOOK_LINES_MAX: usize = 10;

/// Characters of such a line.
pub const HOOK_LINE_CHARS_MAX: usize = 200;

/// Hooks and questions of a session that have begun and not ended. More than ever occur at once;
/// beyond it, the oldest count as interrupted.
pub const UNDER_WAY_MAX: usize = 1_000;

/// How long a session waits for an agent by itself: as long as for a person. Beyond that it ends as
/// paused, and a person resumes it.
pub const PAUSE_MAX: Duration = hookwright_engine::limits::WAIT_MAX;

/// Issues of a folder. Their names are kept in memory while a session works through them: about 15
/// MB.
pub const ISSUES_MAX: usize = 100_000;

/// Records of issues read at once.
pub const ISSUES_READ_AT_ONCE: usize = 10_000;

/// Lines of a queue's command: each is checked whenever the next one is chosen.
pub const QUEUE_LINES_MAX: usize = 10_000;

/// How long after its last change a folder of issues is listed again although its times are the
/// same: two changes within one tick of the file system's clock leave the same time.
pub const FOLDER_CHANGE_TICK: Duration = Duration::from_millis(100);

/// The same for a file system whose times have whole seconds.
pub const FOLDER_CHANGE_TICK_COARSE: Duration = Duration::from_secs(2);

/// Issues in a page of a session's lists: the last page is written with every issue.
pub const SESSION_ISSUES_PER_PAGE: usize = 256;

/// Misnamed files of a folder of issues that are listed: enough to see what is wrong.
pub const MISNAMED_TOLD_MAX: usize = 5;

/// Bytes of an issue that are read for its title, to the end of the line in which they end; and
/// bytes of that line. A longer title is an error: no list could show it.
pub const ISSUE_HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Bytes of an agent's output for the hooks at the end of an execution: the first and the last
/// half. All of it is in the iteration's `output.md`.
pub const EXECUTION_OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of an `output.md` that are read: agents write a report there. An agent that writes more
/// uses it as a log.
pub const OUTPUT_READ_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How long a queue's command may take.
pub const QUEUE_COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Nested sessions: a hook of a session starts one, a hook of that one another. Deeper nesting is a
/// circle, or too deep to follow.
pub const SPAWN_DEPTH_MAX: usize = 5;

/// Background sessions at once that hooks have started, of each depth. Each runs an agent.
pub const CHILDREN_IN_BACKGROUND_MAX: usize = 64;

/// Output files in `output.json`: the latest ones. A later hook reads a list, not an archive.
pub const OUTPUTS_TOLD_MAX: usize = 100;

/// Sessions that hooks start at one event of one iteration: each name is checked.
pub const CHILDREN_AT_ONE_PLACE_MAX: u32 = 10_000;

/// How often a record is written again, with a journal's entry or alone, because another process
/// has changed it meanwhile. People and agents change a task now and then, not continually.
pub const RECORD_CONFLICTS_MAX: u32 = 16;

/// Entries of the journal that wait for the next commit. A turn of the built-in agent leaves two.
pub const WAITING_ENTRIES_MAX: usize = 64;

/// Bytes of a request at a session's desk: a task's id, and the hooks above the caller.
pub const DESK_REQUEST_BYTES_MAX: usize = 64 * 1024;

/// Bytes of an answer from a session's desk: the reasons of hooks, whose output is bounded,
/// escaped.
pub const DESK_ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How long a caller at the desk may take to send its request, or to receive the answer.
pub const DESK_TALK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a caller waits for an answer: as long as an agent may work, which is longer than hooks
/// may.
pub const DESK_ANSWER_TIMEOUT: Duration = hookwright_agents::limits::TURN_TIMEOUT;

/// The interval at which a caller on another machine looks for its answer in the store.
pub const DESK_RECORD_PAUSE: Duration = Duration::from_millis(250);

/// How long the store keeps an answer whose caller was killed, since it asked. A living caller waits
/// no longer than [`DESK_ANSWER_TIMEOUT`].
pub const DESK_ANSWER_KEPT: Duration = DESK_ANSWER_TIMEOUT.saturating_add(Duration::from_secs(60));

/// Callers at the desk at once. More wait in the socket's queue; each of them may be waiting for
/// hooks.
pub const DESK_CALLERS_MAX: usize = 64;

/// The delay before a session first checks whether its desk's socket still exists; it doubles with
/// each check.
pub const DESK_LOOK_FIRST: Duration = Duration::from_secs(1);

/// The longest time between two of these checks. Only a program that removes our files makes them
/// necessary, and a thousand sessions that wait for people must not keep a machine busy.
pub const DESK_LOOK_MAX: Duration = Duration::from_secs(30);

/// How long a caller waits for a running session to open its desk: longer than the session takes to
/// find that its socket was removed.
pub const DESK_OPEN_TIMEOUT: Duration = Duration::from_secs(40);

/// The delay before accepting a caller again if the system has no descriptor free.
pub const DESK_PAUSE: Duration = Duration::from_millis(100);

/// The interval for checking whether another process has completed a task.
pub const TASK_PAUSE: Duration = Duration::from_millis(20);

/// Undelivered reports of hooks that a note lists.
pub const UNDELIVERED_TOLD_MAX: usize = 5;

/// Characters of each of them.
pub const UNDELIVERED_CHARS_MAX: usize = 200;

/// Entries of a folder that are searched for loops and pipelines. A project has fewer; a folder of
/// downloads may have more.
pub const FOLDER_ENTRIES_MAX: usize = 10_000;

/// Bytes of a file that is read to see whether it is a loop or a pipeline, if its name does not
/// tell. Loops are small; lock files and data of other programs are not.
pub const UNNAMED_RUN_BYTES_MAX: u64 = 256 * 1024;

/// Lengths of a transcript that a resumed session knows. The last one that fits checks all before it;
/// earlier ones only help if the end of the file is lost.
pub const TRANSCRIPT_MARKS_MAX: usize = 1_000;

/// Bytes of one text in a trace. A command fits; of a file, a prompt or output the beginning is
/// enough to recognise it.
pub const TRACE_TEXT_BYTES_MAX: usize = 2 * 1024;

/// Bytes of one line of a trace. A longer one is left out.
pub const TRACE_LINE_BYTES_MAX: usize = 32 * 1024;

/// Bytes that one call adds to a trace: dozens of hooks. What exceeds them is only counted.
pub const TRACE_CALL_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a trace's file: some thousands of calls. A full file is kept once as the older half, and
/// the half before it is deleted. So the newest 4 to 8 MiB of a session are there.
pub const TRACE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Bytes of a trace's file that are read. A call may exceed the limit when several end at once; a
/// file that is much longer was written by something else.
pub const TRACE_BYTES_READ_MAX: u64 = 2 * TRACE_BYTES_MAX;

/// Traces of sessions that were silent for this long are deleted: agents themselves keep transcripts
/// for a month.
pub const TRACE_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Files of traces. When a session begins, the files that were silent longest are deleted.
pub const TRACE_FILES_MAX: usize = 1000;

/// Bytes of all traces, likewise.
pub const TRACES_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Entries of the folder that are looked at: more are there only if something else writes to it.
pub const TRACE_ENTRIES_MAX: usize = 10_000;

/// Characters of the agent's id of its session that a trace shows.
pub const TRACE_SESSION_CHARS_MAX: usize = 128;

/// How long a call of git that saves or restores a work tree may take: enough to read and write
/// some gigabytes. After a file system that hangs the session ends.
pub const TREE_KEEP_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// How long one call may take that talks to a git remote. A first fetch of a big repository takes
/// minutes.
pub const TREE_SEND_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How long a session waits for a git remote that is away, before it counts as cut off: as long as
/// for its store.
pub const TREE_AWAY_MAX: Duration = Duration::from_secs(15 * 60);

/// The first pause before a git remote that is away is tried again; each further one is twice as
/// long.
pub const TREE_AWAY_PAUSE_MIN: Duration = Duration::from_secs(1);

/// The longest of these pauses.
pub const TREE_AWAY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// How long keeping a work tree may take before the session says that it waits.
pub const TREE_SLOW: Duration = Duration::from_secs(30);

/// How long git may continue to keep a work tree when the session is interrupted. Sending what one
/// hook has changed takes seconds.
pub const TREE_INTERRUPT_GRACE: Duration = Duration::from_secs(30);

/// How long the set-up command may take: it may build everything.
pub const TREE_SETUP_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Bytes of one list of files or objects from git: [`TREE_FILES_MAX`] of ordinary length.
pub const TREE_LIST_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long a worker that joins may delete objects that no session needs, for each of its folders.
/// What is left then is deleted another time.
pub const TREE_PRUNE_MAX: Duration = Duration::from_secs(30);

/// Files of a work tree that differ from the agent's index. More than that is mostly a folder that
/// git was to ignore.
pub const TREE_FILES_MAX: usize = 200_000;

/// Bytes of the new and changed files of one kept work tree: each worker stores and sends them. More
/// than that is mostly data that git was to ignore.
pub const TREE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// Bytes of an index: millions of files.
pub const TREE_INDEX_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Branches besides the current one that are kept with a work tree. Each is a parent of its commit.
pub const TREE_BRANCHES_MAX: usize = 64;

/// Refs of kept work trees per lease in the git remote. The last one counts; the others are for
/// people, and many refs make every fetch slow.
pub const TREE_REFS_KEPT: usize = 20;

/// Refs that one push deletes: they are arguments of a command.
pub const TREE_REFS_DELETED_AT_ONCE: usize = 500;

/// Bytes of a file of a session's folder that is stored with a kept work tree. Its JSON text fits into
/// one value of the store even if every byte has to be escaped.
pub const SESSION_FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Bytes of such a file's path: with the session's id it is the name of a record.
pub const SESSION_FILE_PATH_BYTES_MAX: usize = 900;

/// Files that one commit stores, and deletes. The next one continues.
pub const SESSION_FILES_PER_COMMIT_MAX: usize = 1_000;

/// Bytes of such files, written as JSON, after which the next commit continues. One more file fits
/// into a commit of the store.
pub const SESSION_FILES_BYTES_AT_ONCE: usize = 32 * 1024 * 1024;

/// Files of a session's folder that are listed: thousands of iterations. Listing takes a moment after
/// every turn.
pub const SESSION_FILES_MAX: usize = 50_000;

/// The depth of a session's folder that is listed: deeper than nested sessions make it.
pub const SESSION_FOLDERS_DEPTH_MAX: usize = 32;

/// Beats of a worker that arrive before it declares another one dead whose number did not change: 3
/// minutes, which the failover of a database or a restarted machine does not take.
pub const BEATS_UNTIL_DEATH: u32 = 36;

/// Intervals of beats after which a worker that does not reach the store starts no turn.
pub const NO_TURN_AFTER: u32 = 12;

/// Intervals after which it asks its agents to end. They have 20 s, twice what an agent gets.
pub const END_AFTER: u32 = 28;

/// Intervals after which it kills them: before another worker can have counted to
/// [`BEATS_UNTIL_DEATH`].
pub const KILL_AFTER: u32 = 32;

/// How often the heart looks at the clock: its waiting does not count the time in which the machine
/// sleeps.
pub const CLOCK_LOOK: Duration = Duration::from_secs(1);

/// Workers in a row that may be lost with a session before one of its turns ends. A session that
/// takes machines down would otherwise go through all of them.
pub const LOSSES_MAX: u32 = 3;

/// Sessions of one worker that are read at once. A worker has as many as it runs at once.
pub const HELD_READ_AT_ONCE: usize = 1_000;

/// Bytes of what a session needs that are part of the name of its lane. Every store has room for it.
pub const NEEDS_BYTES_MAX: usize = 1_500;

/// Lanes of waiting sessions that a claim looks at: one for each different set of needs.
pub const WAITING_LANES_MAX: usize = 10_000;
