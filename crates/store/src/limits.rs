//! Whatever waits or grows has a limit. All of the store's stand here, each with its reason.

use std::time::Duration;

use crate::{Commit, StoreError};

/// Bytes of one value, an entry's or a record's: the output that the engine keeps of a hook, both
/// streams escaped as JSON at their worst, fits.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Values in one commit. A writer with more has no reason to want them all or nothing.
pub const VALUES_PER_COMMIT_MAX: usize = 10_000;

/// Bytes of all values in one commit: it is held in memory, and others wait while it is written.
pub const COMMIT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Entries of one journal. Their numbers are half of an integer in the file.
pub const ENTRIES_PER_JOURNAL_MAX: u64 = u32::MAX as u64;

/// Entries that one call of [`Store::journal`](crate::Store::journal) returns.
pub const ENTRIES_PER_PAGE_MAX: usize = 10_000;

/// Entries that are read at once where all of a journal are: few, because each is held until all are seen.
pub const ENTRIES_READ_AT_ONCE: usize = 1_000;

/// Records that one call of [`Store::list`](crate::Store::list) returns.
pub const RECORDS_PER_PAGE_MAX: usize = 100_000;

/// Bytes of values after which a page ends, so that a page of large ones cannot eat its reader.
pub const PAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes of a project: the longest path that Linux takes, every byte of it escaped.
pub const PROJECT_BYTES_MAX: usize = 16 * 1024;

/// Bytes of the name of a session, a record or a lease.
pub const NAME_BYTES_MAX: usize = 1024;

/// Bytes of a status: it is a word, and stands in every index.
pub const STATUS_BYTES_MAX: usize = 64;

/// Bytes of a lane's name: it names a folder and a session.
pub const LANE_BYTES_MAX: usize = 4 * 1024;

/// Statuses in one filter.
pub const STATUSES_MAX: usize = 32;

/// Bytes of what a lease's holder says about itself.
pub const HOLDER_BYTES_MAX: usize = 16 * 1024;

/// How long a writer waits for others: far more than any commit takes, so that only a process that
/// hangs in the middle of one is ever met.
pub const BUSY_MAX: Duration = Duration::from_secs(30);

/// Pages of the write-ahead log after which a commit moves them into the main file: two syncs each
/// time, and whoever opens first after a crash reads so much.
pub const LOG_PAGES: u32 = 500;

/// Pages of the write-ahead log at which that no longer makes way for readers, but waits for them.
/// Readers that always overlap would otherwise let the log grow for ever.
pub const LOG_PAGES_MAX: u32 = 16_000;

/// How long it waits for them then. Reading a page takes milliseconds; whoever takes longer has been
/// stopped in the middle, and must not stop the writers too.
pub const READERS_WAIT_MAX: Duration = Duration::from_millis(500);

/// Bytes of its log file that the store keeps for use again; a large commit leaves no more behind.
pub const LOG_FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Entries of forgotten journals that are deleted in one transaction: others wait while it runs.
pub const ENTRIES_RECLAIMED_AT_ONCE: usize = 1_000;

/// Bytes of them after which the transaction ends. One entry alone may have more.
pub const ENTRY_BYTES_RECLAIMED_AT_ONCE: u64 = 4 * 1024 * 1024;

/// Free pages that are given back to the file system in one transaction, for the same reason.
pub const PAGES_RECLAIMED_AT_ONCE: u32 = 256;

/// The longest pause behind such a transaction. It lasts as long as the transaction did, so that other
/// writers find the lock free.
pub const RECLAIM_PAUSE_MAX: Duration = Duration::from_millis(50);

/// Bytes in use up to which the file of an older version is written anew without being asked for: other
/// writers wait meanwhile, and it is held in memory.
pub const REWRITE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Such a file is written anew only where this part of it, or more, is free: one in so many.
pub const REWRITE_FREE_PART: u64 = 4;

/// How long a wait that has ended is still known, so that whoever answers late is told what became of
/// it. As long as a wait may last itself.
pub const ENDED_WAITS_KEPT: Duration = Duration::from_secs(30 * 86_400);

/// Ended waits that opening a new one forgets at most: more than come, and nobody has to wait for it.
pub const ENDED_WAITS_FORGOTTEN_AT_ONCE: usize = 8;

/// Bytes of a task's text. It is a variable of hooks, whose values may have 96 KiB, and stands in
/// prompts and tables; what is longer belongs in a file that the task names.
pub const TASK_CONTENT_BYTES_MAX: usize = 64 * 1024;

/// Tasks that one task may wait for. Each is looked at whenever the next task is chosen.
pub const TASK_DEPENDENCIES_MAX: usize = 256;

/// Tasks of a project that are not finished. All of them are looked at whenever one is added or
/// chosen; nobody could read such a list.
pub const UNFINISHED_TASKS_MAX: usize = 100_000;

/// Tasks that are read at once, so that the length of a list does not decide how much memory it takes.
pub const TASKS_PER_PAGE: usize = 1_000;

/// Everything that can be said about a commit's size without looking at what is there.
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
    }
    Ok(())
}

/// A lease and what its holder says.
pub(crate) fn check_lease(lease: &str, holder: &str) -> Result<(), StoreError> {
    check("bytes of a lease's name", lease.len(), NAME_BYTES_MAX)?;
    check("bytes of a lease's holder", holder.len(), HOLDER_BYTES_MAX)
}

/// How many statuses a filter names.
pub(crate) fn check_statuses(statuses: &[String]) -> Result<(), StoreError> {
    check("statuses in one filter", statuses.len(), STATUSES_MAX)
}

/// Whether a journal that ends at `last` may have so many entries more.
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

fn check(what: &'static str, found: usize, max: usize) -> Result<(), StoreError> {
    if found > max {
        return Err(StoreError::TooLarge { what, found: found as u64, max: max as u64 });
    }
    Ok(())
}
