//! [`Parts`]: the parts of a session, and how it is assembled.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use hookwright_agents::AgentFactory;
use hookwright_engine::ports::memory::InMemoryMemory;
use hookwright_engine::ports::{Clock, EndRequest, Ports, Waits};
use hookwright_engine::variables::Environment;
use hookwright_engine::{Observer, Secrets};
use hookwright_store::Fence;
use serde_json::{Map, Value};

use super::carried_journal::{CarriedJournal, OpenFirings};
use super::engines::Engines;
use super::gates::Questions;
use super::queue::IssueQueues;
use super::recorder::Recorder;
use super::stopwatch::Stopwatch;
use super::task_desk::TaskDesk;
use super::workplace::Workplace;
use super::{PauseGate, Session, Spending};
use crate::changed_files::WorkTree;
use crate::children::{Children, KnownChildren};
use crate::course::Course;
use crate::desk::Desks;
use crate::folder::SessionFolder;
use crate::history::History;
use crate::journal::SessionJournal;
use crate::lineage::Lineage;
use crate::orders::Orders;
use crate::pending_output::SharedOutput;
use crate::plan::Plan;
use crate::record::SessionRecord;
use crate::sources::Sources;
use crate::store_calls::StoreCalls;
use crate::work_keeper::WorkKeeper;

/// What a session shares with its child sessions.
#[derive(Clone)]
pub struct Around {
    /// The store of sessions.
    pub store: StoreCalls,
    /// The project root.
    pub root: PathBuf,
    /// The host's environment.
    pub environment: Environment,
    /// Secrets for hooks that name them.
    pub secrets: Secrets,
    /// Variables with the keys of models. If an agent of the session asks the model itself, hooks get
    /// one only if they name it, like a secret.
    pub model_keys: &'static [&'static str],
    /// Makes the drivers of agents.
    pub agents: AgentFactory,
    /// Ids of hooks to skip.
    pub skip: Vec<String>,
    /// Runs no hooks.
    pub without_hooks: bool,
    /// Receive the run events.
    pub observers: Vec<Observer>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Asks people, for a session with this plan.
    pub waits: Arc<AskPeople>,
    /// Where callers reach running sessions.
    pub desks: Option<Arc<dyn Desks>>,
    /// While closed, sessions wait before their next steps.
    pub gate: PauseGate,
    /// Keeps the work where other machines can continue it; `None` if only this one may.
    pub work: Option<Arc<WorkKeeper>>,
    /// What the sessions of this process may still do.
    pub orders: Orders,
}

/// Creates the port for asking people, for a session with a plan.
pub type AskPeople = dyn Fn(&Plan) -> Arc<dyn Waits> + Send + Sync;

/// The parts of a session, besides what it shares with others.
pub struct Parts {
    /// What it will do.
    pub plan: Plan,
    /// The files of the plan, to be stored.
    pub sources: Sources,
    /// The session's folder.
    pub folder: SessionFolder,
    /// The lease under which it runs.
    pub fence: Fence,
    /// The session's record for lists.
    pub record: SessionRecord,
    /// The version of its record in the store; `None` for a new session.
    pub version: Option<u64>,
    /// What is known of it from before.
    pub history: History,
    /// The sources were read again, and may differ from those it started with.
    pub reloaded: bool,
    /// Hooks whose questions ended it, and are not asked again.
    pub skip_gates: Vec<String>,
    /// Requests an early end.
    pub interrupt: EndRequest,
    /// Its inputs, if a hook has started it.
    pub started: Option<Started>,
}

impl Parts {
    /// The parts of a new session, which a person starts.
    pub fn new(
        plan: Plan,
        sources: Sources,
        folder: SessionFolder,
        fence: Fence,
        record: SessionRecord,
    ) -> Self {
        Self {
            plan,
            sources,
            folder,
            fence,
            record,
            version: None,
            history: History::default(),
            reloaded: false,
            skip_gates: Vec::new(),
            interrupt: EndRequest::default(),
            started: None,
        }
    }
}

/// The inputs of a session that a hook starts.
pub struct Started {
    pub(crate) inputs: Map<String, Value>,
    pub(crate) agent_dir: PathBuf,
    pub(crate) lineage: Lineage,
}

impl Session {
    /// A session that is ready to run.
    pub fn new(parts: Parts, around: Around) -> Self {
        let Parts { plan, sources, folder, record, version, mut history, .. } = parts;
        let name = folder.session().as_str().to_owned();
        let (secrets, environment_of_hooks) = match plan.has_host() {
            true => (
                around.secrets.with_variables(&around.environment, around.model_keys),
                around.environment.without(around.model_keys),
            ),
            false => (around.secrets.clone(), around.environment.clone()),
        };
        let journal = SessionJournal::new(
            around.store.clone(),
            parts.fence,
            secrets.clone(),
            history.last,
            version,
            record,
        );
        let memory = InMemoryMemory::with(&name, std::mem::take(&mut history.memory));
        let memory = Arc::new(memory);
        let is_child = parts.started.is_some();
        let (inputs, agent_dir, lineage) = match parts.started {
            Some(Started { inputs, agent_dir, lineage }) => (Some(inputs), agent_dir, lineage),
            None => (None, around.root.clone(), Lineage::default()),
        };
        let started_by = lineage.hooks();
        let spending = Spending::new(std::mem::take(&mut history.usage));
        let recorder = Recorder {
            session: name.clone(),
            journal: Arc::clone(&journal),
            observers: around.observers.clone(),
            clock: Arc::clone(&around.clock),
        };
        // The history keeps them too: processes that they left running are ended before the session
        // continues.
        let known = KnownChildren { open: history.children.clone(), ..KnownChildren::default() };
        let children = Children {
            around: around.clone(),
            sources: sources.clone(),
            reloaded: parts.reloaded,
            plan: plan.name.clone(),
            folder: folder.clone(),
            recorder: recorder.clone(),
            lineage,
            known: Mutex::new(known),
            spending: spending.clone(),
        };
        let interrupt = parts.interrupt.child();
        let carried = around.work.as_ref().map(|keeper| {
            Arc::new(CarriedJournal {
                recorder: recorder.clone(),
                keeper: Arc::clone(keeper),
                secrets: secrets.clone(),
                interrupt: interrupt.token().clone(),
                open: Mutex::new(OpenFirings::default()),
            })
        });
        let ports = Ports {
            journal: match &carried {
                Some(carried) => Arc::clone(carried) as _,
                None => Arc::clone(&journal) as _,
            },
            memory: Arc::clone(&memory) as _,
            clock: Arc::clone(&around.clock),
            waits: (around.waits)(&plan),
            pipelines: Arc::new(children),
        };
        let pending = SharedOutput::from(std::mem::take(&mut history.pending));
        let task_desk = TaskDesk::new(&name, &history, &journal, &pending, interrupt.token());
        let firings = Arc::new(AtomicU64::new(history.firings));
        let course = Course::new(&plan, history);
        let work_tree = WorkTree::new(&around.root, around.environment.for_agents());
        Self {
            plan: Arc::new(plan),
            sources,
            reloaded: parts.reloaded,
            course,
            folder: Arc::new(folder),
            recorder,
            engines: Engines {
                root: around.root.clone(),
                environment: environment_of_hooks,
                secrets: secrets.clone(),
                ports,
                skip: around.skip,
                started_by,
                firings,
                observers: around.observers,
                made: BTreeMap::new(),
            },
            workplace: Workplace {
                root: around.root,
                agent_dir,
                environment: around.environment,
                secrets,
                inputs,
                work_tree,
            },
            memory,
            pending,
            gate: around.gate,
            interrupt,
            orders: around.orders,
            questions: Questions { skipped: parts.skip_gates, ended_by: None },
            task_desk: Arc::new(task_desk),
            desks: around.desks,
            desk_at: None,
            turn: None,
            queues: IssueQueues::default(),
            spending,
            stopwatch: Stopwatch::start(),
            carried,
            is_child,
        }
    }
}
