//! Continues a session whose lease this process holds: for `resume`, and for the process in which a
//! worker runs a session. A session that has not begun is begun.

use std::sync::Arc;

use hookwright_pipeline::folder::{SessionFolder, SessionName};
use hookwright_pipeline::history::History;
use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::session::Parts;
use hookwright_store::{Fence, JournalKey, Record, Store};

use crate::error::{Failure, SessionFailure};
use crate::runner::{self, Prepared, ProjectRunner};
use crate::screen::Screen;
use crate::session_options::SessionOptions;

/// A session to continue.
pub(crate) struct Resumption {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) fence: Fence,
    /// Its record, read under the lease.
    pub(crate) known: Record,
    /// Reads the configuration files again.
    pub(crate) reload: bool,
    /// Hooks whose questions ended it, and that are not asked again.
    pub(crate) skip_gates: Vec<String>,
    /// The worker that runs it, by its id.
    pub(crate) worker: Option<String>,
}

/// The record of a stored session.
pub(crate) fn record_of(stored: &Record) -> SessionRecord {
    let mut record: SessionRecord = serde_json::from_str(&stored.value).unwrap_or_default();
    record.set_project(stored.key.project.clone());
    record.name.clone_from(&stored.key.name);
    if record.id.is_empty() {
        record.id.clone_from(&record.name);
    }
    record
}

impl Resumption {
    /// Continues the session in this project, to its end.
    pub(crate) fn run(
        self,
        place: &ProjectRunner,
        how: &SessionOptions,
        screen: &Screen,
    ) -> Result<u8, Failure> {
        let Self { store, fence, known, reload, skip_gates, worker } = self;
        let name = known.key.name.parse::<SessionName>().map_err(SessionFailure::Name)?;
        let journal =
            JournalKey { project: known.key.project.clone(), session: known.key.name.clone() };
        let history = History::read(&*store, &journal).map_err(SessionFailure::History)?;
        let mut record = record_of(&known);
        record.iterations = history.iterations();
        record.hooks.clone_from(&history.hooks);
        record.usage = history.usage().map(Into::into);
        record.usage_of_children = history.usage_of_children().map(Into::into);
        if let Some(submission) = &mut record.submission {
            submission.worker.clone_from(&worker);
            submission.skip_gates.clear();
        }
        let kept = history.sources.clone();
        let kept = kept.ok_or_else(|| SessionFailure::NothingKept { name: record.name.clone() })?;
        let prepared = match (reload, &worker) {
            (true, _) => place.prepare(kept.asked)?,
            // The guards of this machine's user stay in force, whatever was submitted.
            (false, Some(_)) => {
                let (sources, faults) = place.with_hooks_of_user(kept);
                place.plan(sources, faults)
            }
            (false, None) => place.plan(kept, Vec::new()),
        };
        let Prepared { sources, plan, secrets } = match prepared {
            Ok(prepared) => prepared,
            Err(faults) => return Ok(runner::show_faults(&faults, screen)),
        };
        runner::warn_of_unknown_skips(&how.switches, &plan, screen);
        let folder = SessionFolder::new(&place.found.project_root, name);
        let parts = Parts {
            version: Some(known.version),
            history,
            reloaded: reload,
            skip_gates,
            ..Parts::new(plan, sources, folder, fence, record)
        };
        place.go(parts, secrets, store, how, screen)
    }
}
