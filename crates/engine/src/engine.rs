//! [`Engine`]: an event goes in, a decision and reports come out.
//!
//! The engine runs the steps that `dispatch.rs` asks for and tells it what happened. It keeps
//! nothing between events but what still runs in the background; [`Engine::settle`] waits for that.

mod driver;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::{Decision, Event, Report, RunEvent, RunEventKind};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::actions::{Shells, Surroundings};
use crate::chain::Chain;
use crate::dispatch::{Dispatch, Given};
use crate::hook_set::HookSet;
use crate::ports::{Fire, Ports, Promise, Remembered};
use crate::slots::Slots;
use crate::variables::Environment;
use driver::Driver;

/// What an engine is made of.
pub struct Setup {
    /// The hooks.
    pub hooks: HookSet,
    /// The project root, where commands run.
    pub root: PathBuf,
    /// The host's environment.
    pub environment: Environment,
    /// What the host lends.
    pub ports: Ports,
    /// Ids of hooks to skip.
    pub skip: Vec<String>,
}

/// Fires events and owns whatever they start.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// How one event is fired.
#[derive(Debug, Clone, Default)]
pub struct Firing {
    /// The session's name, under which things are remembered.
    pub session: Option<String>,
    /// The firings above this one.
    pub chain: Chain,
}

/// What came of firing an event.
#[derive(Debug, Clone)]
pub struct Fired {
    /// The event as its hooks saw it.
    pub event: Arc<Event>,
    /// What the host must do.
    pub decision: Decision,
    /// The record of every hook that fitted, in the order in which they ran.
    pub reports: Vec<Report>,
}

impl Fired {
    fn of_nothing(event: Event) -> Self {
        Self { event: Arc::new(event), decision: Decision::default(), reports: Vec::new() }
    }

    /// The record that `fire --json` prints.
    pub fn record(&self) -> Value {
        self.decision.record(&self.event, &self.reports)
    }
}

/// Is shown every run event, after the journal has it.
pub type Observer = Arc<dyn Fn(&RunEvent) + Send + Sync>;

pub(crate) struct Shared {
    hooks: HookSet,
    skip: Arc<[String]>,
    ports: Ports,
    surroundings: Arc<Surroundings>,
    observers: Mutex<Vec<Observer>>,
    firings: AtomicU64,
    runs: AtomicU64,
    /// Tells this engine's runs from those of any other, in this program and elsewhere.
    name: u64,
    interrupted: CancellationToken,
    background: Mutex<Background>,
}

#[derive(Default)]
struct Background {
    firings: JoinSet<()>,
    /// Number of the firing and id of the hook.
    hooks: Vec<(u64, String)>,
}

impl Engine {
    /// An engine with everything it needs.
    pub fn new(setup: Setup) -> Self {
        let surroundings = Surroundings {
            root: setup.root,
            environment: Arc::new(setup.environment),
            slots: Slots::default(),
            shells: Shells::default(),
        };
        Self {
            shared: Arc::new(Shared {
                hooks: setup.hooks,
                skip: setup.skip.into(),
                ports: setup.ports,
                surroundings: Arc::new(surroundings),
                observers: Mutex::new(Vec::new()),
                firings: AtomicU64::new(0),
                runs: AtomicU64::new(0),
                name: RandomState::new().build_hasher().finish(),
                interrupted: CancellationToken::new(),
                background: Mutex::new(Background::default()),
            }),
        }
    }

    /// Shows every run event from now on to `observer`.
    pub fn observe(&self, observer: Observer) {
        self.shared.observers().push(observer);
    }

    /// The hooks.
    pub fn hooks(&self) -> &HookSet {
        &self.shared.hooks
    }

    /// Fires an event and returns when its hooks have answered. What was started without being
    /// awaited goes on; [`Engine::settle`] waits for it.
    pub async fn fire(&self, event: Event, firing: Firing) -> Fired {
        let shared = &self.shared;
        let hooks = shared.hooks.woken(&event);
        let memory_of = session_of(&event, &firing);
        let remembered = shared.ports.memory.recall(&memory_of).await;
        // Most events wake nothing. Then there is nothing to put together for anybody.
        if hooks.is_empty() && remembered == Remembered::default() && !self.concerns(&event) {
            return Fired::of_nothing(event);
        }
        let event = Arc::new(self.complete(event, &firing, remembered.stop_blocks));
        let broken = shared.hooks.broken_for(&event).map(ToString::to_string).collect();
        let dispatch = Dispatch::new(Given {
            event: Arc::clone(&event),
            hooks,
            broken,
            skip: Arc::clone(&shared.skip),
            remembered,
            chain: firing.chain.clone(),
            environment: Arc::clone(&shared.surroundings.environment),
            is_watched: shared.is_watched(),
        });
        let number = shared.firings.fetch_add(1, Ordering::Relaxed) + 1;
        let mut driver =
            Driver::new(Arc::clone(shared), dispatch, &event, firing, memory_of, number);
        let decision = driver.until_decided().await;
        let reports = driver.reports();
        let left = driver.in_background();
        if !left.is_empty() {
            let mut background = shared.background();
            background.hooks.extend(left.into_iter().map(|hook| (number, hook)));
            background.firings.spawn(driver.until_quiet());
        }
        Fired { event, decision, reports }
    }

    /// Ids of hooks that run although nothing waits for them.
    pub fn in_background(&self) -> Vec<String> {
        self.shared.background().hooks.iter().map(|(_, hook)| hook.clone()).collect()
    }

    /// Waits until everything that was started has ended. Each hook has its own timeout, so this
    /// comes to an end too.
    pub async fn settle(&self) {
        loop {
            let mut firings = std::mem::take(&mut self.shared.background().firings);
            if firings.is_empty() {
                return;
            }
            while firings.join_next().await.is_some() {}
        }
    }

    /// Ends everything that runs, and starts nothing more.
    pub fn interrupt(&self) {
        self.shared.interrupted.cancel();
    }

    /// Whether an event that wakes no hook has to be dispatched all the same.
    fn concerns(&self, event: &Event) -> bool {
        self.shared.is_watched() || self.shared.hooks.broken_for(event).next().is_some()
    }

    /// The event with the fields that every hook may rely on.
    fn complete(&self, mut event: Event, firing: &Firing, stop_blocks: u32) -> Event {
        let is_stop = matches!(event.name.as_str(), "session:stop" | "agent:stop");
        let mut fill = |field: &str, value: &dyn Fn() -> Option<Value>| {
            if !event.data.contains_key(field)
                && let Some(value) = value()
            {
                event.data.insert(field.to_owned(), value);
            }
        };
        fill("session", &|| firing.session.clone().map(Value::from));
        fill("cwd", &|| Some(self.shared.surroundings.root.to_string_lossy().into()));
        fill("timestamp", &|| Some(self.shared.ports.clock.now().into()));
        if is_stop {
            fill("stop_hook_active", &|| Some((stop_blocks > 0).into()));
        }
        event
    }
}

/// Under which name things are remembered.
fn session_of(event: &Event, firing: &Firing) -> String {
    let named = firing.session.as_deref().or_else(|| event.text("session"));
    named.or_else(|| event.text("session_id")).unwrap_or_default().to_owned()
}

impl Fire for Engine {
    fn fire(&self, event: Event, chain: Chain) -> Promise<'_, Decision> {
        Box::pin(async move {
            let session = None;
            Engine::fire(self, event, Firing { session, chain }).await.decision
        })
    }
}

impl Shared {
    fn observers(&self) -> MutexGuard<'_, Vec<Observer>> {
        self.observers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn background(&self) -> MutexGuard<'_, Background> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody reads run events.
    fn is_watched(&self) -> bool {
        self.ports.journal.keeps() || !self.observers().is_empty()
    }

    fn new_run_id(&self) -> String {
        format!("{:016x}-{}", self.name, self.runs.fetch_add(1, Ordering::Relaxed))
    }

    /// Writes a run event down, then shows it. The error is the journal's.
    async fn record(
        &self,
        firing: u64,
        session: Option<&str>,
        kind: RunEventKind,
    ) -> std::io::Result<()> {
        if !self.is_watched() {
            return Ok(());
        }
        let event = RunEvent {
            version: hookwright_events::run_event::VERSION,
            firing,
            at: self.ports.clock.now(),
            session: session.map(str::to_owned),
            kind,
        };
        if event.kind.is_journalled() {
            self.ports.journal.record(&event).await?;
        }
        let observers = self.observers().clone();
        for observer in observers {
            observer(&event);
        }
        Ok(())
    }
}
