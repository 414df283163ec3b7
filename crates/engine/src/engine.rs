//! [`Engine`]: an event goes in, a decision and reports come out.
//!
//! The engine runs the steps that `dispatch.rs` returns and reports what happened. Between events
//! it keeps only the hooks that run in the background; [`Engine::settle`] waits for them.

mod builder;
mod driver;
mod shared;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hookwright_events::{Decision, Event, FiringEvent, RunEvent, RunEventKind};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::actions::{ActionContext, Shells};
use crate::chain::Chain;
use crate::dispatch::{Dispatch, DispatchInput};
use crate::fired::Fired;
use crate::handed_over::{Background, HandedOver};
use crate::hook_set::HookSet;
use crate::past::{PastFiring, PastHook};
use crate::ports::{Fire, Keepsake, Ports, Promise, Remembered, StopBlocks};
use crate::secrets::Secrets;
use crate::slots::Slots;
use crate::variables::Environment;
pub use builder::{BuildError, EngineBuilder};
use driver::Driver;
pub(crate) use shared::EngineState;
use shared::Recording;

/// The parts of an engine. [`Engine::builder`] sets them step by step.
pub struct Setup {
    /// The configured hooks.
    pub hooks: HookSet,
    /// The project root, where commands run.
    pub root: PathBuf,
    /// The host's environment.
    pub environment: Environment,
    /// Values that hooks may use and that are redacted everywhere else.
    pub secrets: Secrets,
    /// The services that the host provides.
    pub ports: Ports,
    /// Ids of hooks to skip.
    pub skip: Vec<String>,
    /// Keys of the hooks that started this session, its parent session and so on: they do not start
    /// it again.
    pub started_by: Vec<String>,
    /// Where hooks run whose end nothing awaits.
    pub background: Background,
    /// The number of the last firing. Engines that write to one journal share it.
    pub firings: Arc<AtomicU64>,
}

impl Setup {
    /// These hooks, in this project, with this environment, and defaults for the rest.
    pub fn new(hooks: HookSet, root: PathBuf, environment: Environment) -> Self {
        Self {
            hooks,
            root,
            environment,
            secrets: Secrets::default(),
            ports: Ports::default(),
            skip: Vec::new(),
            started_by: Vec::new(),
            background: Background::Here,
            firings: Arc::default(),
        }
    }
}

/// Fires events and owns everything that they start. Clones share everything.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<EngineState>,
}

/// How one event is fired. The default suits a host that has no sessions and can ask people.
#[derive(Debug, Clone, Default)]
pub struct Firing {
    /// The session's name, under which the engine remembers things.
    pub session: Option<String>,
    /// The firings above this one; empty unless a hook of this engine fires.
    pub chain: Chain,
    /// No person can approve anything, so a question is denied.
    pub no_approver: bool,
    /// The host's name for this firing, to find it again in the journal.
    pub key: Option<String>,
    /// Run events that are journalled in one commit with the firing, before it.
    pub with: Vec<RunEventKind>,
    /// The key path to this firing from the resumable firing that contains it. A person's answer is
    /// found again by it after a crash.
    pub within: Option<String>,
    /// What the journal knows of this firing from before a crash. If set, the firing is resumed.
    pub past: Option<Box<PastFiring>>,
    /// Ids of hooks to leave out: they have already run at the same point.
    pub passed: Vec<String>,
    /// Ids of hooks that run again here, even with `once`.
    pub again: Vec<String>,
    /// The host rebuilds the event's data when it resumes the firing. The data are then journalled
    /// only if a hook matches, since that hook must read the same data again.
    pub remakes_data: bool,
    /// If no hook matches and nothing else has to be kept, the firing is not recorded: it had no
    /// effect. For hosts that fire many events to which few hooks listen.
    pub skips_unheard: bool,
    /// The host journals something else before it acts on the decision or waits for anything, so the
    /// end of the firing may be journalled with that ([`Journal::record_with_next`]). After a crash
    /// in between, the hooks that ended last count as interrupted.
    ///
    /// [`Journal::record_with_next`]: crate::ports::Journal::record_with_next
    pub ends_with_next: bool,
}

/// Receives run events, after the journal has them. It is called between the steps of a firing, so
/// it should be quick, must not block, and should not panic.
pub type Observer = Arc<dyn Fn(&RunEvent) + Send + Sync>;

/// Which run events an observer receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// All of them, including hooks' output while they run.
    Everything,
    /// All except live output, which is in the reports as well.
    NoOutput,
    /// The same without the ids of processes, which have to be read from the system for every hook.
    NoProcesses,
}

impl Interest {
    fn includes(self, kind: &RunEventKind) -> bool {
        match kind {
            RunEventKind::Firing(FiringEvent::HookOutput { .. }) => self == Self::Everything,
            RunEventKind::Firing(FiringEvent::HookRunning { .. }) => self != Self::NoProcesses,
            _ => true,
        }
    }
}

impl Engine {
    /// Builds an engine for the project in this folder, an absolute path. Commands run there.
    pub fn builder(root: impl AsRef<Path>) -> EngineBuilder {
        EngineBuilder::new(root.as_ref().to_owned())
    }

    /// An engine from its parts.
    pub fn new(setup: Setup) -> Self {
        let surroundings = ActionContext {
            root: setup.root,
            environment: Arc::new(setup.environment),
            secrets: setup.secrets,
            slots: Slots::default(),
            shells: Shells::default(),
            #[cfg(feature = "http")]
            requests: Slots::with_limit(crate::limits::REQUESTS_MAX),
            #[cfg(feature = "http")]
            sender: crate::http::Sender::default(),
        };
        Self {
            shared: Arc::new(EngineState {
                hooks: setup.hooks,
                skip: setup.skip.into(),
                started_by: setup.started_by.into(),
                ports: setup.ports,
                surroundings: Arc::new(surroundings),
                observers: Mutex::new(Vec::new()),
                firings: setup.firings,
                runs: AtomicU64::new(0),
                name: RandomState::new().build_hasher().finish(),
                interrupted: CancellationToken::new(),
                background_place: setup.background,
                handed_over: Mutex::default(),
                background: Mutex::default(),
                quiet: Notify::new(),
            }),
        }
    }

    /// Sends all further run events to `observer`.
    pub fn observe(&self, interest: Interest, observer: Observer) {
        self.shared.observers().push((interest, observer));
    }

    /// The configured hooks.
    pub fn hooks(&self) -> &HookSet {
        &self.shared.hooks
    }

    /// Fires an event and returns when its hooks have answered. Hooks that are not awaited
    /// continue; [`Engine::settle`] waits for them.
    ///
    /// It never fails: a failed hook is recorded in its report, and the decision says what follows.
    /// Dropping the future early ends the hooks that it waits for and starts no others; observers are
    /// shown that they ended, and the journal is not. Background hooks continue.
    pub async fn fire(&self, event: Event, mut firing: Firing) -> Fired {
        let shared = &self.shared;
        let mut hooks = shared.hooks.woken(&event);
        hooks.retain(|hook| !firing.passed.contains(&hook.id));
        let memory_of = session_of(&event, &firing);
        let mut remembered = shared.ports.memory.recall(&memory_of).await;
        for hook in hooks.iter().filter(|hook| firing.again.contains(&hook.id)) {
            let key = hook.key();
            remembered.once.retain(|once| *once != key);
        }
        let mut past = Vec::new();
        // An action that fires an event passes no late answers to the agent, and a resumed firing
        // has already passed on its own. In both cases the rest waits for the host's next firing.
        if firing.past.is_some() || firing.chain.depth() > 0 {
            for answer in std::mem::take(&mut remembered.late_answers) {
                let keepsake = Keepsake::LateAnswer { answer: Box::new(answer) };
                shared.ports.memory.keep(&memory_of, keepsake).await;
            }
        }
        if let Some(known) = &mut firing.past {
            known.forget_others(&hooks);
            remembered.late_answers = known.late_answers();
            if known.is_decided() {
                // Hooks added since then have no part in what was decided without them.
                hooks.retain(|hook| known.past_of_hook(hook) != PastHook::Unknown);
            }
            past = hooks.iter().map(|hook| known.past_of_hook(hook)).collect();
        }
        // Most events match no hook. Then there is nothing to do.
        if hooks.is_empty() && !self.needs_dispatch(&event, &firing, &remembered) {
            return Fired::of_nothing(event);
        }
        let number = match &firing.past {
            Some(known) => known.number,
            None => shared.firings.fetch_add(1, Ordering::Relaxed) + 1,
        };
        let stop_blocks = remembered.stop_blocks.count_for(StopBlocks::agent_of(&event));
        let event = Arc::new(self.complete(event, &firing, stop_blocks));
        let broken = shared.hooks.broken_for(&event).map(ToString::to_string).collect();
        let dispatch = Dispatch::new(DispatchInput {
            event: Arc::clone(&event),
            hooks,
            broken,
            skip: Arc::clone(&shared.skip),
            started_by: Arc::clone(&shared.started_by),
            remembered,
            chain: firing.chain.clone(),
            environment: Arc::clone(&shared.surroundings.environment),
            no_approver: firing.no_approver,
            is_watched: shared.is_watched(),
            chance: shared.chance(number),
            past,
            background: shared.background_place,
        });
        let driver = Driver::new(Arc::clone(shared), dispatch, &event, firing, memory_of, number);
        let mut underway = Underway { driver: Some(driver) };
        let driver = underway.driver.as_mut().expect("it was just put there");
        let decision = driver.until_decided().await;
        let reports = driver.reports();
        Fired { event, decision, reports }
    }

    /// The background hooks to start since the last call, in order; empty unless they run elsewhere
    /// ([`Background::Elsewhere`]).
    pub fn handed_over(&self) -> Vec<HandedOver> {
        std::mem::take(&mut *self.shared.handed_over())
    }

    /// Starts a hook that another engine handed over. That engine has already checked whether it
    /// runs. Returns the number of its firing in this engine; `None` if this engine does not have the
    /// hook. [`Engine::settle`] waits for it.
    pub async fn take_over(&self, handed: HandedOver) -> Option<u64> {
        let shared = &self.shared;
        let hook = shared.hooks.hooks().iter().find(|hook| handed.is(hook))?;
        let HandedOver { event, carried, session, chain, no_approver, .. } = handed;
        let event = Arc::new(event);
        let number = shared.firings.fetch_add(1, Ordering::Relaxed) + 1;
        let dispatch = Dispatch::new(DispatchInput {
            event: Arc::clone(&event),
            hooks: vec![Arc::clone(hook)],
            broken: Vec::new(),
            skip: Arc::default(),
            started_by: Arc::default(),
            remembered: Remembered { carried, ..Remembered::default() },
            chain: chain.clone(),
            environment: Arc::clone(&shared.surroundings.environment),
            no_approver,
            is_watched: shared.is_watched(),
            chance: shared.chance(number),
            past: vec![PastHook::Started],
            background: Background::Here,
        });
        let firing = Firing { chain, no_approver, ..Firing::default() };
        let driver = Driver::new(Arc::clone(shared), dispatch, &event, firing, session, number);
        let mut underway = Underway { driver: Some(driver) };
        underway.driver.as_mut().expect("it was just put there").until_decided().await;
        Some(number)
    }

    /// Ids of the hooks that run in the background.
    pub fn in_background(&self) -> Vec<String> {
        self.shared.background().hooks.values().cloned().collect()
    }

    /// Waits until everything that was started has ended. Each hook has a timeout, so this wait is
    /// bounded. The future may be dropped and the method called again.
    pub async fn settle(&self) {
        loop {
            let mut quiet = std::pin::pin!(self.shared.quiet.notified());
            // From here on no end is missed.
            quiet.as_mut().enable();
            if self.shared.background().firings == 0 {
                return;
            }
            quiet.await;
        }
    }

    /// Ends everything that runs, and starts nothing more: this engine is done. Firings return once
    /// their hooks have ended; a guard that had not answered blocks.
    pub fn interrupt(&self) {
        self.shared.interrupted.cancel();
    }

    /// Journals what an action is about to do.
    pub(crate) async fn record(
        &self,
        firing: u64,
        session: &str,
        kind: RunEventKind,
    ) -> std::io::Result<()> {
        let session = Some(session).filter(|name| !name.is_empty());
        self.shared.record(firing, session, vec![kind], Recording::Now).await
    }

    /// Whether an event that matches no hook has to be dispatched anyway.
    fn needs_dispatch(&self, event: &Event, firing: &Firing, remembered: &Remembered) -> bool {
        if remembered.concerns_every_firing() {
            return true;
        }
        if self.shared.hooks.broken_for(event).next().is_some() {
            return true;
        }
        let is_told = !firing.skips_unheard || !firing.with.is_empty() || firing.past.is_some();
        is_told && self.shared.is_watched()
    }

    /// Adds the fields that every hook may rely on.
    fn complete(&self, mut event: Event, firing: &Firing, stop_blocks: u32) -> Event {
        let is_stop = event.name.spec().is_some_and(|spec| spec.is_stop);
        // The name given for this firing overrides the one in the data.
        if let Some(session) = &firing.session {
            event.data.insert("session".to_owned(), session.as_str().into());
        }
        let mut fill = |field: &str, value: &dyn Fn() -> Option<Value>| {
            if event.data.get(field).is_none_or(Value::is_null)
                && let Some(value) = value()
            {
                event.data.insert(field.to_owned(), value);
            }
        };
        fill("cwd", &|| Some(self.shared.surroundings.root.to_string_lossy().into()));
        fill("timestamp", &|| Some(self.shared.ports.clock.now().into()));
        if is_stop {
            fill("stop_hook_active", &|| Some((stop_blocks > 0).into()));
        }
        event
    }
}

/// The name under which the engine remembers things.
fn session_of(event: &Event, firing: &Firing) -> String {
    let named = firing.session.as_deref().or_else(|| event.text("session"));
    named.or_else(|| event.text("session_id")).unwrap_or_default().to_owned()
}

impl Fire for Engine {
    fn fire(&self, event: Event, chain: Chain) -> Promise<'_, Decision> {
        Box::pin(async move {
            Engine::fire(self, event, Firing { chain, ..Firing::default() }).await.decision
        })
    }
}

/// A firing in progress. Once it is decided, or if its host drops it before, its background hooks
/// continue and are tracked.
struct Underway {
    driver: Option<Driver>,
}

impl Drop for Underway {
    fn drop(&mut self) {
        let Some(mut driver) = self.driver.take() else { return };
        driver.abandon();
        let left = driver.in_background();
        // Without a runtime nothing runs any more.
        let Ok(runtime) = Handle::try_current() else { return };
        if left.is_empty() {
            return;
        }
        let shared = Arc::clone(driver.shared());
        {
            let mut background = shared.background();
            background.firings += 1;
            let named = left.into_iter().map(|(hook, id)| ((driver.number(), hook), id));
            background.hooks.extend(named);
        }
        // Created outside the task: a runtime that shuts down may drop the task before its first
        // poll.
        let tracked = Tracked { shared, number: driver.number() };
        runtime.spawn(async move {
            driver.until_quiet().await;
            drop(tracked);
        });
    }
}

/// While it lives, counts a firing as one whose hooks still run.
struct Tracked {
    shared: Arc<EngineState>,
    number: u64,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let mut background = self.shared.background();
        background.firings -= 1;
        // No entry is left, unless the runtime ended first.
        let of_firing = (self.number, 0)..=(self.number, usize::MAX);
        let left: Vec<(u64, usize)> =
            background.hooks.range(of_firing).map(|(place, _)| *place).collect();
        left.iter().for_each(|place| drop(background.hooks.remove(place)));
        drop(background);
        self.shared.quiet.notify_waiters();
    }
}
