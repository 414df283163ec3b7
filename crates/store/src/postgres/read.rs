//! Queries: their statements, and how their rows are read.

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::statement::{SqlValue, Statement, signed};
use crate::{
    Entry, Filter, Heading, JournalKey, Kind, LaneKey, Life, Record, RecordKey, RecordPosition,
    StoreError, limits,
};

/// The id of a project, whose path is this value of the statement.
macro_rules! project {
    ($mark:literal) => {
        concat!("(SELECT p.id FROM hookwright.projects AS p WHERE p.digest = sha256(", $mark, "))")
    };
}

pub(super) fn journal(journal: &JournalKey, after: u64, limit: usize) -> Statement {
    // The sums bound the page in bytes. They do not read the values.
    Statement::new(concat!(
        "SELECT sequence, value FROM (
            SELECT sequence, value, row_number() OVER sums AS place,
                sum(octet_length(value)) OVER sums AS bytes
            FROM (
                SELECT e.sequence, e.value FROM hookwright.entries AS e
                WHERE e.journal = (
                        SELECT j.id FROM hookwright.journals AS j
                        WHERE j.project = ",
        project!("$1"),
        " AND j.session = $2
                    ) AND e.sequence > $3
                ORDER BY e.sequence LIMIT $4
            ) AS page
            WINDOW sums AS (ORDER BY sequence ROWS UNBOUNDED PRECEDING)
        ) AS bounded WHERE place = 1 OR bytes <= $5 ORDER BY sequence"
    ))
    .bytes(&journal.project)
    .bytes(&journal.session)
    .number(signed(after))
    .number(page_limit(limit, limits::ENTRIES_PER_PAGE_MAX))
    .number(PAGE_BYTES)
}

const PAGE_BYTES: i64 = limits::PAGE_BYTES_MAX as i64;

fn page_limit(limit: usize, max: usize) -> i64 {
    signed(limit.min(max) as u64)
}

pub(super) fn entry(row: &Row) -> Result<Entry, StoreError> {
    Ok(Entry { sequence: number(row, 0)?, value: text(row, 1)? })
}

pub(super) fn last(journal: &JournalKey) -> Statement {
    Statement::new(concat!(
        "SELECT j.last FROM hookwright.journals AS j WHERE j.project = ",
        project!("$1"),
        " AND j.session = $2"
    ))
    .bytes(&journal.project)
    .bytes(&journal.session)
}

pub(super) fn changes() -> Statement {
    Statement::new("SELECT sum(c.count)::bigint FROM hookwright.changes AS c")
}

pub(super) fn get(kind: Kind, key: &RecordKey) -> Statement {
    Statement::new(concat!(
        "SELECT $2, r.name, r.version, r.created_at, r.id, r.status, r.value, r.claim_note
        FROM hookwright.records AS r WHERE r.kind = $1 AND r.project = ",
        project!("$2"),
        " AND r.name = $3"
    ))
    .with(SqlValue::Text(kind.word()))
    .bytes(&key.project)
    .bytes(&key.name)
}

pub(super) fn record(row: &Row) -> Result<Record, StoreError> {
    Ok(Record {
        key: RecordKey { project: text(row, 0)?, name: text(row, 1)? },
        version: number(row, 2)?,
        place: RecordPosition { created_at_ms: value(row, 3)?, inserted: number(row, 4)? },
        status: text(row, 5)?,
        value: text(row, 6)?,
        claim_note: optional_text(row, 7)?,
    })
}

pub(super) fn list(kind: Kind, filter: &Filter) -> Statement {
    let columns = "(SELECT p.path FROM hookwright.projects AS p WHERE p.id = project), name, \
                   version, created_at, id, status, value, claim_note";
    let limit = page_limit(filter.limit, limits::RECORDS_PER_PAGE_MAX);
    list_statement(kind, filter, columns, "value", limit)
}

pub(super) fn headings(kind: Kind, filter: &Filter) -> Statement {
    let limit = page_limit(filter.limit, limits::RECORDS_PER_PAGE_MAX);
    list_statement(kind, filter, "name, status, created_at, id", "name", limit)
}

pub(super) fn heading(row: &Row) -> Result<Heading, StoreError> {
    let place = RecordPosition { created_at_ms: value(row, 2)?, inserted: number(row, 3)? };
    Ok(Heading { name: text(row, 0)?, status: text(row, 1)?, place })
}

/// The statement for a filter. `bounded` is the column whose bytes bound the page.
fn list_statement(
    kind: Kind,
    filter: &Filter,
    columns: &str,
    bounded: &str,
    limit: i64,
) -> Statement {
    // The inner columns, so that a page of headings is read from the index alone.
    let inner = match bounded {
        "value" => {
            "r.project, r.name, r.version, r.created_at, r.id, r.status, r.value, \
                    r.claim_note"
        }
        _ => "r.name, r.created_at, r.id, r.status",
    };
    let mut statement = Statement::new("");
    let kind = statement.mark(SqlValue::Text(kind.word()));
    let limit = statement.mark(SqlValue::Number(Some(limit)));
    let bytes = statement.mark(SqlValue::Number(Some(PAGE_BYTES)));
    let mut conditions = format!("r.kind = {kind}");
    if let Some(project) = &filter.project {
        let mark = statement.mark(bytes_of(project));
        conditions.push_str(&format!(
            " AND r.project = (SELECT p.id FROM hookwright.projects AS p WHERE p.digest = \
             sha256({mark}))"
        ));
    }
    if let Some(prefix) = &filter.name_prefix {
        // A range, not `substr`, which the planner cannot estimate.
        let mark = statement.mark(bytes_of(prefix));
        conditions.push_str(&format!(" AND r.name >= {mark}"));
        if let Some(end) = end_of_prefix(prefix) {
            let mark = statement.mark(SqlValue::Bytes(Some(end)));
            conditions.push_str(&format!(" AND r.name < {mark}"));
        }
    }
    if let Some(before) = filter.before {
        let created_at = statement.mark(SqlValue::Number(Some(before.created_at_ms)));
        let id = statement.mark(SqlValue::Number(Some(signed(before.inserted))));
        conditions.push_str(&format!(" AND (r.created_at, r.id) < ({created_at}, {id})"));
    }
    let order = "ORDER BY created_at DESC, id DESC";
    let rows = format!("SELECT {inner} FROM hookwright.records AS r WHERE {conditions}");
    let page = match filter.statuses.is_empty() {
        true => format!("{rows} {order} LIMIT {limit}"),
        // Each status has its own range in an index, so records of others are not read.
        false => {
            let mut statuses: Vec<_> = filter.statuses.iter().map(bytes_of_some).collect();
            statuses.sort();
            statuses.dedup();
            let mark = statement.mark(SqlValue::BytesList(statuses));
            format!(
                "SELECT of_status.* FROM unnest({mark}) AS wanted (status) CROSS JOIN LATERAL \
                 ({rows} AND r.status = wanted.status {order} LIMIT {limit}) AS of_status {order} \
                 LIMIT {limit}"
            )
        }
    };
    statement.text = format!(
        "SELECT {columns} FROM (
            SELECT *, row_number() OVER sums AS place, sum(octet_length({bounded})) OVER sums AS bytes
            FROM ({page}) AS page
            WINDOW sums AS ({order} ROWS UNBOUNDED PRECEDING)
        ) AS bounded WHERE place = 1 OR bytes <= {bytes} {order}"
    )
    .into();
    statement
}

fn bytes_of(text: &String) -> SqlValue {
    SqlValue::Bytes(bytes_of_some(text))
}

fn bytes_of_some(text: &String) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

pub(super) fn queue(lane: LaneKey<'_>, from_rank: i64, limit: usize) -> Statement {
    Statement::new(concat!(
        "SELECT $2, name, version, created_at, id, status, value, claim_note, rank FROM (
            SELECT *, row_number() OVER sums AS place, sum(octet_length(value)) OVER sums AS bytes
            FROM (
                SELECT r.name, r.version, r.created_at, r.id, r.status, r.value, r.claim_note,
                    r.rank
                FROM hookwright.records AS r
                WHERE r.kind = $1 AND r.project = ",
        project!("$2"),
        " AND r.lane = $3 AND r.lane IS NOT NULL AND r.rank >= $4
                ORDER BY r.rank, r.id LIMIT $5
            ) AS page
            WINDOW sums AS (ORDER BY rank, id ROWS UNBOUNDED PRECEDING)
        ) AS bounded WHERE place = 1 OR bytes <= $6 ORDER BY rank, id"
    ))
    .with(SqlValue::Text(lane.kind.word()))
    .bytes(lane.project)
    .bytes(lane.lane)
    .number(from_rank)
    .number(page_limit(limit, limits::RECORDS_PER_PAGE_MAX))
    .number(PAGE_BYTES)
}

pub(super) fn queued_record(row: &Row) -> Result<(i64, Record), StoreError> {
    Ok((value(row, 8)?, record(row)?))
}

pub(super) fn next_lane(behind: LaneKey<'_>) -> Statement {
    Statement::new(concat!(
        "SELECT r.lane FROM hookwright.records AS r WHERE r.kind = $1 AND r.project = ",
        project!("$2"),
        " AND r.lane > $3 AND r.lane IS NOT NULL ORDER BY r.lane LIMIT 1"
    ))
    .with(SqlValue::Text(behind.kind.word()))
    .bytes(behind.project)
    .bytes(behind.lane)
}

pub(super) fn queued(prefix: LaneKey<'_>) -> Statement {
    Statement::new(concat!(
        "SELECT count(*) FROM hookwright.records AS r WHERE r.kind = $1 AND r.project = ",
        project!("$2"),
        " AND r.lane IS NOT NULL AND r.lane >= $3 AND ($4::bytea IS NULL OR r.lane < $4)"
    ))
    .with(SqlValue::Text(prefix.kind.word()))
    .bytes(prefix.project)
    .bytes(prefix.lane)
    .with(SqlValue::Bytes(end_of_prefix(prefix.lane)))
}

pub(super) fn holder(lease: &str) -> Statement {
    Statement::new(
        "SELECT l.holder, l.token, CASE WHEN l.worker IS NOT NULL THEN NOT EXISTS (
            SELECT FROM hookwright.workers AS w WHERE w.id = l.worker AND w.died IS NULL
        ) END
        FROM hookwright.leases AS l WHERE l.name = $1",
    )
    .bytes(lease)
}

/// The column says whether the holder is gone; it is NULL if the holder is no worker.
pub(super) fn life(row: &Row, column: usize) -> Result<Option<Life>, StoreError> {
    let is_gone = value::<Option<bool>>(row, column)?;
    Ok(is_gone.map(|is_gone| if is_gone { Life::Ended } else { Life::MayRun }))
}

/// The first bytes after all with this prefix; `None` if there are none.
fn end_of_prefix(prefix: &str) -> Option<Vec<u8>> {
    let mut end = prefix.as_bytes().to_vec();
    // UTF-8 has no byte 255.
    *end.last_mut()? += 1;
    Some(end)
}

pub(super) fn value<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| StoreError::Damaged { cause: error.to_string() })
}

pub(super) fn number(row: &Row, column: usize) -> Result<u64, StoreError> {
    Ok(value::<i64>(row, column)?.unsigned_abs())
}

pub(super) fn optional_text(row: &Row, column: usize) -> Result<Option<String>, StoreError> {
    let bytes = value::<Option<&[u8]>>(row, column)?;
    bytes.map(|_| text(row, column)).transpose()
}

pub(super) fn text(row: &Row, column: usize) -> Result<String, StoreError> {
    String::from_utf8(value::<&[u8]>(row, column)?.to_vec())
        .map_err(|error| StoreError::Damaged { cause: error.to_string() })
}
