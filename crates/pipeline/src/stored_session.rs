//! [`StoredSession`]: a session as a store has it, and the process that runs it.

use hookwright_events::SessionStatus;
use hookwright_store::{Record, RecordPosition, Store, StoreError};

use crate::lease::{self, LeaseOwner};
use crate::record::SessionRecord;

/// The status in a store's index. An unknown one counts as failed, so that nothing runs again
/// because of it.
pub fn stored_status(name: &str) -> SessionStatus {
    SessionStatus::parse(name).unwrap_or(SessionStatus::Failed)
}

/// A session of a store.
#[derive(Debug)]
pub struct StoredSession {
    /// The session's record.
    pub record: SessionRecord,
    /// The version of the record in the store.
    pub version: u64,
    /// Its place in lists.
    pub place: RecordPosition,
    /// The record's status, or [`SessionStatus::CutOff`] if it has not ended and no process runs
    /// it.
    pub status: SessionStatus,
    /// The process that runs it.
    pub holder: Option<LeaseOwner>,
}

impl StoredSession {
    /// Reads the session of this record.
    pub fn read(store: &dyn Store, stored: Record) -> Result<Self, StoreError> {
        let Record { key, version, place, status, value, .. } = stored;
        let mut status = stored_status(&status);
        let mut record: SessionRecord = serde_json::from_str(&value).unwrap_or_default();
        let mut holder = None;
        if status == SessionStatus::Active {
            holder = lease::holder(store, &lease::name_of(&key.project, &key.name))?;
            if holder.is_none() {
                status = SessionStatus::CutOff;
            }
        }
        // The store's key finds it again.
        record.set_project(key.project);
        record.name = key.name;
        if record.id.is_empty() {
            record.id.clone_from(&record.name);
        }
        Ok(Self { record, version, place, status, holder })
    }
}
