//! [`StoreWithTraces`]: a store that also shows traces, as sessions that can only be read.
//!
//! Whatever is written goes to the store behind it. A trace has a record, a journal and a lease like
//! any session, made from its file each time it is read; what was read is kept until the file grows.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::RunEvent;
use hookwright_store::limits::{ENTRIES_PER_PAGE_MAX, PAGE_BYTES_MAX, RECORDS_PER_PAGE_MAX};
use hookwright_store::{
    Acquired, ClaimRequest, ClaimedRecord, Commit, Committed, Entry, Filter, Heading, Held,
    JournalKey, Kind, LaneKey, Living, Loss, Reclaimed, Record, RecordKey, RecordPosition, Rewrite,
    Store, StoreError, Workers,
};

use super::file::{TraceFolder, TraceHalf, TraceHead};
use super::fold::{TraceFold, entries};
use super::key::TraceKey;
use crate::lease::{self, LeaseOwner};
use crate::record::{SessionRecord, milliseconds};

/// A store, and traces beside its sessions.
pub struct StoreWithTraces {
    /// `None` if the user has no store yet.
    behind: Option<Arc<dyn Store>>,
    folder: TraceFolder,
    /// The path of the project with a name, and the name.
    named: Option<(String, String)>,
    known: Mutex<HashMap<TraceKey, KnownTrace>>,
}

/// What was read of a trace.
#[derive(Clone)]
struct KnownTrace {
    fold: TraceFold,
    /// The file that was read, and how far.
    inode: u64,
    bytes: usize,
}

/// A trace as a session.
struct TracedSession {
    record: SessionRecord,
    holder: Option<LeaseOwner>,
    bytes: usize,
    place: RecordPosition,
}

impl StoreWithTraces {
    /// This store with these traces.
    pub fn new(behind: Option<Arc<dyn Store>>, folder: TraceFolder) -> Self {
        Self { behind, folder, named: None, known: Mutex::default() }
    }

    /// Shows the traces of the project with this path under its name. Agents' calls open no store,
    /// so they know only the path.
    #[must_use]
    pub fn naming(self, path: String, name: String) -> Self {
        Self { named: Some((path, name)), ..self }
    }

    /// The key of the project with this path.
    fn project_at<'a>(&'a self, path: &'a str) -> &'a str {
        self.named.as_ref().filter(|(root, _)| root == path).map_or(path, |(_, name)| name)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<TraceKey, KnownTrace>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trace, read to its end; `None` if there is none.
    fn read(&self, key: &TraceKey) -> Option<KnownTrace> {
        let metadata = std::fs::symlink_metadata(self.folder.file(key)).ok();
        let Some(metadata) = metadata.filter(std::fs::Metadata::is_file) else {
            self.known().remove(key);
            return None;
        };
        let known = self.known().get(key).filter(|known| known.inode == metadata.ino()).cloned();
        if let Some(known) = &known
            && known.bytes as u64 == metadata.len()
        {
            return Some(known.clone());
        }
        let newer = self.folder.read(key, TraceHalf::Newer).ok()??;
        let read = match known {
            Some(mut known) if newer.len() >= known.bytes => {
                known.fold.read_on(newer.get(known.bytes..).unwrap_or_default());
                KnownTrace { bytes: newer.len(), ..known }
            }
            _ => {
                let older = self.folder.read(key, TraceHalf::Older).ok().flatten();
                let head = TraceHead::parse(newer.lines().next()?)?;
                let mut fold = TraceFold::new(key, head);
                older.iter().for_each(|text| fold.read_on(text));
                fold.read_on(&newer);
                KnownTrace { fold, inode: metadata.ino(), bytes: newer.len() }
            }
        };
        self.known().insert(key.clone(), read.clone());
        Some(read)
    }

    fn session(&self, key: &TraceKey) -> Option<TracedSession> {
        let KnownTrace { fold, bytes, .. } = self.read(key)?;
        let (mut record, holder) = fold.session();
        let project = self.project_at(&record.workspace).to_owned();
        record.set_project(project);
        let place = place_of(key, &fold.head);
        Some(TracedSession { record, holder, bytes, place })
    }

    /// The session with this name in this project.
    fn of_project(&self, project: &str, name: &str) -> Option<(TraceKey, TracedSession)> {
        let key = TraceKey::parse(name)?;
        let session = self.session(&key).filter(|it| it.record.project() == project)?;
        Some((key, session))
    }

    /// The records of traces that pass a filter, newest first.
    fn list_traces(&self, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        let keys =
            self.folder.keys().map_err(|error| StoreError::Io { cause: error.to_string() })?;
        let mut found: Vec<(RecordPosition, TraceKey)> = Vec::new();
        for key in keys {
            let Some(head) = self.head(&key) else { continue };
            let place = place_of(&key, &head);
            if filter
                .project
                .as_ref()
                .is_none_or(|project| project == self.project_at(&head.project))
                && filter.name_prefix.as_ref().is_none_or(|text| key.name().starts_with(text))
                && filter.before.is_none_or(|before| place < before)
            {
                found.push((place, key));
            }
        }
        found.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
        // Only those of this page are read whole.
        let sessions = found.iter().filter_map(|(_, key)| self.session(key));
        let has_status = |session: &TracedSession| {
            let status = session.record.status.as_str();
            filter.statuses.is_empty() || filter.statuses.iter().any(|asked| asked == status)
        };
        let limit = filter.limit.min(RECORDS_PER_PAGE_MAX);
        Ok(sessions.filter(has_status).take(limit).map(TracedSession::stored).collect())
    }

    /// The first line of a trace, which never changes but for the number of lines before it.
    fn head(&self, key: &TraceKey) -> Option<TraceHead> {
        let known = self.known().get(key).map(|known| known.fold.head.clone());
        known.or_else(|| self.folder.read_head(key))
    }

    fn behind(&self) -> Result<&dyn Store, StoreError> {
        self.behind
            .as_deref()
            .ok_or_else(|| StoreError::NotWritable { cause: "there is no store yet".to_owned() })
    }
}

/// The place in lists: the time of the first call.
fn place_of(key: &TraceKey, head: &TraceHead) -> RecordPosition {
    let created_at_ms = milliseconds(&head.at).unwrap_or(0);
    RecordPosition { created_at_ms, inserted: key.number() }
}

impl TracedSession {
    fn stored(self) -> Record {
        let key =
            RecordKey { project: self.record.project().to_owned(), name: self.record.name.clone() };
        Record {
            key,
            version: self.bytes as u64,
            place: self.place,
            status: self.record.status.to_string(),
            value: serde_json::to_string(&self.record).unwrap_or_default(),
            claim_note: None,
        }
    }
}

impl Store for StoreWithTraces {
    fn is_remote(&self) -> bool {
        self.behind.as_ref().is_some_and(|store| store.is_remote())
    }

    fn now_ms(&self) -> i64 {
        let behind = self.behind.as_ref().map(|store| store.now_ms());
        behind.unwrap_or_else(|| jiff::Timestamp::now().as_millisecond())
    }

    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        self.behind()?.commit(commit)
    }

    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        if TraceKey::parse(&journal.session).is_none() {
            return self
                .behind
                .as_ref()
                .map_or(Ok(Vec::new()), |store| store.journal(journal, after, limit));
        }
        let Some((key, _)) = self.of_project(&journal.project, &journal.session) else {
            return Ok(Vec::new());
        };
        let read = |half| self.folder.read(&key, half).ok().flatten();
        let (older, newer) = (read(TraceHalf::Older), read(TraceHalf::Newer));
        let newer = newer.unwrap_or_default();
        let mut bytes = 0;
        let found = entries(older.as_deref(), &newer)
            .filter(|(sequence, line)| *sequence > after && RunEvent::from_json(line).is_ok())
            .take(limit.min(ENTRIES_PER_PAGE_MAX))
            .take_while(|(_, line)| {
                let is_first = bytes == 0;
                bytes += line.len();
                is_first || bytes <= PAGE_BYTES_MAX
            })
            .map(|(sequence, line)| Entry { sequence, value: line.to_owned() });
        Ok(found.collect())
    }

    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError> {
        if TraceKey::parse(&journal.session).is_none() {
            return self.behind.as_ref().map_or(Ok(0), |store| store.last(journal));
        }
        let Some((key, _)) = self.of_project(&journal.project, &journal.session) else {
            return Ok(0);
        };
        let newer = self.folder.read(&key, TraceHalf::Newer).ok().flatten().unwrap_or_default();
        Ok(entries(None, &newer).last().map_or(0, |(sequence, _)| sequence))
    }

    fn changes(&self) -> Result<u64, StoreError> {
        let mut hasher = DefaultHasher::new();
        self.behind.as_ref().map_or(Ok(0), |store| store.changes())?.hash(&mut hasher);
        let mut keys = self.folder.keys().unwrap_or_default();
        keys.sort_unstable();
        for key in keys {
            if let Ok(metadata) = std::fs::symlink_metadata(self.folder.file(&key)) {
                (key, metadata.ino(), metadata.len()).hash(&mut hasher);
            }
        }
        Ok(hasher.finish())
    }

    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        if kind == Kind::Session && TraceKey::parse(&key.name).is_some() {
            let found = self.of_project(&key.project, &key.name);
            return Ok(found.map(|(_, session)| session.stored()));
        }
        self.behind.as_ref().map_or(Ok(None), |store| store.get(kind, key))
    }

    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        let stored =
            self.behind.as_ref().map_or(Ok(Vec::new()), |store| store.list(kind, filter))?;
        if kind != Kind::Session {
            return Ok(stored);
        }
        let mut traced = self.list_traces(filter)?;
        // The store's page may have ended early, so what is older has to wait for the next one.
        if let Some(last) = stored.last() {
            traced.retain(|record| record.place > last.place);
        }
        let mut all = stored;
        all.append(&mut traced);
        all.sort_by_key(|record| std::cmp::Reverse(record.place));
        all.truncate(filter.limit.min(RECORDS_PER_PAGE_MAX));
        Ok(all)
    }

    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError> {
        self.behind.as_ref().map_or(Ok(Vec::new()), |store| store.headings(kind, filter))
    }

    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError> {
        self.behind.as_ref().map_or(Ok(Vec::new()), |store| store.queue(lane, from_rank, limit))
    }

    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError> {
        self.behind.as_ref().map_or(Ok(None), |store| store.next_lane(behind))
    }

    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError> {
        self.behind.as_ref().map_or(Ok(0), |store| store.queued(prefix))
    }

    fn claim(&self, request: &ClaimRequest<'_>) -> Result<Option<ClaimedRecord>, StoreError> {
        self.behind()?.claim(request)
    }

    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError> {
        self.behind()?.acquire(lease, holder, instead_of)
    }

    /// The process of an agent holds the lease of its session.
    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError> {
        let name = lease.rsplit('/').next().unwrap_or_default();
        let Some(key) = TraceKey::parse(name) else {
            return self.behind.as_ref().map_or(Ok(None), |store| store.holder(lease));
        };
        let session = self.session(&key);
        let session = session.filter(|it| lease::name_of(it.record.project(), name) == lease);
        let holder = session.and_then(|it| serde_json::to_string(&it.holder?).ok());
        Ok(holder.map(|holder| Held { holder, token: 0, life: None }))
    }

    fn living(&self) -> Option<Arc<dyn Living>> {
        self.behind.as_ref().and_then(|store| store.living())
    }

    fn workers(&self) -> Option<Arc<dyn Workers>> {
        self.behind.as_ref().and_then(|store| store.workers())
    }

    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError> {
        self.behind()?.release(lease, token)
    }

    fn take_losses(&self) -> Vec<Loss> {
        self.behind.as_ref().map(|store| store.take_losses()).unwrap_or_default()
    }

    fn reclaim(&self, rewrite: Rewrite) -> Result<Reclaimed, StoreError> {
        self.behind.as_ref().map_or(Ok(Reclaimed::default()), |store| store.reclaim(rewrite))
    }
}
