//! [`Children`]: the sessions that hooks of a session start.
//!
//! A child is a session like any other: its own name, folder, journal, record and lease. Its name
//! follows from its parent's and its place among the children, and the parent's journal has it
//! before anything of the child begins. So a resumed parent finds the child that it had begun: if
//! that has ended, its output is read; otherwise it is resumed.
//!
//! What a child uses counts for its parent: `account.rs`.

mod account;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_engine::hook::SpawnDir;
use hookwright_engine::ports::{Child, ChildEnd, EndRequest, NotRun, Pipelines, Promise};
use hookwright_events::{FiringEvent, SessionEvent, SessionStatus, Usage};
use hookwright_process::{MARKER, faults};
use hookwright_store::{Fence, JournalKey, Kind, Record, RecordKey};
use serde_json::{Map, Value};

use crate::folder::{ChildOutput, FolderError, SessionFolder, SessionName};
use crate::history::{History, OpenChild};
use crate::lease::{self, LeaseError};
use crate::limits::CHILDREN_AT_ONE_PLACE_MAX;
use crate::lineage::{Lineage, ParentSession};
use crate::plan::{Plan, PlanContext};
use crate::record::{Metadata, Parent, SessionRecord};
use crate::session::{Around, Parts, Recorder, Session, SessionOutcome, Spending, Started};
use crate::session_id;
use crate::sources::{Sources, folder_of};
use crate::stored_session::stored_status;
use account::Account;

/// Starts and ends the child sessions of one session.
pub(crate) struct Children {
    /// The parent's.
    pub(crate) around: Around,
    /// The parent's sources, and whether they were read again.
    pub(crate) sources: Sources,
    pub(crate) reloaded: bool,
    pub(crate) plan: String,
    pub(crate) folder: SessionFolder,
    pub(crate) recorder: Recorder,
    pub(crate) lineage: Lineage,
    pub(crate) known: Mutex<KnownChildren>,
    /// What the parent has used.
    pub(crate) spending: Spending,
}

#[derive(Default)]
pub(crate) struct KnownChildren {
    /// Begun by an earlier process, and to be resumed: by firing and hook.
    pub(crate) open: HashMap<(u64, String), OpenChild>,
    /// Children of this process.
    pub(crate) names: HashSet<String>,
}

impl Pipelines for Children {
    fn start(&self, child: Child) -> Promise<'_, Result<ChildEnd, NotRun>> {
        Box::pin(self.run(child))
    }
}

/// The folder of a child, and what is known of it.
struct ChildPlace {
    name: SessionName,
    folder: SessionFolder,
    /// The stage of the parent that it counts for, from 1.
    stage: u32,
    /// What the parent knows of its usage.
    used: Usage,
}

impl Children {
    async fn run(&self, child: Child) -> Result<ChildEnd, NotRun> {
        let from = folder_of(&child.started_by.file);
        let sources = self
            .sources
            .of_child(&child.pipeline, from)
            .ok_or_else(|| never(format!("there is no loop or pipeline `{}`", child.pipeline)))?;
        let lineage = self.lineage.with(ParentSession {
            plan: self.plan.clone(),
            file: self.sources.all[0].path.clone(),
            hook: child.started_by.key.clone(),
        });
        if let Some(refusal) = lineage.refusal(&child.pipeline, &sources.all[0].path) {
            return Err(never(refusal));
        }
        let _place = match child.started_by.awaited {
            true => None,
            false => tokio::select! {
                place = lineage.place_in_background() => Some(place),
                () = child.end.token().cancelled() => return Err(never("it never began".into())),
            },
        };
        let place = self.place(&child).await?;
        let lease = lease::name_of(self.recorder.journal.project(), place.name.as_str());
        let taken = self.around.store.call(move |store| lease::take(store, &lease)).await;
        let fence = taken.map_err(|error| match error {
            LeaseError::Runs { holder } => {
                never(format!("process {} is running session {}", holder.pid, place.name))
            }
            LeaseError::Store(error) => never(error.to_string()),
        })?;
        let mut held =
            ChildLease { children: self, fence: &fence, recorder: None, end: child.end.clone() };
        let account = Arc::new(self.account(&child, &place));
        let known = self.record(&place.name).await?;
        if let Some(more) = known.as_ref().and_then(|known| used_in(known).since(place.used)) {
            account.add(more);
        }
        if let Some(known) = known.as_ref().filter(|known| has_ended(known)) {
            let record: SessionRecord = serde_json::from_str(&known.value).unwrap_or_default();
            let status = stored_status(&known.status);
            return Ok(place.child_end(status, &record.reason, record.iterations));
        }
        let history = match &known {
            Some(_) => self.history(&place.name).await?,
            None => History::default(),
        };
        let known = known.map(|known| (known, history));
        let parts = self.parts(&child, &place, sources, known, fence.clone(), lineage)?;
        let around = Around { observers: account.observers(), ..self.around_child(&child) };
        let session = Session::new(parts, around);
        held.recorder = Some(session.recorder().clone());
        faults::point("child session begins");
        let ended = session.run().await;
        faults::point("child session ended");
        held.recorder = None;
        let SessionOutcome { status, reason, iterations, .. } =
            ended.map_err(|error| never(error.to_string()))?;
        if status == SessionStatus::Paused {
            // A retry would wait in vain.
            return Err(never(in_words(&place.name, status, &reason, iterations)));
        }
        Ok(place.child_end(status, &reason, iterations))
    }

    /// The place of the child that this hook has begun in this firing, else a new one, which the
    /// parent's journal has before it is used.
    async fn place(&self, child: &Child) -> Result<ChildPlace, NotRun> {
        let by = &child.started_by;
        let begun = self.known().open.remove(&(by.firing, by.hook.clone()));
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let event: String = by.event.as_str().chars().map(plain).collect();
        for number in 1..=CHILDREN_AT_ONE_PLACE_MAX {
            let again = if number == 1 { String::new() } else { format!("-{number}") };
            let folder = format!("{event}-{}{again}", by.iteration);
            let name = self.folder.session().of_child(&folder);
            let folder = self.folder.of_child(&folder, name.clone());
            match &begun {
                Some(OpenChild { session, stage, used }) if session == name.as_str() => {
                    self.known().names.insert(session.clone());
                    return Ok(ChildPlace { name, folder, stage: *stage, used: *used });
                }
                Some(_) => {}
                None => {
                    // Before anything is awaited: another hook may look for a name too.
                    let is_free = self.known().names.insert(name.as_str().to_owned());
                    if !is_free || self.record(&name).await?.is_some() {
                        continue;
                    }
                    self.announce(child, &name).await?;
                    // Before the first stage it counts for that one.
                    let stage = self.recorder.journal.record().stage.max(1);
                    return Ok(ChildPlace { name, folder, stage, used: Usage::default() });
                }
            }
        }
        Err(never("all names for its session are taken".to_owned()))
    }

    fn known(&self) -> MutexGuard<'_, KnownChildren> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn announce(&self, child: &Child, name: &SessionName) -> Result<(), NotRun> {
        let spawned = FiringEvent::HookSpawned {
            hook: child.started_by.hook.clone(),
            session: name.as_str().to_owned(),
            pipeline: child.pipeline.clone(),
        };
        let entry = self.recorder.begin_entry(child.started_by.firing, spawned);
        self.recorder.written(entry).await.map_err(|error| {
            never(format!("its start could not be recorded in the journal: {error}"))
        })
    }

    fn account(&self, child: &Child, place: &ChildPlace) -> Account {
        Account {
            child: place.name.as_str().to_owned(),
            stage: place.stage,
            started_by: child.started_by.clone(),
            recorder: self.recorder.clone(),
            spending: self.spending.clone(),
        }
    }

    async fn record(&self, name: &SessionName) -> Result<Option<Record>, NotRun> {
        let key = RecordKey {
            project: self.recorder.journal.project().to_owned(),
            name: name.as_str().to_owned(),
        };
        let found = self.around.store.call(move |store| store.get(Kind::Session, &key)).await;
        found.map_err(|error| never(error.to_string()))
    }

    async fn history(&self, name: &SessionName) -> Result<History, NotRun> {
        let project = self.recorder.journal.project().to_owned();
        let key = JournalKey { project, session: name.as_str().to_owned() };
        let read = self.around.store.call(move |store| History::read(store, &key)).await;
        read.map_err(|error| never(error.to_string()))
    }

    /// What a child is started with or, if it is known, resumed with.
    fn parts(
        &self,
        child: &Child,
        place: &ChildPlace,
        mut sources: Sources,
        known: Option<(Record, History)>,
        fence: Fence,
        lineage: Lineage,
    ) -> Result<Parts, NotRun> {
        let (mut record, mut history) = (self.new_record(child, place), History::default());
        let version = known.as_ref().map(|(known, _)| known.version);
        if let Some((known, read)) = known {
            history = read;
            record = serde_json::from_str(&known.value).unwrap_or(record);
            place.name.as_str().clone_into(&mut record.name);
            record.iterations = history.iterations();
            record.hooks.clone_from(&history.hooks);
            if let Some(kept) = history.sources.take().filter(|_| !self.reloaded) {
                // Those of another worker's user may be kept with it.
                sources = kept.with_hooks_of_worker_in(&sources);
            }
        }
        let Around { root, environment, agents, without_hooks, .. } = &self.around;
        let around = PlanContext { root, environment, connections: &[], agents };
        let planned = Plan::alone(&sources, &around);
        let plan = planned.map_err(|faults| {
            let first = faults.first().map(ToString::to_string).unwrap_or_default();
            never(format!("`{}` cannot run: {first}", child.pipeline))
        })?;
        let plan = if *without_hooks { plan.without_hooks() } else { plan };
        let provider = plan.stages.first().map_or("", |stage| stage.first_agent());
        provider.clone_into(&mut record.provider);
        let inputs = place.inputs(child, history.last > 0);
        let agent_dir = match child.working_dir {
            SpawnDir::Project => self.around.root.clone(),
            SpawnDir::Session => place.folder.path().to_owned(),
        };
        let inputs = inputs.map_err(|error| never(error.to_string()))?;
        Ok(Parts {
            version,
            history,
            reloaded: self.reloaded,
            interrupt: child.end.clone(),
            started: Some(Started { inputs, agent_dir, lineage }),
            ..Parts::new(plan, sources, place.folder.clone(), fence, record)
        })
    }

    /// What a child shares with its parent. The hook's marker also finds everything that the child
    /// starts.
    fn around_child(&self, child: &Child) -> Around {
        let run_id = &child.started_by.run_id;
        let marker = match self.around.environment.text(MARKER).filter(|outer| !outer.is_empty()) {
            Some(outer) => format!("{outer}:{run_id}"),
            None => run_id.clone(),
        };
        let environment = self.around.environment.with(MARKER, marker);
        Around { environment, ..self.around.clone() }
    }

    fn new_record(&self, child: &Child, place: &ChildPlace) -> SessionRecord {
        let parent = self.recorder.journal.record();
        let start_time = self.around.clock.now();
        SessionRecord {
            id: session_id::generate(&start_time),
            name: place.name.as_str().to_owned(),
            start_time,
            workspace: parent.workspace,
            project: parent.project,
            command: "spawn".to_owned(),
            args: vec![child.pipeline.clone()],
            status: SessionStatus::Active,
            metadata: Metadata { total_duration: None, ..parent.metadata },
            parent: Some(Parent { session: parent.name, hook: child.started_by.hook.clone() }),
            folder: Some(self.folder.from_root(place.folder.path()).to_string_lossy().into_owned()),
            ..SessionRecord::default()
        }
    }
}

impl ChildPlace {
    /// The child's inputs. It keeps its first ones, even if its template has changed.
    fn inputs(&self, child: &Child, has_begun: bool) -> Result<Map<String, Value>, FolderError> {
        self.folder.create()?;
        if let Some(inputs) = self.folder.read_inputs()?.filter(|_| has_begun) {
            return Ok(inputs);
        }
        self.folder.write_inputs(&child.inputs)?;
        Ok(child.inputs.clone())
    }

    /// How the child ended, and its output.
    fn child_end(&self, status: SessionStatus, reason: &str, iterations: u32) -> ChildEnd {
        let output = match self.folder.read_child_output() {
            Ok(ChildOutput::Read(output)) => Some(output),
            Ok(ChildOutput::Missing | ChildOutput::Broken(_)) | Err(_) => None,
        };
        let what = in_words(&self.name, status, reason, iterations);
        ChildEnd { completed: status == SessionStatus::Completed, what, output }
    }
}

/// Whether it is finished. An interrupted or killed child is resumed.
fn has_ended(known: &Record) -> bool {
    match stored_status(&known.status) {
        SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Aborted => true,
        SessionStatus::Active
        | SessionStatus::Queued
        | SessionStatus::CutOff
        | SessionStatus::Interrupted
        | SessionStatus::Paused
        | SessionStatus::Deleting => false,
    }
}

/// What its agents, and those below it, have used so far.
fn used_in(known: &Record) -> Usage {
    let record: SessionRecord = serde_json::from_str(&known.value).unwrap_or_default();
    record.usage.unwrap_or_default().into()
}

fn in_words(name: &SessionName, status: SessionStatus, reason: &str, iterations: u32) -> String {
    let number = if iterations == 1 { "iteration" } else { "iterations" };
    match status {
        SessionStatus::Completed => format!("session {name} completed after {iterations} {number}"),
        status if reason.is_empty() || reason == status.as_str() => {
            format!("session {name} {status}")
        }
        status => format!("session {name} {status}: {reason}"),
    }
}

fn never(cause: String) -> NotRun {
    NotRun { cause, may_retry: false }
}

/// A child's lease. If the child is dropped before it has ended, this records its end.
struct ChildLease<'a> {
    children: &'a Children,
    fence: &'a Fence,
    /// The session's recorder, while it runs.
    recorder: Option<Recorder>,
    end: EndRequest,
}

impl Drop for ChildLease<'_> {
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let reason = self.end.why().unwrap_or("interrupted").to_owned();
            let status = SessionStatus::Interrupted;
            let ended = recorder.begin_entry(0, SessionEvent::SessionEnded { status, reason });
            recorder.show_once_written(ended);
        }
        let Fence { lease, token } = self.fence.clone();
        // A lease that cannot be released will soon belong to a dead process.
        drop(self.children.around.store.call(move |store| store.release(&lease, token)));
    }
}
