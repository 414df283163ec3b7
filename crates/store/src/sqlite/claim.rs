//! Claims, each in one transaction. The write lock is held from the choice to the commit, so no
//! other claimer can choose the same record.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::failure::SqliteFailure;
use super::last_commits::Note;
use super::read::{COLUMNS, holder, record_of};
use super::write::{Writer, check_fence, next_revisions, texts};
use crate::{ClaimLane, ClaimRequest, ClaimedRecord, Fence, LeaseState, Record, limits};

/// What one transaction of a claim did.
pub(super) enum ClaimStep {
    Claimed(Box<ClaimedRecord>),
    NothingReady,
    /// It only moved waiting records aside. Others may be ready behind them.
    MovedAside,
}

/// A record that may be claimed.
struct ClaimCandidate {
    id: i64,
    rank: i64,
}

/// A search for the first ready record.
struct LaneSearch<'a> {
    connection: &'a Connection,
    request: &'a ClaimRequest<'a>,
    skip: HashSet<&'a str>,
    /// Records to move to other lanes.
    aside: Vec<(i64, String)>,
}

impl Writer {
    pub(super) fn claim(&mut self, request: &ClaimRequest<'_>) -> Result<ClaimStep, SqliteFailure> {
        let transaction = self.begin()?;
        if let Some(fence) = request.fence {
            check_fence(&transaction, fence)?;
        }
        let skip = request.skip.iter().map(String::as_str).collect();
        let mut search = LaneSearch { connection: &transaction, request, skip, aside: Vec::new() };
        let first = search.first()?;
        for (id, lane) in &search.aside {
            let mut update =
                transaction.prepare_cached("UPDATE records SET lane = ?2 WHERE id = ?1")?;
            update.execute(params![id, lane])?;
        }
        let is_cut_off = search.is_full();
        let Some(first) = first else {
            transaction.commit()?;
            self.shorten_log();
            return Ok(if is_cut_off { ClaimStep::MovedAside } else { ClaimStep::NothingReady });
        };
        let claimed = take(&transaction, request, &first)?;
        transaction.commit()?;
        self.last_commits.note(&Note::new(None, 0, claimed.version));
        self.shorten_log();
        Ok(ClaimStep::Claimed(Box::new(claimed)))
    }
}

impl LaneSearch<'_> {
    /// The first ready record of all lanes.
    fn first(&mut self) -> Result<Option<ClaimCandidate>, SqliteFailure> {
        let mut first: Option<ClaimCandidate> = None;
        for lane in self.request.lanes {
            if !self.is_open(lane)? {
                continue;
            }
            let found = self.first_of(lane)?;
            if self.is_full() {
                // What was not looked at may come before anything that was found.
                return Ok(None);
            }
            let place = |candidate: &ClaimCandidate| (candidate.rank, candidate.id);
            if let Some(found) = found
                && first.as_ref().is_none_or(|first| place(&found) < place(first))
            {
                first = Some(found);
            }
        }
        Ok(first)
    }

    fn is_open(&self, lane: &ClaimLane<'_>) -> Result<bool, SqliteFailure> {
        let Some(LeaseState { lease, token }) = lane.only_while else { return Ok(true) };
        Ok(holder(self.connection, lease)?.map(|held| held.token) == token)
    }

    fn is_full(&self) -> bool {
        self.aside.len() >= limits::MOVED_ASIDE_AT_ONCE
    }

    fn first_of(&mut self, lane: &ClaimLane<'_>) -> Result<Option<ClaimCandidate>, SqliteFailure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, rank, name, waits_for, needs FROM records INDEXED BY records_in_lanes
            WHERE kind = ?1 AND project = ?2 AND lane = ?3 ORDER BY rank, id",
        )?;
        let (kind, project) = (self.request.kind.word(), self.request.project);
        let mut rows = statement.query(params![kind, project, lane.lane])?;
        while !self.is_full()
            && let Some(row) = rows.next()?
        {
            let (id, rank, name): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if self.skip.contains(name.as_str()) || self.is_leased(&name)? {
                continue;
            }
            let needs = texts(row, 4)?;
            if !needs.iter().all(|label| self.request.offers.contains(label)) {
                continue;
            }
            match (self.first_unfinished(texts(row, 3)?)?, lane.aside) {
                (None, _) => return Ok(Some(ClaimCandidate { id, rank })),
                (Some(other), Some(prefix)) => self.aside.push((id, format!("{prefix}{other}/"))),
                (Some(_), None) => {}
            }
        }
        Ok(None)
    }

    /// Whether another claimer holds the lease that this one would get.
    fn is_leased(&self, name: &str) -> Result<bool, SqliteFailure> {
        let Some(lease) = &self.request.lease else { return Ok(false) };
        Ok(holder(self.connection, &format!("{}{name}", lease.prefix))?.is_some())
    }

    /// The first of these records that is not done.
    fn first_unfinished(&self, names: Vec<String>) -> Result<Option<String>, SqliteFailure> {
        let mut statement = self.connection.prepare_cached(
            "SELECT status FROM records WHERE kind = ?1 AND project = ?2 AND name = ?3",
        )?;
        let (kind, project) = (self.request.kind.word(), self.request.project);
        for name in names {
            let status = statement.query_row(params![kind, project, name], |row| row.get(0));
            let status: Option<String> = status.optional()?;
            if status.as_deref() != Some(self.request.done) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// Writes the new state of a record, and grants its lease.
fn take(
    connection: &Connection,
    request: &ClaimRequest<'_>,
    candidate: &ClaimCandidate,
) -> Result<ClaimedRecord, SqliteFailure> {
    let before: Record = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM records WHERE id = ?1"))?
        .query_row([candidate.id], record_of)?;
    let version = next_revisions(connection, 1)?;
    connection
        .prepare_cached(
            "UPDATE records SET version = ?2, status = ?3, lane = ?4, claim_note = ?5,
                rank = iif(?4 IS NULL, NULL, rank)
            WHERE id = ?1",
        )?
        .execute(params![candidate.id, version, request.status, request.to, request.note])?;
    let Some(lease) = &request.lease else {
        return Ok(ClaimedRecord { before, version, fence: None });
    };
    let name = format!("{}{}", lease.prefix, before.key.name);
    limits::check_lease(&name, lease.holder)?;
    let token = next_revisions(connection, 1)?;
    connection
        .prepare_cached("INSERT INTO leases (name, holder, token) VALUES (?1, ?2, ?3)")?
        .execute(params![name, lease.holder, token])?;
    Ok(ClaimedRecord { before, version, fence: Some(Fence { lease: name, token }) })
}
