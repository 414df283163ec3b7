//! Changes: their statements, and what their refusals mean.

use tokio_postgres::Row;

use super::failure::{DECLARED_DEAD, FENCED, JOURNAL_CONFLICT, Refusal};
use super::read;
use super::statement::{SqlValue, Statement, signed};
use crate::{
    ClaimLane, ClaimRequest, ClaimedRecord, Commit, Expected, Fence, Kind, Put, Queued, Record,
    RecordKey, RecordPosition, StoreError, WorkerId, limits,
};

/// Who makes a change: the client's id and the number of its call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallId<'a> {
    pub(super) client: &'a [u8],
    pub(super) number: u64,
}

/// A statement that calls a function with this many values and begins with the call's id.
fn function(name: &str, values: usize, call: CallId<'_>) -> Statement {
    let marks: Vec<String> = (1..=values).map(|number| format!("${number}")).collect();
    Statement::new(format!("SELECT * FROM hookwright.{name}({})", marks.join(", ")))
        .with(SqlValue::Bytes(Some(call.client.to_vec())))
        .number(signed(call.number))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

/// Values of kind, project, name and expected state.
fn keys<'a>(
    statement: Statement,
    parts: impl Iterator<Item = (Kind, &'a RecordKey, Expected)> + Clone,
) -> Statement {
    statement
        .with(SqlValue::Texts(parts.clone().map(|(kind, ..)| kind.word()).collect()))
        .with(SqlValue::BytesList(parts.clone().map(|(_, key, _)| bytes(&key.project)).collect()))
        .with(SqlValue::BytesList(parts.clone().map(|(_, key, _)| bytes(&key.name)).collect()))
        .with(SqlValue::Numbers(parts.map(|(.., expected)| Some(state(expected))).collect()))
}

/// An expected state as `hookwright.is_expected` reads it.
fn state(expected: Expected) -> i64 {
    match expected {
        Expected::Any => -1,
        Expected::Absent => 0,
        // No record has this version, whatever the state of the record.
        Expected::Version(0) => i64::MAX,
        Expected::Version(version) => signed(version),
    }
}

pub(super) fn commit(call: CallId<'_>, commit: &Commit<'_>) -> Statement {
    let (drops, puts) = (&commit.drop_journals, &commit.puts);
    let append = commit.append.as_ref();
    let entries = append.map(|append| append.entries).unwrap_or_default();
    let statement = function("commit", 34, call)
        .with(SqlValue::Bytes(commit.fence.and_then(|fence| bytes(&fence.lease))))
        .with(SqlValue::Number(commit.fence.map(|fence| signed(fence.token))))
        .with(SqlValue::BytesList(drops.iter().map(|key| bytes(&key.project)).collect()))
        .with(SqlValue::BytesList(drops.iter().map(|key| bytes(&key.session)).collect()))
        .with(SqlValue::Bytes(append.and_then(|append| bytes(&append.journal.project))))
        .with(SqlValue::Bytes(append.and_then(|append| bytes(&append.journal.session))))
        .with(SqlValue::Number(append.map(|append| signed(append.expected))))
        .with(SqlValue::BytesList(entries.iter().map(|entry| bytes(entry)).collect()));
    let expects = commit.expects.iter();
    let statement = keys(statement, expects.map(|part| (part.kind, &part.key, part.expected)));
    let deletes = commit.deletes.iter();
    let statement = keys(statement, deletes.map(|part| (part.kind, &part.key, part.expected)));
    let statement = keys(statement, puts.iter().map(|put| (put.kind, &put.key, put.expected)));
    let queued = puts.iter().map(|put| put.queued.as_ref());
    let moves = puts.iter().map(|put| put.moves.as_ref());
    statement
        .with(SqlValue::BytesList(puts.iter().map(|put| bytes(&put.value)).collect()))
        .with(SqlValue::Numbers(puts.iter().map(|put| Some(put.created_at_ms)).collect()))
        .with(SqlValue::BytesList(puts.iter().map(|put| bytes(&put.status)).collect()))
        .with(SqlValue::BytesList(queued.clone().map(|queued| bytes(&queued?.lane)).collect()))
        .with(SqlValue::Numbers(queued.map(|queued| Some(queued?.rank)).collect()))
        .with(SqlValue::BytesList(moves.clone().map(|moved| bytes(&moved?.from)).collect()))
        .with(SqlValue::BytesList(moves.map(|moved| bytes(&moved?.to)).collect()))
        .lists(puts, |queued| &queued.waits_for)
        .lists(puts, |queued| &queued.needs)
        .number(i64::from(commit.releases_lease))
}

impl Statement {
    /// A list of each put: all of them one after the other, and their lengths.
    fn lists(self, puts: &[Put], list: impl Fn(&Queued) -> &Vec<String>) -> Self {
        let lists = puts.iter().map(|put| put.queued.as_ref().map_or(&[][..], |it| list(it)));
        let counts = lists.clone().map(|list| Some(signed(list.len() as u64))).collect();
        let all = lists.flatten().map(|text| bytes(text)).collect();
        self.with(SqlValue::BytesList(all)).with(SqlValue::Numbers(counts))
    }
}

fn bytes_list<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> SqlValue {
    SqlValue::BytesList(texts.map(|text| bytes(text?)).collect())
}

pub(super) fn claim(
    call: CallId<'_>,
    request: &ClaimRequest<'_>,
    worker: Option<WorkerId>,
) -> Statement {
    let (lanes, lease) = (request.lanes.iter(), request.lease);
    let fence = request.fence;
    let token = |lane: &ClaimLane<'_>| lane.only_while?.token.map(signed);
    function("claim", 20, call)
        .with(SqlValue::Bytes(fence.and_then(|fence| bytes(&fence.lease))))
        .with(SqlValue::Number(fence.map(|fence| signed(fence.token))))
        .with(SqlValue::Text(request.kind.word()))
        .bytes(request.project)
        .with(bytes_list(lanes.clone().map(|lane| Some(lane.lane))))
        .with(bytes_list(lanes.clone().map(|lane| lane.only_while.map(|state| state.lease))))
        .with(SqlValue::Numbers(lanes.clone().map(token).collect()))
        .with(bytes_list(lanes.map(|lane| lane.aside)))
        .bytes(request.done)
        .with(bytes_list(request.offers.iter().map(|label| Some(label.as_str()))))
        .with(bytes_list(request.skip.iter().map(|name| Some(name.as_str()))))
        .bytes(request.status)
        .with(SqlValue::Bytes(request.to.and_then(bytes)))
        .bytes(request.note)
        .with(SqlValue::Bytes(lease.and_then(|lease| bytes(lease.prefix))))
        .with(SqlValue::Bytes(lease.and_then(|lease| bytes(lease.holder))))
        .with(SqlValue::Bytes(worker.map(WorkerId::bytes)))
        .number(signed(limits::MOVED_ASIDE_AT_ONCE as u64))
}

/// What a call of `hookwright.claim` did.
pub(super) enum ClaimStep {
    Claimed(Box<ClaimedRecord>),
    NothingReady,
    /// It only moved waiting records aside. Others may be ready behind them.
    MovedAside,
}

pub(super) fn claimed(row: &Row, request: &ClaimRequest<'_>) -> Result<ClaimStep, StoreError> {
    match read::value::<i64>(row, 0)? {
        0 => return Ok(ClaimStep::NothingReady),
        1 => {}
        _ => return Ok(ClaimStep::MovedAside),
    }
    let name = read::text(row, 4)?;
    let lease = request.lease.map(|lease| format!("{}{name}", lease.prefix));
    let token = read::number(row, 3)?;
    let before = Record {
        key: RecordKey { project: request.project.to_owned(), name },
        version: read::number(row, 1)?,
        place: RecordPosition {
            created_at_ms: read::value(row, 5)?,
            inserted: read::number(row, 6)?,
        },
        status: read::text(row, 7)?,
        value: read::text(row, 8)?,
        claim_note: read::optional_text(row, 9)?,
    };
    let fence = lease.map(|lease| Fence { lease, token });
    let version = read::number(row, 2)?;
    Ok(ClaimStep::Claimed(Box::new(ClaimedRecord { before, version, fence })))
}

pub(super) fn acquire(
    call: CallId<'_>,
    lease: &str,
    holder: &str,
    worker: Option<WorkerId>,
    instead_of: Option<u64>,
) -> Statement {
    function("acquire", 6, call)
        .bytes(lease)
        .bytes(holder)
        .with(SqlValue::Bytes(worker.map(WorkerId::bytes)))
        .with(SqlValue::Number(instead_of.map(signed)))
}

pub(super) fn release(call: CallId<'_>, lease: &str, token: u64) -> Statement {
    function("release", 4, call).bytes(lease).number(signed(token))
}

pub(super) fn reclaim() -> Statement {
    Statement::new("SELECT hookwright.reclaim($1, $2)")
        .number(signed(limits::ENTRIES_RECLAIMED_AT_ONCE as u64))
        .number(signed(limits::ENTRY_BYTES_RECLAIMED_AT_ONCE))
}

/// Sizes that only this store limits.
pub(super) fn check(commit: &Commit<'_>) -> Result<(), StoreError> {
    for put in &commit.puts {
        let moves = put.moves.iter().map(|moved| &moved.to);
        for lane in put.queued.iter().map(|queued| &queued.lane).chain(moves) {
            limits::check("bytes of a lane", lane.len(), limits::POSTGRES_LANE_BYTES_MAX)?;
        }
    }
    Ok(())
}

/// The same for a claim.
pub(super) fn check_claim(request: &ClaimRequest<'_>) -> Result<(), StoreError> {
    let lane = request.to.map_or(0, str::len);
    limits::check("bytes of a lane", lane, limits::POSTGRES_LANE_BYTES_MAX)
}

/// Why a call behind a fence was refused.
pub(super) fn fenced(fence: Option<&Fence>, refusal: &Refusal) -> StoreError {
    match fence {
        Some(Fence { lease, token }) if refusal.code == FENCED => {
            let current = refusal.detail.parse::<i64>().ok().map(i64::unsigned_abs);
            StoreError::Fenced { lease: lease.clone(), token: *token, current }
        }
        _ => StoreError::Io { cause: format!("unknown refusal {}", refusal.code) },
    }
}

/// Why a lease was refused, apart from its holder.
pub(super) fn refused_worker(worker: Option<WorkerId>, refusal: &Refusal) -> StoreError {
    match worker {
        Some(worker) if refusal.code == DECLARED_DEAD => StoreError::DeclaredDead { worker },
        _ => StoreError::Io { cause: format!("unknown refusal {}", refusal.code) },
    }
}

/// Why a commit was refused.
pub(super) fn refused(commit: &Commit<'_>, refusal: &Refusal) -> StoreError {
    let found = |text: &str| text.parse::<i64>().ok().map(i64::unsigned_abs);
    let broken = || StoreError::Io { cause: format!("unknown refusal {}", refusal.code) };
    match refusal.code.as_str() {
        FENCED => fenced(commit.fence, refusal),
        JOURNAL_CONFLICT => {
            commit.append.as_ref().map_or_else(broken, |append| StoreError::JournalConflict {
                journal: append.journal.clone(),
                expected: append.expected,
                found: found(&refusal.detail).unwrap_or_default(),
            })
        }
        _ => record_conflict(commit, &refusal.detail).unwrap_or_else(broken),
    }
}

/// The detail is the part of the commit, the number in that part, and the version that was found.
fn record_conflict(commit: &Commit<'_>, detail: &str) -> Option<StoreError> {
    let mut words = detail.split(' ');
    let (part, place) = (words.next()?, words.next()?.parse::<usize>().ok()?.checked_sub(1)?);
    let found = words.next().and_then(|word| word.parse().ok());
    let (kind, key, expected) = match part {
        "expect" => commit.expects.get(place).map(|part| (part.kind, &part.key, part.expected))?,
        "delete" => commit.deletes.get(place).map(|part| (part.kind, &part.key, part.expected))?,
        _ => commit.puts.get(place).map(|put| (put.kind, &put.key, put.expected))?,
    };
    Some(StoreError::RecordConflict { kind, key: key.clone(), expected, found })
}
