//! [`Session`]: one session from its beginning to its end, or from where it was cut off.
//!
//! ```text
//! session:start → [stage:start → [iteration:start → agent → iteration:complete | iteration:error]…
//!   → stage:complete]… → final delivery → session:stop → session:end
//! ```
//!
//! There is one way through. Every step asks the [`History`] first: what is recorded as complete is
//! taken from there, what was under way is done again with a higher attempt number, and the rest is
//! done for the first time. What announces an effect is journalled before it; the end of a turn and
//! the firing of its hooks are one commit, and so are the ends of stages.
//!
//! With a queue each piece of work is an execution around its iterations: `queue.rs`.
//!
//! Stages are in `stage.rs`, turns of agents in `turn.rs`, the end in `closing.rs`, and what a session
//! that a hook has started leaves in `leaving.rs`. Tasks that are completed meanwhile are in
//! `completing.rs` and `task_desk.rs`.

mod callers;
mod closing;
mod completing;
mod drive;
mod firing;
mod gate;
mod leaving;
mod queue;
mod spending;
mod stage;
mod task_desk;
mod turn;
mod watching;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use hookwright_engine::hook_set::HookSet;
use hookwright_engine::ports::memory::InMemoryMemory;
use hookwright_engine::ports::{Clock, EndRequest, Ports, Waits};
use hookwright_engine::secrets::Secrets;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Interest, Observer, Setup};
use hookwright_events::{EventName, PauseCause, RunEvent, RunEventKind, WorkItem};
use hookwright_process::MARKER;
use hookwright_store::{Fence, KeptTasks, Store, StoreError};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::changed_files::WorkTree;
use crate::children::{Children, Known};
use crate::desk::DeskPlace;
use crate::folder::{FolderError, SessionFolder};
use crate::history::History;
use crate::journal::SessionJournal;
use crate::lineage::Lineage;
use crate::pending_output::SharedOutput;
use crate::plan::{Plan, Reason};
use crate::record::SessionRecord;
use crate::sources::Sources;
use crate::task_firing::Part;
use drive::AgentsInUse;
pub use gate::Gate;
pub(crate) use spending::Spending;
use stage::Course;
use task_desk::{DeskParts, TaskDesk};

/// What a session shares with those that its hooks start.
#[derive(Clone)]
pub struct Around {
    /// Where sessions are kept.
    pub store: Arc<dyn Store>,
    /// The project root.
    pub root: PathBuf,
    /// The host's environment.
    pub environment: Environment,
    /// What only hooks that name it get.
    pub secrets: Secrets,
    /// Ids of hooks to skip.
    pub skip: Vec<String>,
    /// No hooks run.
    pub without_hooks: bool,
    /// Who is shown what happens.
    pub observers: Vec<Observer>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Asks people, for a session with this plan.
    pub waits: Arc<AskPeople>,
    /// The user's folder in which sessions can be reached while they run.
    pub state_folder: Option<PathBuf>,
    /// Keeps them from their next steps while it is closed.
    pub gate: Gate,
}

/// Who asks people for a session with a plan.
pub type AskPeople = dyn Fn(&Plan) -> Arc<dyn Waits> + Send + Sync;

/// What a session is made of.
pub struct Parts {
    /// What it will do.
    pub plan: Plan,
    /// The files behind the plan, to be kept.
    pub sources: Sources,
    /// Its folder.
    pub folder: SessionFolder,
    /// The lease under which it runs.
    pub fence: Fence,
    /// What lists tell of it.
    pub record: SessionRecord,
    /// That of its record in the store; a new session has none.
    pub version: Option<u64>,
    /// What is known of it from before.
    pub history: History,
    /// The sources are not those that it began with: they were read anew.
    pub reloaded: bool,
    /// What it shares with others.
    pub around: Around,
    /// By which it is asked to end early.
    pub interrupt: EndRequest,
    /// What it was started with, if a hook has started it.
    pub started: Option<Started>,
}

/// What a session is started with by a hook.
pub struct Started {
    pub(crate) inputs: Map<String, Value>,
    pub(crate) agent_dir: PathBuf,
    pub(crate) lineage: Lineage,
}

/// One session.
pub struct Session {
    plan: Plan,
    sources: Sources,
    folder: SessionFolder,
    journal: Arc<SessionJournal>,
    history: History,
    reloaded: bool,
    root: PathBuf,
    environment: Environment,
    secrets: Secrets,
    skip: Vec<String>,
    observers: Vec<Observer>,
    clock: Arc<dyn Clock>,
    /// What a hook has given it.
    inputs: Option<Map<String, Value>>,
    /// Where its agent works.
    agent_dir: PathBuf,
    /// The hooks that have started it, and the sessions above it.
    started_by: Vec<String>,
    gate: Gate,
    interrupt: CancellationToken,
    asked_to_end: EndRequest,
    ports: Ports,
    memory: Arc<InMemoryMemory>,
    firings: Arc<AtomicU64>,
    /// By stage, the session's own under `None`, and by the hooks that they have of it.
    engines: BTreeMap<(Option<usize>, Part), Engine>,
    work_tree: WorkTree,
    pending: SharedOutput,
    task_desk: Arc<TaskDesk>,
    desk: Option<DeskPlace>,
    last_decision: Option<String>,
    /// What the agent said last that it has done.
    last_summary: String,
    /// Iterations of all stages.
    iterations: u32,
    /// How the stage that ended last has come to its end.
    last_stage: Course,
    /// The piece of work that is being done.
    item: Option<WorkItem>,
    /// Times that the end was reached, and hooks might have had something left to say.
    deliveries: usize,
    /// What is known of its agents.
    in_use: AgentsInUse,
    name: String,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// `completed`, `failed`, `aborted`, `interrupted` or `paused`.
    pub status: &'static str,
    /// Why, in words.
    pub reason: String,
    /// Iterations of all stages.
    pub iterations: u32,
    /// It is paused because it has cost as much as it may.
    pub is_for_cost: bool,
}

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// What happens cannot be written down, so nothing more may happen.
    #[error("what happens cannot be written down: {0}")]
    Journal(#[from] StoreError),
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Why the way through is left early.
#[derive(Debug)]
enum Leave {
    /// A hook ended the session.
    Aborted(String),
    /// It went wrong.
    Failed(String),
    /// Somebody wants it to end.
    Interrupted,
    /// It cannot go on before a person has done something about it.
    Paused {
        /// What it waits for.
        cause: PauseCause,
        /// In words.
        reason: String,
    },
    /// Nothing may happen any more.
    Broken(SessionError),
}

impl From<StoreError> for Leave {
    fn from(error: StoreError) -> Self {
        Leave::Broken(error.into())
    }
}

impl From<FolderError> for Leave {
    fn from(error: FolderError) -> Self {
        Leave::Broken(error.into())
    }
}

/// An event's name out of the table.
fn known(name: &str) -> EventName {
    EventName::resolve(name).expect("it stands in the table")
}

impl Session {
    /// A session that is ready to run.
    pub fn new(parts: Parts) -> Self {
        let Parts { plan, sources, folder, record, version, mut history, around, .. } = parts;
        let name = folder.session().as_str().to_owned();
        let journal = Arc::new(SessionJournal::new(
            Arc::clone(&around.store),
            parts.fence,
            around.secrets.clone(),
            history.last,
            version,
            record,
        ));
        let memory = InMemoryMemory::with(&name, std::mem::take(&mut history.memory));
        let memory = Arc::new(memory);
        let (inputs, agent_dir, lineage) = match parts.started {
            Some(Started { inputs, agent_dir, lineage }) => (Some(inputs), agent_dir, lineage),
            None => (None, around.root.clone(), Lineage::default()),
        };
        let started_by = lineage.hooks();
        let in_use = AgentsInUse::new(&mut history);
        let known = Known { open: std::mem::take(&mut history.children), ..Known::default() };
        let children = Children {
            around: around.clone(),
            sources: sources.clone(),
            reloaded: parts.reloaded,
            plan: plan.name.clone(),
            folder: folder.clone(),
            journal: Arc::clone(&journal),
            lineage,
            known: Mutex::new(known),
            spending: in_use.spending.clone(),
        };
        let ports = Ports {
            journal: Arc::clone(&journal) as _,
            memory: Arc::clone(&memory) as _,
            clock: Arc::clone(&around.clock),
            waits: (around.waits)(&plan),
            pipelines: Arc::new(children),
        };
        let pending = SharedOutput::from(std::mem::take(&mut history.pending));
        let task_desk = TaskDesk::new(DeskParts {
            session: name.clone(),
            tasks: KeptTasks::new(Arc::clone(&around.store), journal.project()),
            journal: Arc::clone(&journal),
            pending: pending.clone(),
            interrupt: parts.interrupt.token().clone(),
            times: history.task_times(),
            aborted: history.aborted_by_task().map(str::to_owned),
            left: history.tasks_left(),
        });
        let state_folder = around.state_folder.as_deref();
        let desk = state_folder.map(|folder| DeskPlace::new(folder, journal.project(), &name));
        let last_decision = history.last_decision().map(str::to_owned);
        let firings = Arc::new(AtomicU64::new(history.firings));
        let work_tree = WorkTree::new(&around.root, around.environment.for_children());
        Self {
            plan,
            sources,
            folder,
            journal,
            history,
            reloaded: parts.reloaded,
            root: around.root,
            environment: around.environment,
            secrets: around.secrets,
            skip: around.skip,
            observers: around.observers,
            clock: around.clock,
            gate: around.gate,
            inputs,
            agent_dir,
            started_by,
            interrupt: parts.interrupt.token().clone(),
            asked_to_end: parts.interrupt,
            ports,
            memory,
            firings,
            engines: BTreeMap::new(),
            work_tree,
            pending,
            task_desk: Arc::new(task_desk),
            desk,
            last_decision,
            last_summary: String::new(),
            iterations: 0,
            last_stage: Course::default(),
            item: None,
            deliveries: 0,
            in_use,
            name,
        }
    }

    /// Where it is written down.
    pub fn journal(&self) -> &Arc<SessionJournal> {
        &self.journal
    }

    /// Runs it to its end. Meanwhile others may complete tasks.
    pub async fn run(mut self) -> Result<Ended, SessionError> {
        let task_desk = Arc::clone(&self.task_desk);
        self.stand(None, self.data_of_session(json!({})));
        let reception = self.open_desk();
        tokio::select! {
            biased;
            ended = self.go_to_its_end() => ended,
            never = task_desk.serve(reception) => match never {},
        }
    }

    async fn go_to_its_end(&mut self) -> Result<Ended, SessionError> {
        self.end_survivors().await;
        let left = self.work().await;
        let ended = self.close(left).await;
        match ended {
            Ok(ended) => Ok(ended),
            Err(Leave::Broken(error)) => Err(error),
            Err(Leave::Aborted(reason)) => Ok(self.ended("aborted", reason)),
            Err(Leave::Failed(reason)) => Ok(self.ended("failed", reason)),
            Err(Leave::Interrupted) => Ok(self.ended("interrupted", self.why_interrupted())),
            Err(Leave::Paused { reason, .. }) => Ok(self.ended("paused", reason)),
        }
    }

    fn ended(&self, status: &'static str, reason: String) -> Ended {
        let is_for_cost = status == "paused" && self.in_use.is_paused_for_cost;
        Ended { status, reason, iterations: self.iterations, is_for_cost }
    }

    /// Why somebody wants it to end.
    fn why_interrupted(&self) -> String {
        self.asked_to_end.why().unwrap_or("interrupted").to_owned()
    }

    /// All of the work; returns why it is enough.
    async fn work(&mut self) -> Result<&'static str, Leave> {
        self.folder.create()?;
        let begins = self.history.last == 0;
        let with = if begins {
            vec![RunEventKind::SessionStarted {
                plan: self.plan.name.clone(),
                stages: self.plan.stages.iter().map(|stage| stage.name.clone()).collect(),
                sources: serde_json::to_value(&self.sources).unwrap_or_default(),
            }]
        } else {
            let sources = serde_json::to_value(&self.sources).ok().filter(|_| self.reloaded);
            let time = self.history.resumes + 1;
            self.write(vec![RunEventKind::SessionResumed { time, sources }])?;
            self.take_up_background().await;
            self.take_up_tasks().await?;
            Vec::new()
        };
        // A session that has ended begins once more: its hooks at `session:end` have run. One that was
        // cut off just goes on.
        let source = if self.history.endings == 0 { "startup" } else { "resume" };
        let data = self.data_of_session(json!({ "source": source }));
        let key = format!("session:start/{}", self.history.endings);
        self.fire(None, "session:start", key, data, with).await?;
        let mut reason = Reason::Completed;
        for index in 0..self.plan.stages.len() {
            // Of several stages that reached a bound the last one counts.
            match self.stage(index).await? {
                Reason::Completed => {}
                bound => reason = bound,
            }
        }
        self.deliver().await?;
        self.ask_to_stop(reason).await?;
        self.deliver_the_rest().await?;
        Ok(reason.as_str())
    }

    /// What a dead run left running is ended before anything is started again.
    async fn end_survivors(&self) {
        let of_queue = self.run_of_queue_command().filter(|_| self.history.last > 0);
        for run_id in self.history.unfinished_runs().into_iter().chain(of_queue) {
            let grace = hookwright_engine::limits::KILL_GRACE;
            hookwright_process::end_run(&run_id, grace).await;
        }
    }

    /// Writes down what happens outside of firings, then shows it.
    fn write(&self, kinds: Vec<RunEventKind>) -> Result<(), StoreError> {
        let events: Vec<RunEvent> = kinds.into_iter().map(|kind| self.event(kind)).collect();
        self.journal.write(&events)?;
        events.iter().for_each(|event| self.show(event));
        Ok(())
    }

    fn show(&self, event: &RunEvent) {
        self.observers.iter().for_each(|observer| observer(event));
    }

    fn event(&self, kind: RunEventKind) -> RunEvent {
        RunEvent {
            version: hookwright_events::run_event::VERSION,
            firing: 0,
            at: self.clock.now(),
            session: Some(self.name.clone()),
            kind,
        }
    }

    /// The engine of a stage, or of the session itself.
    fn engine(&mut self, stage: Option<usize>) -> Engine {
        let known = self.engines.get(&(stage, Part::Whole)).cloned();
        known.unwrap_or_else(|| self.keep_engine(stage, Part::Whole, self.hooks_of(stage).clone()))
    }

    fn keep_engine(&mut self, stage: Option<usize>, part: Part, hooks: HookSet) -> Engine {
        let engine = self.new_engine(hooks);
        self.engines.insert((stage, part), engine.clone());
        engine
    }

    fn hooks_of(&self, stage: Option<usize>) -> &HookSet {
        stage.and_then(|index| self.plan.stages.get(index)).map_or(&self.plan.hooks, |it| &it.hooks)
    }

    fn new_engine(&self, hooks: HookSet) -> Engine {
        let engine = Engine::new(Setup {
            secrets: self.secrets.clone(),
            ports: self.ports.clone(),
            skip: self.skip.clone(),
            started_by: self.started_by.clone(),
            firings: Arc::clone(&self.firings),
            ..Setup::new(hooks, self.root.clone(), self.environment.clone())
        });
        for observer in &self.observers {
            engine.observe(Interest::Everything, Arc::clone(observer));
        }
        engine
    }

    /// The data that every event of the session has, and these.
    fn data_of_session(&self, more: Value) -> Map<String, Value> {
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut data = Map::new();
        data.insert("session".to_owned(), self.name.clone().into());
        data.insert("session_id".to_owned(), self.name.clone().into());
        data.insert("session_dir".to_owned(), path(self.folder.path().to_owned()).into());
        data.insert("transcript_path".to_owned(), "/dev/null".into());
        data.insert("progress".to_owned(), path(self.folder.progress()).into());
        data.insert("iteration".to_owned(), self.iterations.into());
        if let Some(decision) = &self.last_decision {
            data.insert("last_decision".to_owned(), decision.clone().into());
        }
        if let Value::Object(more) = more {
            data.extend(more);
        }
        data
    }

    /// A marker for a new turn, which everything that it starts carries.
    fn new_run_id(&self) -> String {
        use std::hash::{BuildHasher, Hasher};
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        format!("turn-{random:016x}")
    }

    fn outer_marker(&self) -> Option<&std::ffi::OsStr> {
        self.environment.get(MARKER)
    }
}

/// A session that is dropped before its end leaves nothing running: what its hooks do in the
/// background belongs to it.
impl Drop for Session {
    fn drop(&mut self) {
        self.interrupt_all();
    }
}
