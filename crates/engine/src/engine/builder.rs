//! [`EngineBuilder`]: builds an engine from functions, hooks read from files, and an environment.

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

/// Builds an engine. Created by [`Engine::builder`].
///
/// The order of the calls does not matter, except among hooks of the same kind: those run in the
/// order in which they were added.
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

/// A hook of the embedding program.
enum ProgramHook {
    Builder(HookBuilder),
    Built(Box<Hook>),
}

/// Why an engine could not be built.
#[derive(Debug, Clone, PartialEq)]
pub enum BuildError {
    /// The project root is a relative path. The engine does not know where the program was started.
    RelativeRoot {
        /// The given path.
        root: PathBuf,
    },
    /// The program's hooks are invalid. Lists all faults of all hooks.
    Faults {
        /// The faults, in the order in which the hooks were added.
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

    /// The environment that commands inherit and conditions read, usually `std::env::vars_os()`.
    /// The default is an empty one, in which no shell is found: the library never reads the
    /// process's environment.
    pub fn environment<N, V>(self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let all = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { environment: Environment::new(all), ..self }
    }

    /// The hooks read from files, usually by `hookwright-config`.
    pub fn hooks(self, hooks: HookSet) -> Self {
        Self { read: hooks, ..self }
    }

    /// Adds a hook whose action is a function of this program. Such hooks run before those of all
    /// files, in the order in which they were added.
    pub fn hook(mut self, hook: HookBuilder) -> Self {
        self.hooks.push(ProgramHook::Builder(hook));
        self
    }

    /// Adds a hook that was built elsewhere, such as a group of functions and commands:
    /// `.built_hook(group.into_hook("guard")?)`. It runs in the same order as hooks added by
    /// [`hook`](EngineBuilder::hook).
    pub fn built_hook(mut self, hook: Hook) -> Self {
        self.hooks.push(ProgramHook::Built(Box::new(hook)));
        self
    }

    /// The secrets for commands that name them. They are redacted in everything that hooks print.
    pub fn secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// The services that the host provides. By default nothing is journalled, and sessions are
    /// remembered as long as the engine lives.
    pub fn ports(self, ports: Ports) -> Self {
        Self { ports, ..self }
    }

    /// Skips the hook with this id; its report says so.
    pub fn skip(mut self, id: impl Into<String>) -> Self {
        self.skip.push(id.into());
        self
    }

    /// Sends run events to a function, from the first one on. The function is called between the
    /// steps of a firing, so it should be quick, must not block, and should not panic. Use a
    /// channel for slow work.
    pub fn observe(
        mut self,
        interest: Interest,
        observer: impl Fn(&RunEvent) + Send + Sync + 'static,
    ) -> Self {
        self.observers.push((interest, Arc::new(observer)));
        self
    }

    /// Builds the engine, or returns all faults of the program's hooks.
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

/// Adds the program's hooks to those read from files.
#[derive(Default)]
struct Functions {
    all: HookSet,
    faults: Vec<HookFault>,
    /// The line of each id.
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

/// A fault at the place where a hook was built.
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
