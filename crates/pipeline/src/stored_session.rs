//! [`StoredSession`]: a session as a store has it, and whether somebody runs it.

use hookwright_store::{Place, Record, Store, StoreError};

use crate::lease::{self, Holder};
use crate::record::{CUT_OFF, SessionRecord};

/// A session of a store.
#[derive(Debug)]
pub struct StoredSession {
    /// What is known of it.
    pub record: SessionRecord,
    /// Of the record in the store.
    pub version: u64,
    /// Where it stands in lists.
    pub place: Place,
    /// The record's, or [`CUT_OFF`] for one that nobody runs although it has not ended.
    pub status: String,
    /// Who runs it.
    pub holder: Option<Holder>,
}

impl StoredSession {
    /// The session of this record.
    pub fn read(store: &dyn Store, stored: Record) -> Result<Self, StoreError> {
        let Record { key, version, place, mut status, value, .. } = stored;
        let mut record: SessionRecord = serde_json::from_str(&value).unwrap_or_default();
        let mut holder = None;
        if status == "active" {
            holder = lease::holder(store, &lease::name_of(&key.project, &key.name))?;
            if holder.is_none() {
                CUT_OFF.clone_into(&mut status);
            }
        }
        // What finds it again is what the store calls it.
        (record.workspace, record.name) = (key.project, key.name);
        if record.id.is_empty() {
            record.id.clone_from(&record.name);
        }
        Ok(Self { record, version, place, status, holder })
    }
}
