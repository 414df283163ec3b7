//! [`Registry`]: Code-Forge's hooks for a Rust program: those of its files, and those that the
//! program registers while it runs.
//!
//! The registry keeps hooks and finds those that match an event; the engine runs them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::Fault;
use hookwright_engine::hook::{Hook, HookSource, Layer};
use hookwright_engine::variables::Environment;
use hookwright_engine::{
    CHAIN_VARIABLE, Chain, Decision, Engine, Event, Fired, Firing, Full, HookSet, Setup, Status,
    Verdict,
};

use super::DEFAULT_TIMEOUT;
use super::entry::{Checked, Entry};
use super::files;
use super::hook_file::{self, SaveError};
use crate::Whereabouts;

/// Code-Forge's hooks for a program.
///
/// ```
/// use std::ffi::OsString;
///
/// use hookwright_dialects::code_forge::{Entry, AfterFailure, Registry, templates};
/// use hookwright_engine::{Event, serde_json::json};
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let mut registry = Registry::new(std::env::current_dir()?, std::env::vars_os());
///     registry.register(templates::block_sudo())?;
///     registry.register(Entry::new("tool:*", "true").timeout(2.5))?;
///
///     let call = json!({ "tool_name": "bash", "tool_input": { "command": "sudo reboot" } });
///     let event = Event::named("tool:pre_execute", call)?;
///     let results = registry.execute(&event, AfterFailure::Stop).await;
///     assert_eq!(results.len(), 1, "the first block ends the chain");
///     assert!(!results[0].should_continue());
///     assert_eq!(results[0].stdout, "Blocked: sudo commands not allowed\n");
///
///     assert!(registry.unregister("tool:*"));
///     assert!(!registry.unregister("tool:*"));
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Registry {
    root: PathBuf,
    environment: Environment,
    default_timeout: Duration,
    registered: Vec<Registered>,
    /// Index of each hook in `registered`, by id.
    places: HashMap<String, usize>,
    /// The same hooks, indexed by event.
    set: HookSet,
}

#[derive(Debug)]
struct Registered {
    entry: Entry,
    kept: KeptIn,
    hook: Hook,
}

/// Where a hook is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptIn {
    /// Not stored: it lasts until the session ends.
    ForTheSession,
    /// In the user's file.
    Globally,
    /// In the project's file.
    InTheProject,
}

/// What happens when a hook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// The following hooks do not run.
    Stop,
    /// The following hooks run.
    GoOn,
}

/// Why a hook was not registered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RegistrationError {
    /// The hook is unusable.
    #[error("{}", faults.iter().map(|fault| fault.kind.to_string()).collect::<Vec<_>>().join("; "))]
    Faults {
        /// All of its faults.
        faults: Vec<Fault>,
    },
    /// The registry is full.
    #[error(transparent)]
    Full(#[from] Full),
}

/// Result of one hook.
#[derive(Debug, Clone)]
pub struct HookResult {
    /// The hook.
    pub hook: Entry,
    /// Its exit code, if it exited by itself.
    pub exit_code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// How long it ran.
    pub duration: Duration,
    /// Whether it exceeded its timeout and was killed.
    pub timed_out: bool,
    /// Why it did not finish: command not found, timeout, signal.
    pub error: Option<String>,
    /// This hook's own decision: a block with its reason, rewritten input, contexts.
    pub decision: Decision,
}

impl HookResult {
    /// Whether it finished with exit code 0.
    pub fn success(&self) -> bool {
        self.exit_code == Some(0) && self.error.is_none()
    }

    /// Whether it did not block: a hook that cannot finish is logged and blocks nothing.
    pub fn should_continue(&self) -> bool {
        let objects = matches!(
            self.decision.verdict,
            Verdict::Block { .. } | Verdict::Stop { .. } | Verdict::Abort { .. }
        );
        !objects && (self.error.is_some() || self.exit_code == Some(0))
    }
}

impl Registry {
    /// An empty registry for the project in this folder. Commands inherit this environment, usually
    /// `std::env::vars_os()`.
    pub fn new<N, V>(
        root: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (N, V)>,
    ) -> Self
    where
        N: Into<std::ffi::OsString>,
        V: Into<std::ffi::OsString>,
    {
        let all = environment.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self {
            root: root.into(),
            environment: Environment::new(all),
            default_timeout: DEFAULT_TIMEOUT,
            registered: Vec::new(),
            places: HashMap::new(),
            set: HookSet::new(),
        }
    }

    /// Sets the timeout of hooks that do not set their own.
    pub fn set_default_timeout(&mut self, timeout: Duration) {
        self.default_timeout = timeout;
    }

    /// Appends a hook, until the session ends.
    pub fn register(&mut self, entry: Entry) -> Result<(), RegistrationError> {
        let checked = Checked::of_json(&entry.to_json());
        let checked = checked.map_err(|faults| RegistrationError::Faults { faults })?;
        Ok(self.add(checked, KeptIn::ForTheSession)?)
    }

    /// Registers the user's hooks, and returns the faults of skipped ones.
    pub fn load_global(&mut self, whereabouts: &Whereabouts<'_>) -> Result<Vec<Fault>, Full> {
        self.load(&files::of_user(whereabouts), KeptIn::Globally)
    }

    /// Registers the project's hooks, and returns the faults of skipped ones.
    pub fn load_project(&mut self, whereabouts: &Whereabouts<'_>) -> Result<Vec<Fault>, Full> {
        self.load(&files::of_project(whereabouts), KeptIn::InTheProject)
    }

    /// Registers the user's hooks, then the project's, and returns the faults of skipped ones.
    pub fn load_all(&mut self, whereabouts: &Whereabouts<'_>) -> Result<Vec<Fault>, Full> {
        let mut left_out = self.load_global(whereabouts)?;
        left_out.extend(self.load_project(whereabouts)?);
        Ok(left_out)
    }

    /// Saves the hooks that belong to the user's file. Returns the file.
    pub fn save_global(&self, whereabouts: &Whereabouts<'_>) -> Result<PathBuf, SaveError> {
        hook_file::save_global(whereabouts, &self.kept(KeptIn::Globally))
    }

    /// Saves the hooks that belong to the project's file. Returns the file.
    pub fn save_project(&self, whereabouts: &Whereabouts<'_>) -> Result<PathBuf, SaveError> {
        hook_file::save_project(whereabouts, &self.kept(KeptIn::InTheProject))
    }

    /// Changes where every hook with exactly this pattern is stored. Returns whether there was one.
    pub fn keep(&mut self, pattern: &str, kept: KeptIn) -> bool {
        let found = self.registered.iter_mut().filter(|one| one.entry.event == pattern);
        found.map(|one| one.kept = kept).count() > 0
    }

    /// Removes every hook with exactly this pattern. Returns whether there was one.
    pub fn unregister(&mut self, pattern: &str) -> bool {
        self.retain(|one| one.entry.event != pattern)
    }

    /// Removes the hooks that last for the session only.
    pub fn end_session(&mut self) {
        self.retain(|one| one.kept != KeptIn::ForTheSession);
    }

    /// Removes all hooks.
    pub fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Every hook, in the order of registration.
    pub fn hooks(&self) -> impl Iterator<Item = &Entry> {
        self.registered.iter().map(|one| &one.entry)
    }

    /// The hooks that this event matches, in running order.
    pub fn hooks_at(&self, event: &Event) -> Vec<&Entry> {
        self.woken(event).into_iter().map(|one| &one.entry).collect()
    }

    /// Runs the hooks that this event matches, one after the other. A failing hook is reported in
    /// its result, never as an error.
    pub async fn execute(&self, event: &Event, on_failure: AfterFailure) -> Vec<HookResult> {
        let mut results = Vec::new();
        for one in self.woken(event) {
            let result = self.run(one, event.clone()).await;
            let goes_on = result.should_continue() || on_failure == AfterFailure::GoOn;
            results.push(result);
            if !goes_on {
                break;
            }
        }
        results
    }

    fn woken(&self, event: &Event) -> Vec<&Registered> {
        let woken = self.set.woken(event).into_iter().filter(|hook| hook.enabled);
        woken.filter_map(|hook| self.registered.get(*self.places.get(&hook.id)?)).collect()
    }

    async fn run(&self, one: &Registered, event: Event) -> HookResult {
        let timeout = Some(one.entry.limit(Some(self.default_timeout)));
        let mut set = HookSet::new();
        set.add(Hook { timeout, ..one.hook.clone() }).expect("there is room for one");
        let engine = Engine::new(Setup::new(set, self.root.clone(), self.environment.clone()));
        let chain = self.environment.text(CHAIN_VARIABLE).map(Chain::from_text);
        let firing = Firing { chain: chain.unwrap_or_default(), ..Firing::default() };
        result_of(one.entry.clone(), engine.fire(event, firing).await)
    }

    fn load(&mut self, paths: &[PathBuf], kept: KeptIn) -> Result<Vec<Fault>, Full> {
        let (hooks, left_out) = hook_file::checked(paths);
        for checked in hooks {
            self.add(checked, kept)?;
        }
        Ok(left_out)
    }

    fn add(&mut self, checked: Checked, kept: KeptIn) -> Result<(), Full> {
        let entry = checked.entry.clone();
        let id = format!("registered/{}#{}", entry.event, self.registered.len());
        let here: Arc<Path> = Path::new("registry").into();
        let source = HookSource { file: Arc::clone(&here), path: here, line: 0 };
        let hook = checked.into_hook(id, source, Layer::Program);
        self.place(Registered { entry, kept, hook })
    }

    fn place(&mut self, one: Registered) -> Result<(), Full> {
        self.set.add(one.hook.clone())?;
        self.places.insert(one.hook.id.clone(), self.registered.len());
        self.registered.push(one);
        Ok(())
    }

    fn kept(&self, kept: KeptIn) -> Vec<Entry> {
        let those = self.registered.iter().filter(|one| one.kept == kept);
        those.map(|one| one.entry.clone()).collect()
    }

    /// Whether any was removed.
    fn retain(&mut self, stays: impl Fn(&Registered) -> bool) -> bool {
        let before = std::mem::take(&mut self.registered);
        let all = before.len();
        (self.places, self.set) = (HashMap::new(), HookSet::new());
        for mut one in before.into_iter().filter(stays) {
            // Renumbered, so that no later hook gets the same id.
            one.hook.id = format!("registered/{}#{}", one.entry.event, self.registered.len());
            // There are no more of them than before, so this cannot fail.
            let _ = self.place(one);
        }
        self.registered.len() < all
    }
}

fn result_of(hook: Entry, fired: Fired) -> HookResult {
    let decision = fired.decision;
    let report = fired.reports.into_iter().next().expect("the event wakes this hook");
    let is_missing = matches!(report.exit_code, None | Some(126 | 127));
    let failed = matches!(report.status, Status::Failed | Status::TimedOut | Status::Skipped);
    HookResult {
        hook,
        exit_code: report.exit_code,
        stdout: report.stdout,
        stderr: report.stderr,
        duration: Duration::from_secs_f64(report.duration_ms / 1000.0),
        timed_out: report.status == Status::TimedOut,
        error: report.reason.filter(|_| failed && is_missing),
        decision,
    }
}

#[cfg(test)]
mod tests;
