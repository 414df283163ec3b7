//! The user's state: one store of sessions, and the file of what is trusted (`trust.rs`).

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_store::{Filter, Kind, Record, RecordKey, SqliteStore, Store};

use crate::error::Failure;
use crate::user_folders::UserFolders;

/// The user's store, opened.
pub(crate) fn store() -> Result<Arc<dyn Store>, Failure> {
    let folder = folder()?;
    Ok(Arc::new(SqliteStore::open(&folder).map_err(Failure::Store)?))
}

/// The user's store, if there is one.
pub(crate) fn existing_store() -> Result<Option<SqliteStore>, Failure> {
    SqliteStore::find(&folder()?).map_err(Failure::Store)
}

/// Now, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// `$XDG_STATE_HOME/hookwright`, as a rule `~/.local/state/hookwright`.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let folder = UserFolders::current().state().ok_or(Failure::NoStateFolder)?;
    Ok(folder.join("hookwright"))
}

/// The session of this name in this project; else the only one of this name anywhere.
pub(crate) fn session_anywhere(
    store: &dyn Store,
    project: &str,
    name: &str,
) -> Result<Option<Record>, Failure> {
    if let Some(known) = session(store, project, name)? {
        return Ok(Some(known));
    }
    let filter = Filter { name_prefix: Some(name.to_owned()), ..Filter::newest(100) };
    let found = store.list(Kind::Session, &filter).map_err(Failure::Store)?;
    let mut same = found.into_iter().filter(|record| record.key.name == name);
    let first = same.next();
    Ok(first.filter(|_| same.next().is_none()))
}

/// The session of this name in this project.
pub(crate) fn session(
    store: &dyn Store,
    project: &str,
    name: &str,
) -> Result<Option<Record>, Failure> {
    let key = RecordKey { project: project.to_owned(), name: name.to_owned() };
    store.get(Kind::Session, &key).map_err(Failure::Store)
}
