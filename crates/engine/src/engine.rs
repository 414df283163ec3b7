//! [`Engine`]: an event goes in, a decision and reports come out.
//!
//! The engine runs the steps that `dispatch.rs` asks for and tells it what happened. It keeps
//! nothing between events but what still runs in the background; [`Engine::settle`] waits for that.

mod builder;
mod driver;
mod shared;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hookwright_events::{Decision, Event, RunEvent, RunEventKind};
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

/// What an engine is made of. [`Engine::builder`] puts it together step by step.
pub struct Setup {
    /// The hooks.
    pub hooks: HookSet,
    /// The project root, where commands run.
    pub root: PathBuf,
    /// The host's environment.
    pub environment: Environment,
    /// What hooks may use and nobody may see.
    pub secrets: Secrets,
    /// What the host lends.
    pub ports: Ports,
    /// Ids of hooks to skip.
    pub skip: Vec<String>,
    /// Keys of the hooks that started this session, its parent's and so on: they do not start it again.
    pub started_by: Vec<String>,
    /// Where hooks run that nothing waits for.
    pub background: Background,
    /// The number of the last firing. Engines that write into one journal share it.
    pub firings: Arc<AtomicU64>,
}

impl Setup {
    /// These hooks, in this project, with this environment; nothing is kept, skipped or secret.
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

/// Fires events and owns whatever they start. A handle: clones share everything.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<EngineState>,
}

/// How one event is fired. The default will do for a host that has no sessions and can ask people.
#[derive(Debug, Clone, Default)]
pub struct Firing {
    /// The session's name, under which things are remembered.
    pub session: Option<String>,
    /// The firings above this one; empty unless a hook of this engine fires.
    pub chain: Chain,
    /// Nobody can be asked, so that whatever would have to be asked is denied.
    pub nobody_to_ask: bool,
    /// What its host calls this firing, to find it again in the journal.
    pub key: Option<String>,
    /// What is journalled together with the firing itself, before it: a crash cannot part them.
    pub with: Vec<RunEventKind>,
    /// The way to it from a firing that can be taken up again, where something that runs there fires
    /// it: by that a person's answer is found again after a crash.
    pub within: Option<String>,
    /// What is known of it from before a crash; then it is taken up again instead of begun.
    pub past: Option<Box<PastFiring>>,
    /// Ids of hooks that have no part in it: they have run at the same point before.
    pub passed: Vec<String>,
    /// Ids of hooks that run here once more, also with `once`.
    pub again: Vec<String>,
    /// The host makes the event's data anew when it takes the firing up again. Then they are journalled only
    /// where a hook is woken, which has to read the same again.
    pub remakes_data: bool,
}

/// Is shown run events, after the journal has them. It is called between the steps of a firing, so
/// it should be quick, must not block, and should not panic.
pub type Observer = Arc<dyn Fn(&RunEvent) + Send + Sync>;

/// Which run events an observer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// All of them, and hooks' output while it comes.
    Everything,
    /// All but output on its way, which is in the reports as well.
    NoOutput,
}

impl Engine {
    /// An engine for the project at this folder, an absolute path: commands run there.
    pub fn builder(root: impl AsRef<Path>) -> EngineBuilder {
        EngineBuilder::new(root.as_ref().to_owned())
    }

    /// An engine with everything it needs.
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
                elsewhere: setup.background,
                handed_over: Mutex::default(),
                background: Mutex::default(),
                quiet: Notify::new(),
            }),
        }
    }

    /// Shows run events from now on to `observer`.
    pub fn observe(&self, interest: Interest, observer: Observer) {
        self.shared.observers().push((interest, observer));
    }

    /// The hooks.
    pub fn hooks(&self) -> &HookSet {
        &self.shared.hooks
    }

    /// Fires an event and returns when its hooks have answered. What was started without being
    /// awaited goes on; [`Engine::settle`] waits for it.
    ///
    /// It never fails: a hook that does is news in its report, and what that leads to is in the
    /// decision. Dropping the future before it has ended ends the hooks that it waits for and starts
    /// no others; what runs in the background goes on.
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
        // An action that fires hands nothing on to the agent, and a firing that is taken up has
        // handed out what it had: for both the rest waits for the host's next firing.
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
                // Hooks that came later have no part in what was decided without them.
                hooks.retain(|hook| known.past_of_hook(hook) != PastHook::Unknown);
            }
            past = hooks.iter().map(|hook| known.past_of_hook(hook)).collect();
        }
        // Most events wake nothing. Then there is nothing to put together for anybody.
        if hooks.is_empty() && remembered == Remembered::default() && !self.concerns(&event) {
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
            nobody_to_ask: firing.nobody_to_ask,
            is_watched: shared.is_watched(),
            chance: shared.chance(number),
            past,
            background: shared.elsewhere,
        });
        let driver = Driver::new(Arc::clone(shared), dispatch, &event, firing, memory_of, number);
        let mut underway = Underway { driver: Some(driver) };
        let driver = underway.driver.as_mut().expect("it was just put there");
        let decision = driver.until_decided().await;
        let reports = driver.reports();
        Fired { event, decision, reports }
    }

    /// The hooks that were to start in the background since this was last asked, in that order; empty
    /// unless they run elsewhere ([`Background::Elsewhere`]).
    pub fn handed_over(&self) -> Vec<HandedOver> {
        std::mem::take(&mut *self.shared.handed_over())
    }

    /// Starts a hook that another engine has handed over, without judging it again: it was to run.
    /// Returns whether there is such a hook here. [`Engine::settle`] waits for it.
    pub async fn take_over(&self, handed: HandedOver) -> bool {
        let shared = &self.shared;
        let Some(hook) = shared.hooks.hooks().iter().find(|hook| handed.is(hook)) else {
            return false;
        };
        let HandedOver { event, carried, session, chain, nobody_to_ask, .. } = handed;
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
            nobody_to_ask,
            is_watched: shared.is_watched(),
            chance: shared.chance(number),
            past: vec![PastHook::Started],
            background: Background::Here,
        });
        let firing = Firing { chain, nobody_to_ask, ..Firing::default() };
        let driver = Driver::new(Arc::clone(shared), dispatch, &event, firing, session, number);
        let mut underway = Underway { driver: Some(driver) };
        underway.driver.as_mut().expect("it was just put there").until_decided().await;
        true
    }

    /// Ids of hooks that run although nothing waits for them.
    pub fn in_background(&self) -> Vec<String> {
        self.shared.background().hooks.values().cloned().collect()
    }

    /// Waits until everything that was started has ended. Each hook has its own timeout, so this
    /// comes to an end too. It may be dropped and called again.
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
    /// their hooks have been ended; a guard that had not answered blocks.
    pub fn interrupt(&self) {
        self.shared.interrupted.cancel();
    }

    /// Writes down what an action is about to do.
    pub(crate) async fn record(
        &self,
        firing: u64,
        session: &str,
        kind: RunEventKind,
    ) -> std::io::Result<()> {
        let session = Some(session).filter(|name| !name.is_empty());
        self.shared.record(firing, session, vec![kind]).await
    }

    /// Whether an event that wakes no hook has to be dispatched all the same.
    fn concerns(&self, event: &Event) -> bool {
        self.shared.is_watched() || self.shared.hooks.broken_for(event).next().is_some()
    }

    /// The event with the fields that every hook may rely on.
    fn complete(&self, mut event: Event, firing: &Firing, stop_blocks: u32) -> Event {
        let is_stop = event.name.spec().is_some_and(|spec| spec.is_stop);
        // A name that was given for this firing stands above what the data say.
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

/// Under which name things are remembered.
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

/// A firing on its way. When it has been decided, or when its host drops it before, what still runs
/// in the background goes on and is tracked.
struct Underway {
    driver: Option<Driver>,
}

impl Drop for Underway {
    fn drop(&mut self) {
        let Some(mut driver) = self.driver.take() else { return };
        driver.leave_alone();
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
        // Outside of the task: a runtime that ends may drop it before its first poll.
        let tracked = Tracked { shared, number: driver.number() };
        runtime.spawn(async move {
            driver.until_quiet().await;
            drop(tracked);
        });
    }
}

/// Counts a firing as one whose hooks still run, as long as it lives.
struct Tracked {
    shared: Arc<EngineState>,
    number: u64,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let mut background = self.shared.background();
        background.firings -= 1;
        // None is left, unless the runtime has ended before them.
        let of_firing = (self.number, 0)..=(self.number, usize::MAX);
        let left: Vec<(u64, usize)> =
            background.hooks.range(of_firing).map(|(place, _)| *place).collect();
        left.iter().for_each(|place| drop(background.hooks.remove(place)));
        drop(background);
        self.shared.quiet.notify_waiters();
    }
}
