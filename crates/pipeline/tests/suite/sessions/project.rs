//! A project with a session `s` of its file `pipeline.yaml`, or else `loop.yaml`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_agents::{Agent, AgentFactory, Turn, TurnEnd, TurnPorts};
use hookwright_config::ConfigFile;
use hookwright_engine::hook::Layer;
use hookwright_engine::ports::memory::ManualClock;
use hookwright_engine::ports::{Clock, EndRequest, Ports, Promise};
use hookwright_engine::variables::Environment;
use hookwright_engine::{Observer, Secrets};
use hookwright_events::{Output, ProcessOutcome, RunEvent};
use hookwright_pipeline::desk::Desks;
use hookwright_pipeline::folder::{SessionFolder, SessionName};
use hookwright_pipeline::history::History;
use hookwright_pipeline::lease;
use hookwright_pipeline::orders::Orders;
use hookwright_pipeline::plan::{Plan, PlanContext};
use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::session::{
    Around, Parts, PauseGate, Session, SessionError, SessionOutcome,
};
use hookwright_pipeline::sources::{Finder, RunRequest};
use hookwright_pipeline::store_calls::StoreCalls;
use hookwright_pipeline::work_keeper::WorkKeeper;
use hookwright_process::IgnoredSignals;
use hookwright_store::{Fence, JournalKey, Kind, RecordKey, Store, WatchedStore};
use serde_json::Value;

use super::forgetful::Forgetful;

/// A project.
pub(super) struct Project {
    root: PathBuf,
    /// Removes the root at the end, if the project made it.
    _folder: Option<tempfile::TempDir>,
    /// Makes what keeps the work of its next session.
    keeper: Option<MakesKeeper>,
    agents: AgentFactory,
    desks: Option<Arc<dyn Desks>>,
    observers: Vec<Observer>,
    store: Forgetful,
    /// Its sessions see their store as a remote one.
    is_store_remote: bool,
    clock: Option<Arc<dyn Clock>>,
    /// Asks its session to end.
    interrupt: EndRequest,
    orders: Orders,
}

/// Makes a keeper for the session with this folder and record.
type MakesKeeper = Box<dyn Fn(SessionFolder, &SessionRecord) -> Arc<WorkKeeper>>;

/// The result of its session.
pub(super) struct Told {
    pub(super) ended: SessionOutcome,
    /// All events of it and of those below it.
    pub(super) events: Vec<RunEvent>,
}

impl Project {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let project = Self::at(folder.path().to_owned());
        Self { _folder: Some(folder), ..project }
    }

    /// A project whose files are in this folder.
    pub(super) fn at(root: PathBuf) -> Self {
        // Children must not inherit ignored signals of the test process, as with nohup.
        IgnoredSignals::read().catch().expect("signals can be caught");
        let (agents, store) = (AgentFactory::default(), Forgetful::default());
        let (observers, interrupt) = (Vec::new(), EndRequest::default());
        let (is_store_remote, orders) = (false, Orders::default());
        Self {
            root,
            _folder: None,
            keeper: None,
            agents,
            desks: None,
            observers,
            store,
            is_store_remote,
            clock: None,
            interrupt,
            orders,
        }
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Uses this agent for agents with a script.
    pub(super) fn asking(mut self, agent: &(impl Agent + Clone + 'static)) -> Self {
        let agent = agent.clone();
        self.agents = self.agents.with("scripted", move |_| Ok(Arc::new(agent.clone())));
        self
    }

    /// From here on its sessions see their store as a remote one, and must not call it on their
    /// thread.
    pub(super) fn with_remote_store(mut self) -> Self {
        self.is_store_remote = true;
        self
    }

    /// Sends run events to this observer.
    pub(super) fn watched(mut self, observer: impl Fn(&RunEvent) + Send + Sync + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    /// From here on its session's work is kept.
    pub(super) fn keep_work(
        &mut self,
        keeper: impl Fn(SessionFolder, &SessionRecord) -> Arc<WorkKeeper> + 'static,
    ) {
        self.keeper = Some(Box::new(keeper));
    }

    /// Sets where callers reach its sessions.
    pub(super) fn set_desks(&mut self, desks: Arc<dyn Desks>) {
        self.desks = Some(desks);
    }

    /// From here on its sessions read the time from this clock.
    pub(super) fn set_clock(&mut self, clock: &Arc<ManualClock>) {
        self.clock = Some(Arc::clone(clock) as _);
    }

    /// Requests the end of its session.
    pub(super) fn interrupt(&self) -> EndRequest {
        self.interrupt.clone()
    }

    /// What its sessions may do.
    pub(super) fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// From here on its sessions have new orders, and no old request to end.
    pub(super) fn forget_orders(&mut self) {
        self.orders = Orders::default();
        self.interrupt = EndRequest::default();
        self.observers.clear();
    }

    /// The store of its sessions.
    pub(super) fn store(&self) -> &Forgetful {
        &self.store
    }

    /// Runs the session to its end.
    pub(super) async fn run(mut self) -> Told {
        let events = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&events);
        self.observers.push(Arc::new(move |event: &RunEvent| {
            told.lock().expect("no panic while it was held").push(event.clone());
        }));
        let ended = self.take_up().await.expect("it came to an end");
        let events = std::mem::take(&mut *events.lock().expect("no panic while it was held"));
        Told { ended, events }
    }

    /// Starts the session, or resumes it.
    pub(super) async fn take_up(&mut self) -> Result<SessionOutcome, SessionError> {
        let fence = lease::take(&*self.store, &lease::name_of(&self.workspace(), "s"));
        let fence = fence.expect("it is not running");
        let ended = self.session(fence.clone()).run().await;
        self.store.release(&fence.lease, fence.token).expect("it is held");
        ended
    }

    /// Starts the session, or resumes it, and kills it when `kill` is there.
    pub(super) async fn take_up_until(&mut self, kill: impl Future<Output = ()>) {
        let fence = lease::take(&*self.store, &lease::name_of(&self.workspace(), "s"));
        let fence = fence.expect("it is not running");
        tokio::select! {
            ended = self.session(fence.clone()).run() => panic!("it ended: {ended:?}"),
            () = kill => {}
        }
        self.store.release(&fence.lease, fence.token).expect("it is held");
    }

    /// A session's record for lists.
    pub(super) fn record(&self, name: &str) -> Option<(SessionRecord, u64)> {
        let key = RecordKey { project: self.workspace(), name: name.to_owned() };
        let kept = self.store.get(Kind::Session, &key).expect("it can be read")?;
        Some((serde_json::from_str(&kept.value).expect("as written"), kept.version))
    }

    /// The entries of the session's journal.
    pub(super) fn journal(&self) -> Vec<Value> {
        let journal = JournalKey { project: self.workspace(), session: "s".to_owned() };
        let entries = self.store.journal(&journal, 0, usize::MAX).expect("it can be read");
        entries.iter().map(|entry| serde_json::from_str(&entry.value).expect("JSON")).collect()
    }

    pub(super) fn workspace(&self) -> String {
        self.root.to_string_lossy().into_owned()
    }

    fn session(&mut self, fence: Fence) -> Session {
        let root = &*self.root;
        let environment =
            Environment::new([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
        let iteratr = root.join(".iteratr.hooks.yml");
        let hook_files: Vec<ConfigFile> = iteratr
            .exists()
            .then(|| ConfigFile {
                known: hookwright_dialects::known(),
                ..ConfigFile::native(&iteratr, ".iteratr.hooks.yml", Layer::Project)
                    .in_dialect(hookwright_dialects::named("iteratr").map(|it| it as _))
            })
            .into_iter()
            .collect();
        let finder = Finder {
            root,
            user_folder: None,
            hook_files: &hook_files,
            shown: &|path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned(),
            environment: &environment,
        };
        let from = root.to_owned();
        let is_pipeline = root.join("pipeline.yaml").exists();
        let file = if is_pipeline { "pipeline.yaml" } else { "loop.yaml" }.to_owned();
        let gathered = finder.gather(RunRequest { file, from, agent: None });
        assert_eq!(gathered.faults, []);
        let sources = gathered.sources.expect("it is there");
        let agents = &self.agents;
        let around = PlanContext { root, environment: &environment, connections: &[], agents };
        let plan = Plan::new(&sources, &around).unwrap_or_else(|faults| panic!("{faults:?}"));
        let clock = self.clock.clone();
        let clock = clock.unwrap_or_else(|| Arc::new(TokioClock(tokio::time::Instant::now())));
        let (name, workspace) = ("s".to_owned(), self.workspace());
        let folder = SessionFolder::new(root, name.parse::<SessionName>().expect("a name"));
        let (record, version, history) = match self.record(&name) {
            Some((record, version)) => {
                let journal = JournalKey { project: workspace, session: name };
                let history = History::read(&*self.store, &journal).expect("it is understood");
                (record, Some(version), history)
            }
            None => {
                let start_time = clock.now();
                let record =
                    SessionRecord { name, workspace, start_time, ..SessionRecord::default() };
                (record, None, History::default())
            }
        };
        let store = match self.is_store_remote {
            true => Arc::new(WatchedStore::new(self.store.shared()).remote()),
            false => self.store.shared(),
        };
        let around = Around {
            store: StoreCalls::new(store).expect("it has a thread"),
            root: root.to_owned(),
            environment,
            secrets: Secrets::default(),
            model_keys: &[],
            agents: self.agents.clone(),
            skip: Vec::new(),
            without_hooks: false,
            observers: self.observers.clone(),
            clock,
            waits: Arc::new(|_| Ports::default().waits),
            desks: self.desks.clone(),
            gate: PauseGate::default(),
            work: self.keeper.as_ref().map(|keeper| keeper(folder.clone(), &record)),
            orders: self.orders.clone(),
        };
        let interrupt = self.interrupt.clone();
        let new = Parts::new(plan, sources, folder, fence, record);
        Session::new(Parts { version, history, interrupt, ..new }, around)
    }
}

/// Tells the time of the runtime, which tests may stop.
struct TokioClock(tokio::time::Instant);

impl Clock for TokioClock {
    fn now(&self) -> String {
        let began = jiff::Timestamp::from_second(1_800_000_000).expect("a time");
        format!("{:.3}", began + self.0.elapsed())
    }
}

/// An agent that writes one of these as its status each time that it is asked.
#[derive(Clone)]
pub(super) struct Answers(Arc<Mutex<VecDeque<&'static str>>>);

impl Answers {
    pub(super) fn new(all: &[&'static str]) -> Self {
        Self(Arc::new(Mutex::new(all.iter().copied().collect())))
    }

    /// How many it was not asked for.
    pub(super) fn left(&self) -> usize {
        self.0.lock().expect("no panic while it was held").len()
    }
}

impl Agent for Answers {
    fn kind(&self) -> &'static str {
        "scripted"
    }

    fn run<'a>(&'a self, turn: &'a Turn, _: TurnPorts<'a>) -> Promise<'a, TurnEnd> {
        let answer = self.0.lock().expect("no panic while it was held").pop_front();
        std::fs::write(&turn.status_file, answer.expect("one is left")).expect("written");
        let outcome = ProcessOutcome::Exited { code: 0, output: Output::default() };
        Box::pin(std::future::ready(TurnEnd { outcome, took: Duration::ZERO, report: None }))
    }
}
