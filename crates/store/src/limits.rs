//! All limits of the store, each with its reason. Everything that waits or grows has one.

use std::time::Duration;

use crate::{ClaimRequest, Commit, StoreError};

/// Bytes of one value, of an entry or a record: enough for the output that the engine keeps of a
/// hook, both streams escaped as JSON in the worst case.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Values in one commit. No writer needs more of them in one transaction.
pub const VALUES_PER_COMMIT_MAX: usize = 10_000;

/// Bytes of all values in one commit: it is held in memory, and other writers wait meanwhile.
pub const COMMIT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Entries of one journal. A sequence number is one half of an integer in the file.
pub const ENTRIES_PER_JOURNAL_MAX: u64 = u32::MAX as u64;

/// Entries that one call of [`Store::journal`](crate::Store::journal) returns.
pub const ENTRIES_PER_PAGE_MAX: usize = 10_000;

/// Entries per read when a whole journal is read: few, because each page is held in memory.
pub const ENTRIES_READ_AT_ONCE: usize = 1_000;

/// Records that one call of [`Store::list`](crate::Store::list) returns.
pub const RECORDS_PER_PAGE_MAX: usize = 100_000;

/// Bytes of values after which a page ends, which bounds the reader's memory.
pub const PAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes of a project: the longest path that Linux supports, with every byte escaped.
pub const PROJECT_BYTES_MAX: usize = 16 * 1024;

/// Bytes of the name of a session, a record or a lease.
pub const NAME_BYTES_MAX: usize = 1024;

/// Bytes of a status: it is one word, and part of every index.
pub const STATUS_BYTES_MAX: usize = 64;

/// Bytes of a lane's name, which contains a folder and a session.
pub const LANE_BYTES_MAX: usize = 4 * 1024;

/// Bytes of a lane's name in Postgres, where an entry of an index has room for 2,700 bytes.
pub const POSTGRES_LANE_BYTES_MAX: usize = 2_000;

/// Bytes of the note that a claimer writes.
pub const CLAIM_NOTE_BYTES_MAX: usize = 16 * 1024;

/// Lanes of one claim: one for each dead session that left work, and each is looked at.
pub const CLAIM_LANES_MAX: usize = 1_000;

/// Records that a claim passes over by name: no more than a project has unfinished tasks.
pub const CLAIM_SKIPS_MAX: usize = UNFINISHED_TASKS_MAX;

/// Labels of one claimer.
pub const CLAIM_OFFERS_MAX: usize = 256;

/// Waiting records that one transaction of a claim moves aside: other writers wait meanwhile.
pub const MOVED_ASIDE_AT_ONCE: usize = 1_000;

/// Names that one record waits for, and labels that it needs.
pub const CONDITIONS_PER_RECORD_MAX: usize = 256;

/// Statuses in one filter.
pub const STATUSES_MAX: usize = 32;

/// Bytes of a lease holder's description of itself.
pub const HOLDER_BYTES_MAX: usize = 16 * 1024;

/// How long a writer waits for others: far longer than any commit, so that it fails only if a
/// process hangs in the middle of one.
pub const BUSY_MAX: Duration = Duration::from_secs(30);

/// How long connecting to a database may take: a server that is started answers within seconds.
pub const CONNECT_MAX: Duration = Duration::from_secs(10);

/// How long a call of a database waits for its answer: longer than it waits for locks there, and
/// long enough for the largest commit over a slow network.
pub const CALL_MAX: Duration = Duration::from_secs(30);

/// How long a change waits for others in the database. It is in `postgres/step_1/calls.sql`
/// too.
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(20);

/// How long a command waits for a database that goes away meanwhile: longer than its restart.
pub const COMMAND_AWAY_MAX: Duration = Duration::from_secs(15);

/// How long a session waits for a database that is away, before it counts as cut off. A failover
/// of a managed database takes a minute or two, maintenance some minutes.
pub const SESSION_AWAY_MAX: Duration = Duration::from_secs(15 * 60);

/// How long a worker pauses after the answer to a beat. A thousand workers then send 200 beats a
/// second, and 36 of them take 3 minutes.
pub const BEAT: Duration = Duration::from_secs(5);

/// Beats after which the call of a beat has failed. It is far shorter than the time after which a
/// worker has to stop.
pub const BEATS_PER_CALL_MAX: u32 = 4;

/// The shortest limit of such a call, for tests with a shorter beat.
pub const BEAT_CALL_MIN: Duration = Duration::from_secs(1);

/// Workers that one worker watches: so many do not die at once unless nearly all do.
pub const WATCHED_WORKERS_MAX: usize = 64;

/// Workers in one page of a list.
pub const WORKERS_PER_PAGE: usize = 1_000;

/// Leases of one worker in a list: more than one machine can run sessions and complete tasks.
pub const LEASES_LISTED_MAX: usize = 1_000;

/// The first pause between two attempts to connect again.
pub const RECONNECT_PAUSE_MIN: Duration = Duration::from_millis(50);

/// The longest such pause: thousands of clients must not keep a starting server busy.
pub const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(2);

/// How often a call is repeated that the server has undone because of another one.
pub const REPEATS_MAX: u32 = 100;

/// Pages of the write-ahead log after which a commit moves them into the main file. Moving costs
/// two syncs; the first open after a crash reads up to this many pages.
pub const LOG_PAGES: u32 = 500;

/// Pages of the write-ahead log at which moving them waits for readers. Otherwise readers that
/// always overlap would let the log grow without limit.
pub const LOG_PAGES_MAX: u32 = 16_000;

/// How long moving then waits for readers. Reading a page takes milliseconds; a reader that takes
/// longer was stopped in the middle, and must not stop the writers too.
pub const READERS_WAIT_MAX: Duration = Duration::from_millis(500);

/// Bytes of the log file that the store keeps for reuse after a large commit.
pub const LOG_FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Entries of dropped journals that one transaction deletes: other writers wait meanwhile.
pub const ENTRIES_RECLAIMED_AT_ONCE: usize = 1_000;

/// Bytes of such entries after which the transaction ends. A single entry may be larger.
pub const ENTRY_BYTES_RECLAIMED_AT_ONCE: u64 = 4 * 1024 * 1024;

/// Free pages that are given back to the file system in one transaction, for the same reason.
pub const PAGES_RECLAIMED_AT_ONCE: u32 = 256;

/// The longest pause after such a transaction. The pause lasts as long as the transaction did, so
/// that other writers get the lock.
pub const RECLAIM_PAUSE_MAX: Duration = Duration::from_millis(50);

/// Bytes in use up to which the file of an older version is rewritten without a request: other
/// writers wait meanwhile, and the content is held in memory.
pub const REWRITE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Such a file is rewritten only if at least one part in this many is free.
pub const REWRITE_FREE_PART: u64 = 4;

/// How long an ended wait is kept, so that a late answer learns what happened. As long as a wait
/// may last.
pub const ENDED_WAITS_KEPT: Duration = Duration::from_secs(30 * 86_400);

/// Ended waits that opening a new one deletes at most: more than one, so that they don't pile up.
pub const ENDED_WAITS_FORGOTTEN_AT_ONCE: usize = 8;

/// Bytes of a task's text. Hooks get it as a variable, whose values may have 96 KiB, and it is part
/// of prompts and tables; longer texts belong in a file that the task names.
pub const TASK_CONTENT_BYTES_MAX: usize = 64 * 1024;

/// Tasks that one task may wait for. Each is checked whenever the next task is chosen.
pub const TASK_DEPENDENCIES_MAX: usize = 256;

/// Unfinished tasks of a project. All of them are read whenever one is added, and no person reads a
/// longer list.
pub const UNFINISHED_TASKS_MAX: usize = 100_000;

/// Repositories that have one project name, each confirmed by a person.
pub const ORIGINS_PER_PROJECT_MAX: usize = 64;

/// Tasks per read, so that memory does not depend on the length of the list.
pub const TASKS_PER_PAGE: usize = 1_000;

/// Checks a commit's sizes, without reading the store.
pub(crate) fn check_commit(commit: &Commit<'_>) -> Result<(), StoreError> {
    let entries = commit.append.iter().flat_map(|append| append.entries);
    let values = entries.chain(commit.puts.iter().map(|put| &put.value));
    let (mut count, mut bytes) = (0, 0);
    for value in values {
        check("bytes of a value", value.len(), VALUE_BYTES_MAX)?;
        count += 1;
        bytes += value.len();
    }
    let named = count + commit.expects.len() + commit.deletes.len() + commit.drop_journals.len();
    check("values in one commit", named, VALUES_PER_COMMIT_MAX)?;
    check("bytes of one commit", bytes, COMMIT_BYTES_MAX)?;
    if let Some(append) = &commit.append {
        check_key(&append.journal.project, &append.journal.session)?;
    }
    for put in &commit.puts {
        check_key(&put.key.project, &put.key.name)?;
        check("bytes of a status", put.status.len(), STATUS_BYTES_MAX)?;
        let moves = put.moves.iter().map(|moved| &moved.to);
        for lane in put.queued.iter().map(|queued| &queued.lane).chain(moves) {
            check("bytes of a lane", lane.len(), LANE_BYTES_MAX)?;
        }
        if let Some(queued) = &put.queued {
            check_conditions(&queued.waits_for)?;
            check_conditions(&queued.needs)?;
        }
    }
    Ok(())
}

/// Checks a claim's sizes, without reading the store.
pub(crate) fn check_claim(request: &ClaimRequest<'_>) -> Result<(), StoreError> {
    check("lanes of one claim", request.lanes.len(), CLAIM_LANES_MAX)?;
    check("records that a claim passes over", request.skip.len(), CLAIM_SKIPS_MAX)?;
    check("labels of a claimer", request.offers.len(), CLAIM_OFFERS_MAX)?;
    check("bytes of a claim's note", request.note.len(), CLAIM_NOTE_BYTES_MAX)?;
    check("bytes of a status", request.status.len(), STATUS_BYTES_MAX)?;
    check("bytes of a lane", request.to.map_or(0, str::len), LANE_BYTES_MAX)?;
    match &request.lease {
        Some(lease) => check_lease(lease.prefix, lease.holder),
        None => Ok(()),
    }
}

fn check_conditions(conditions: &[String]) -> Result<(), StoreError> {
    check("conditions of one record", conditions.len(), CONDITIONS_PER_RECORD_MAX)?;
    conditions.iter().try_for_each(|name| check("bytes of a name", name.len(), NAME_BYTES_MAX))
}

/// Checks the sizes of a lease's name and its holder's description.
pub(crate) fn check_lease(lease: &str, holder: &str) -> Result<(), StoreError> {
    check("bytes of a lease's name", lease.len(), NAME_BYTES_MAX)?;
    check("bytes of a lease's holder", holder.len(), HOLDER_BYTES_MAX)
}

/// Checks the number of a filter's statuses.
pub(crate) fn check_statuses(statuses: &[String]) -> Result<(), StoreError> {
    check("statuses in one filter", statuses.len(), STATUSES_MAX)
}

/// The last sequence number after `more` entries; fails if the journal is full.
pub(crate) fn check_journal(last: u64, more: usize) -> Result<u64, StoreError> {
    let found = last.saturating_add(more as u64);
    if found > ENTRIES_PER_JOURNAL_MAX {
        let max = ENTRIES_PER_JOURNAL_MAX;
        return Err(StoreError::TooLarge { what: "entries of one journal", found, max });
    }
    Ok(found)
}

fn check_key(project: &str, name: &str) -> Result<(), StoreError> {
    check("bytes of a project", project.len(), PROJECT_BYTES_MAX)?;
    check("bytes of a name", name.len(), NAME_BYTES_MAX)
}

pub(crate) fn check(what: &'static str, found: usize, max: usize) -> Result<(), StoreError> {
    if found > max {
        return Err(StoreError::TooLarge { what, found: found as u64, max: max as u64 });
    }
    Ok(())
}
