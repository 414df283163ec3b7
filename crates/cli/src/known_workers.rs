//! The workers of a store, as they describe themselves, for the commands about them. `unmet_needs.rs`
//! says why none of them takes a session.

mod unmet_needs;

use std::time::Duration;

use hookwright_pipeline::submission::{self, Submission, WorkerOffer};
use hookwright_store::{Store, StoreError, StoredWorker};
use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::known_session::KnownSession;

/// Workers that are looked at, of a store that may have thousands of dead ones.
const WORKERS_MAX: usize = 10_000;

/// What a worker adds to the description of its process. A process that only runs its own session
/// has none.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WorkerDescription {
    /// What it offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offer: Option<WorkerOffer>,
}

/// A worker that takes sessions.
#[derive(Debug)]
pub(crate) struct KnownWorker {
    pub(crate) id: String,
    pub(crate) offer: WorkerOffer,
    pub(crate) is_dead: bool,
    /// Since its last sign of life.
    pub(crate) silent_for: Duration,
}

/// A session of a worker.
#[derive(Debug, Serialize)]
pub(crate) struct HeldSession {
    pub(crate) project: String,
    pub(crate) name: String,
}

/// The workers of a store.
#[derive(Debug)]
pub(crate) struct KnownWorkers {
    pub(crate) all: Vec<KnownWorker>,
}

impl KnownWorkers {
    /// Reads those of a store; a store on one machine has none.
    pub(crate) fn read(store: &dyn Store) -> Result<Self, Failure> {
        Ok(Self { all: read(store).map_err(Failure::Store)? })
    }

    /// Why no living worker of this project takes a session that was submitted so, and what to do;
    /// `None` if one does.
    pub(crate) fn missing(&self, project: &str, submission: &Submission) -> Option<String> {
        let is_candidate = |worker: &&KnownWorker| {
            !worker.is_dead && worker.offer.projects.iter().any(|known| known == project)
        };
        let offers = self.all.iter().filter(is_candidate).map(|worker| worker.offer.clone());
        let unmet = submission::unmet_needs(&submission.needs, &offers.collect::<Vec<_>>())?;
        Some(unmet_needs::in_words(&unmet, submission))
    }
}

impl KnownWorkers {
    /// Why no worker takes this session, and what to do; `None` if it only waits for its turn.
    pub(crate) fn missing_for(&self, session: &KnownSession) -> Option<String> {
        let submission = session.record.submission.as_ref()?;
        self.missing(session.record.project(), submission)
    }
}

fn read(store: &dyn Store) -> Result<Vec<KnownWorker>, StoreError> {
    let Some(workers) = store.workers() else { return Ok(Vec::new()) };
    let (mut all, mut after, mut seen) = (Vec::new(), None, 0);
    loop {
        let page = workers.list(after)?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.watched.id);
        seen += page.len();
        all.extend(page.into_iter().filter_map(known));
        if seen >= WORKERS_MAX {
            return Ok(all);
        }
    }
}

fn known(stored: StoredWorker) -> Option<KnownWorker> {
    let description = serde_json::from_str::<WorkerDescription>(&stored.description).ok()?;
    Some(KnownWorker {
        id: stored.watched.id.to_string(),
        offer: description.offer?,
        is_dead: stored.is_dead,
        silent_for: stored.silent_for,
    })
}

impl KnownWorker {
    /// The sessions that it has, or had when it died and that no other worker has taken yet.
    pub(crate) fn sessions(&self, store: &dyn Store) -> Result<Vec<HeldSession>, Failure> {
        let mut all = Vec::new();
        for project in &self.offer.projects {
            let held = submission::held(store, project, &self.id).map_err(Failure::Store)?;
            all.extend(
                held.into_iter().map(|record| HeldSession {
                    project: record.key.project,
                    name: record.key.name,
                }),
            );
        }
        Ok(all)
    }
}
