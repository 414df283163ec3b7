//! Finds the session that the user means: by a name or an id, by the beginning of one, or without
//! any if only one is possible.

use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::session_id::IdPrefix;
use hookwright_store::{Filter, Kind, Record, RecordPosition, Store, records};

use crate::error::{CANDIDATES_MAX, Failure, SessionFailure};
use crate::state;

/// The session of this project with this name or id, else the only one whose name or id begins with
/// it.
pub(crate) fn in_project(store: &dyn Store, project: &str, text: &str) -> Result<Record, Failure> {
    if let Some(named) = state::session(store, project, text)? {
        return Ok(named);
    }
    let mut found = beginning_with(store, Some(project), text)?;
    match found.len() {
        0 => Err(SessionFailure::Unknown { name: text.to_owned() }.into()),
        1 => Ok(found.swap_remove(0)),
        _ => Err(ambiguous(text, &found).into()),
    }
}

/// The same; else the only session of another project with exactly this name or id.
pub(crate) fn anywhere(store: &dyn Store, project: &str, text: &str) -> Result<Record, Failure> {
    let here = in_project(store, project, text);
    if !matches!(here, Err(Failure::Session(SessionFailure::Unknown { .. }))) {
        return here;
    }
    let mut found = beginning_with(store, None, text)?;
    found.retain(|record| record.key.name == text || id_of(record) == text);
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        _ => here,
    }
}

/// Sessions whose name or id begins with a text, newest first; enough to see whether there is only
/// one. A child session's name begins with its parent's, so a child counts only if the text
/// contains part of its own name.
fn beginning_with(
    store: &dyn Store,
    project: Option<&str>,
    text: &str,
) -> Result<Vec<Record>, Failure> {
    let is_of_child = text.contains("--");
    let project = project.map(str::to_owned);
    let all = Filter { project, ..Filter::newest(usize::MAX) };
    let mut found: Vec<Record> = Vec::new();
    let named = Filter { name_prefix: Some(text.to_owned()), ..all.clone() };
    for record in records(store, Kind::Session, named) {
        let record = record.map_err(Failure::Store)?;
        if is_of_child || record.key.name == text || parse(&record).parent.is_none() {
            found.push(record);
        }
        if found.len() > CANDIDATES_MAX {
            return Ok(found);
        }
    }
    let Some(prefix) = IdPrefix::parse(text) else { return Ok(found) };
    let before =
        Some(RecordPosition { created_at_ms: prefix.to_ms.saturating_add(1), inserted: 0 });
    for record in records(store, Kind::Session, Filter { before, ..all }) {
        let record = record.map_err(Failure::Store)?;
        if record.place.created_at_ms < prefix.from_ms || found.len() > CANDIDATES_MAX {
            break;
        }
        let is_new = found.iter().all(|known| known.key != record.key);
        if is_new && id_of(&record).starts_with(prefix.text) {
            found.push(record);
        }
    }
    Ok(found)
}

fn parse(record: &Record) -> SessionRecord {
    serde_json::from_str(&record.value).unwrap_or_default()
}

fn id_of(record: &Record) -> String {
    parse(record).id
}

fn ambiguous(text: &str, found: &[Record]) -> SessionFailure {
    let names = found.iter().map(|record| record.key.name.clone()).collect();
    SessionFailure::Ambiguous { text: text.to_owned(), names }
}
