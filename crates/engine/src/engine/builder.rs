//! [`EngineBuilder`]: an engine from what a program has at hand: functions, hooks that were read from
//! files, its environment.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use hookwright_events::RunEvent;

use super::{Engine, Interest, Observer, Setup};
use crate::hook::{Hook, HookBuilder, HookFault, HookFaultKind, HookSource};
use crate::hook_set::HookSet;
use crate::ports::Ports;
use crate::secrets::Secrets;
use crate::variables::Environment;

/// Puts an engine together. Begun by [`Engine::builder`].
///
/// The order of the calls does not matter, except among hooks of the same kind: those run in the
/// order in which they were given.
#[must_use = "call `build` to get an engine"]
pub struct EngineBuilder {
    root: PathBuf,
    environment: Environment,
    read: HookSet,
    hooks: Vec<ProgramHook>,
    secrets: Secrets,
    ports: Ports,
    skip: Vec<String>,
    observers: Vec<(Interest, Observer)>,
}

/// A hook of the program itself.
enum ProgramHook {
    Builder(HookBuilder),
    Built(Box<Hook>),
}

/// Why there is no engine.
#[derive(Debug, Clone, PartialEq)]
pub enum BuildError {
    /// The project root is not a whole path, and where a program was started is not the engine's to
    /// know.
    RelativeRoot {
        /// The path.
        root: PathBuf,
    },
    /// Hooks of the program that cannot be used: everything that is wrong with all of them.
    Faults {
        /// In the order in which the hooks were given.
        faults: Vec<HookFault>,
    },
}

impl EngineBuilder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            environment: Environment::default(),
            read: HookSet::new(),
            hooks: Vec::new(),
            secrets: Secrets::default(),
            ports: Ports::default(),
            skip: Vec::new(),
            observers: Vec::new(),
        }
    }

    /// The environment that commands inherit and conditions look into, as a rule
    /// `std::env::vars_os()`. Without it there is none, and no shell is found: the library never
    /// looks by itself.
    pub fn environment<N, V>(self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let all = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { environment: Environment::new(all), ..self }
    }

    /// The hooks that were read from files, as a rule by `hookwright-config`.
    pub fn hooks(self, hooks: HookSet) -> Self {
        Self { read: hooks, ..self }
    }

    /// A hook whose action is a function of this program. These run before those of all files, in
    /// the order in which they are given.
    pub fn hook(mut self, hook: HookBuilder) -> Self {
        self.hooks.push(ProgramHook::Builder(hook));
        self
    }

    /// A hook that has been built elsewhere, such as a group of functions and commands:
    /// `.built_hook(group.into_hook("guard")?)`. Its place among the others is as with
    /// [`hook`](EngineBuilder::hook).
    pub fn built_hook(mut self, hook: Hook) -> Self {
        self.hooks.push(ProgramHook::Built(Box::new(hook)));
        self
    }

    /// What commands that name it get, and what is hidden in all that hooks print.
    pub fn secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// What the host lends the engine. Without it nothing is journalled, and sessions are remembered
    /// as long as the engine lives.
    pub fn ports(self, ports: Ports) -> Self {
        Self { ports, ..self }
    }

    /// Skips the hook with this id; its report says so.
    pub fn skip(mut self, id: impl Into<String>) -> Self {
        self.skip.push(id.into());
        self
    }

    /// Shows run events to a function, from the first on. It is called between the steps of a
    /// firing, so it should be quick, must not block, and should not panic; whoever needs time sends
    /// the event through a channel.
    pub fn observe(
        mut self,
        interest: Interest,
        observer: impl Fn(&RunEvent) + Send + Sync + 'static,
    ) -> Self {
        self.observers.push((interest, Arc::new(observer)));
        self
    }

    /// The engine, or everything that is wrong with the program's hooks.
    pub fn build(self) -> Result<Engine, BuildError> {
        if !self.root.is_absolute() {
            return Err(BuildError::RelativeRoot { root: self.root });
        }
        let mut functions = Functions { all: self.read, ..Functions::default() };
        for hook in self.hooks {
            functions.add(hook);
        }
        if !functions.faults.is_empty() {
            return Err(BuildError::Faults { faults: functions.faults });
        }
        let Self { root, environment, secrets, ports, skip, observers, .. } = self;
        let setup = Setup::new(functions.all, root, environment);
        let engine = Engine::new(Setup { secrets, ports, skip, ..setup });
        engine.shared.observers().extend(observers);
        Ok(engine)
    }
}

/// Adds functions' hooks to those that were read from files.
#[derive(Default)]
struct Functions {
    all: HookSet,
    faults: Vec<HookFault>,
    /// The line that each id stands in.
    lines: HashMap<String, u32>,
    /// The next number for a hook without an id, by event.
    numbers: HashMap<Arc<str>, usize>,
}

impl Functions {
    fn add(&mut self, hook: ProgramHook) {
        match hook {
            ProgramHook::Builder(hook) => {
                let hook = self.named(hook);
                match hook.clone().build() {
                    Err(faults) => self.faults.extend(faults),
                    Ok(built) => {
                        let placed = self.place(built);
                        self.faults.extend(placed.err().map(|kind| hook.fault(kind)));
                    }
                }
            }
            ProgramHook::Built(hook) => {
                let source = hook.source.clone();
                let placed = self.place(*hook);
                self.faults.extend(placed.err().map(|kind| fault_at(&source, kind)));
            }
        }
    }

    fn named(&mut self, hook: HookBuilder) -> HookBuilder {
        let lines = &self.lines;
        let number = self.numbers.entry(Arc::clone(hook.event())).or_default();
        hook.named(number, |id| !lines.contains_key(id))
    }

    fn place(&mut self, hook: Hook) -> Result<(), HookFaultKind> {
        let (id, line) = (hook.id.clone(), hook.source.line);
        if let Some(first_line) = self.lines.insert(id.clone(), line) {
            return Err(HookFaultKind::DuplicateId { id, first_line });
        }
        self.all.add(hook).map_err(|_| HookFaultKind::TooManyHooks)
    }
}

/// A fault that stands where a hook was built.
fn fault_at(source: &HookSource, kind: HookFaultKind) -> HookFault {
    HookFault { file: source.file.to_string_lossy().into(), line: source.line, column: 1, kind }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::RelativeRoot { root } => {
                write!(f, "the project root `{}` is not an absolute path", root.display())
            }
            BuildError::Faults { faults } => {
                for (number, fault) in faults.iter().enumerate() {
                    let line = if number > 0 { "\n" } else { "" };
                    write!(f, "{line}{fault}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for BuildError {}
