//! Queries of a store.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params, params_from_iter};

use super::failure::SqliteFailure;
use crate::page::Page;
use crate::{
    Entry, Filter, Heading, Held, JournalKey, Kind, LaneKey, Record, RecordKey, RecordPosition,
    limits,
};

/// The columns of a record, in the order in which [`record_of`] reads them.
pub(super) const COLUMNS: &str =
    "project, name, version, created_at, id, status, value, claim_note";
const VALUE_COLUMN: usize = 6;
/// The number of [`COLUMNS`].
const COLUMN_COUNT: usize = 8;

pub(super) fn journal(
    connection: &Connection,
    journal: &JournalKey,
    after: u64,
    limit: usize,
) -> Result<Vec<Entry>, SqliteFailure> {
    let Ok(after) = u32::try_from(after) else {
        return Ok(Vec::new());
    };
    let mut statement = connection.prepare_cached(
        "WITH journal AS (SELECT id << 32 AS base FROM journals WHERE project = ?1 AND session = ?2)
        SELECT place & 0xffffffff, value FROM entries
        WHERE place > (SELECT base FROM journal) + ?3
            AND place <= (SELECT base FROM journal) + 0xffffffff
        ORDER BY place",
    )?;
    let mut rows = statement.query(params![journal.project, journal.session, after])?;
    let mut page = Page::new(limit.min(limits::ENTRIES_PER_PAGE_MAX));
    while let Some(row) = rows.next()? {
        let value = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        if !page.has_room(value.len()) {
            break;
        }
        page.push(Entry { sequence: row.get(0)?, value: value.to_owned() }, value.len());
    }
    Ok(page.into_items())
}

pub(super) fn last(connection: &Connection, journal: &JournalKey) -> Result<u64, SqliteFailure> {
    match journal_id(connection, journal)? {
        Some(id) => last_of(connection, id),
        None => Ok(0),
    }
}

pub(super) fn journal_id(
    connection: &Connection,
    journal: &JournalKey,
) -> Result<Option<i64>, SqliteFailure> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM journals WHERE project = ?1 AND session = ?2")?;
    let found = statement.query_row(params![journal.project, journal.session], |row| row.get(0));
    Ok(found.optional()?)
}

pub(super) fn last_of(connection: &Connection, journal_id: i64) -> Result<u64, SqliteFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT place & 0xffffffff FROM entries
        WHERE place > ?1 << 32 AND place <= (?1 << 32) + 0xffffffff
        ORDER BY place DESC LIMIT 1",
    )?;
    let last: Option<u32> = statement.query_row([journal_id], |row| row.get(0)).optional()?;
    Ok(last.unwrap_or_default().into())
}

/// SQLite's count of commits by other connections. The reading connection never writes, so this
/// counts all commits.
pub(super) fn changes(connection: &Connection) -> Result<u64, SqliteFailure> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

pub(super) fn get(
    connection: &Connection,
    kind: Kind,
    key: &RecordKey,
) -> Result<Option<Record>, SqliteFailure> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM records WHERE kind = ?1 AND project = ?2 AND name = ?3"
    ))?;
    let found = statement.query_row(params![kind.word(), key.project, key.name], record_of);
    Ok(found.optional()?)
}

pub(super) fn list(
    connection: &Connection,
    kind: Kind,
    filter: &Filter,
) -> Result<Vec<Record>, SqliteFailure> {
    let (sql, values) = list_query(COLUMNS, kind, filter);
    let mut statement = connection.prepare_cached(&sql)?;
    page_of(statement.query(params_from_iter(values))?, filter.limit, record_of)
}

/// A page of rows that begin with [`COLUMNS`].
fn page_of<T>(
    mut rows: Rows<'_>,
    limit: usize,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, SqliteFailure> {
    let mut page = Page::new(limit.min(limits::RECORDS_PER_PAGE_MAX));
    while let Some(row) = rows.next()? {
        let value = row.get_ref(VALUE_COLUMN)?.as_str().map_err(rusqlite::Error::from)?;
        if !page.has_room(value.len()) {
            break;
        }
        page.push(read(row)?, value.len());
    }
    Ok(page.into_items())
}

pub(super) fn headings(
    connection: &Connection,
    kind: Kind,
    filter: &Filter,
) -> Result<Vec<Heading>, SqliteFailure> {
    let (sql, values) = list_query("name, status, created_at, id", kind, filter);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut page = Page::new(filter.limit.min(limits::RECORDS_PER_PAGE_MAX));
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        if !page.has_room(name.len()) {
            break;
        }
        let place = RecordPosition { created_at_ms: row.get(2)?, inserted: row.get(3)? };
        let bytes = name.len();
        page.push(Heading { name: name.to_owned(), status: row.get(1)?, place }, bytes);
    }
    Ok(page.into_items())
}

pub(super) fn queue(
    connection: &Connection,
    lane: LaneKey<'_>,
    from_rank: i64,
    limit: usize,
) -> Result<Vec<(i64, Record)>, SqliteFailure> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, rank FROM records INDEXED BY records_in_lanes
        WHERE kind = ?1 AND project = ?2 AND lane = ?3 AND rank >= ?4 ORDER BY rank, id"
    ))?;
    let rows = statement.query(params![lane.kind.word(), lane.project, lane.lane, from_rank])?;
    page_of(rows, limit, |row| Ok((row.get(COLUMN_COUNT)?, record_of(row)?)))
}

pub(super) fn next_lane(
    connection: &Connection,
    behind: LaneKey<'_>,
) -> Result<Option<String>, SqliteFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT lane FROM records INDEXED BY records_in_lanes
        WHERE kind = ?1 AND project = ?2 AND lane > ?3 ORDER BY lane LIMIT 1",
    )?;
    let values = params![behind.kind.word(), behind.project, behind.lane];
    Ok(statement.query_row(values, |row| row.get(0)).optional()?)
}

pub(super) fn queued(connection: &Connection, prefix: LaneKey<'_>) -> Result<u64, SqliteFailure> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FROM records INDEXED BY records_in_lanes
        WHERE kind = ?1 AND project = ?2 AND lane >= ?3 AND (?4 IS NULL OR lane < ?4)",
    )?;
    let end = end_of_prefix(prefix.lane);
    let values = params![prefix.kind.word(), prefix.project, prefix.lane, end];
    Ok(statement.query_row(values, |row| row.get(0))?)
}

/// The statement for a filter, and its values, which are never part of the text. It names the
/// index, because without statistics SQLite might choose one that needs sorting.
fn list_query(columns: &str, kind: Kind, filter: &Filter) -> (String, Vec<Value>) {
    let index = if filter.project.is_some() { "records_of_project" } else { "records_of_all" };
    let mut sql = format!("SELECT {columns} FROM records INDEXED BY {index} WHERE kind = ?");
    let mut values = vec![Value::from(kind.word().to_owned())];
    if let Some(project) = &filter.project {
        sql.push_str(" AND project = ?");
        values.push(project.clone().into());
    }
    if !filter.statuses.is_empty() {
        let marks = vec!["?"; filter.statuses.len()].join(", ");
        sql.push_str(&format!(" AND status IN ({marks})"));
        values.extend(filter.statuses.iter().cloned().map(Value::from));
    }
    if let Some(prefix) = &filter.name_prefix {
        sql.push_str(" AND name >= ?");
        values.push(prefix.clone().into());
        if let Some(end) = end_of_prefix(prefix) {
            sql.push_str(" AND name < ?");
            values.push(end.into());
        }
    }
    if let Some(before) = filter.before {
        sql.push_str(" AND (created_at, id) < (?, ?)");
        values.push(before.created_at_ms.into());
        values.push(i64::try_from(before.inserted).unwrap_or(i64::MAX).into());
    }
    sql.push_str(" ORDER BY created_at DESC, id DESC");
    (sql, values)
}

/// The first text after all with this prefix; `None` if there is none. Text is ordered by its
/// bytes, which in UTF-8 is the order of its characters.
fn end_of_prefix(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // The range skips the surrogates between U+D7FF and U+E000.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

pub(super) fn record_of(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        key: RecordKey { project: row.get(0)?, name: row.get(1)? },
        version: row.get(2)?,
        place: RecordPosition { created_at_ms: row.get(3)?, inserted: row.get(4)? },
        status: row.get(5)?,
        value: row.get(VALUE_COLUMN)?,
        claim_note: row.get(VALUE_COLUMN + 1)?,
    })
}

pub(super) fn holder(connection: &Connection, lease: &str) -> Result<Option<Held>, SqliteFailure> {
    let mut statement =
        connection.prepare_cached("SELECT holder, token FROM leases WHERE name = ?1")?;
    let found = statement
        .query_row([lease], |row| Ok(Held { holder: row.get(0)?, token: row.get(1)?, life: None }))
        .optional()?;
    Ok(found)
}
