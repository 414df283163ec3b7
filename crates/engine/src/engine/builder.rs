//! [`EngineBuilder`]: an engine from what a program has at hand: files, texts, functions, its
//! environment. [`Setup`] is the same for hosts that have read their files themselves.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_events::RunEvent;

use super::{Engine, Interest, Observer, Setup};
use crate::config::{ConfigFile, Dialect, Fault, FaultKind, Loaded, Place, SourceFile};
use crate::handed_over::Background;
use crate::hook::{Hook, HookBuilder, Layer, Source};
use crate::limits::HOOKS_MAX;
use crate::ports::Ports;
use crate::secrets::Secrets;
use crate::variables::Environment;

/// Puts an engine together. Begun by [`Engine::builder`].
///
/// The order of the calls does not matter, except among hooks of the same kind: those run in the
/// order in which they were given.
#[must_use = "an engine comes into being with `build`"]
pub struct EngineBuilder {
    root: PathBuf,
    environment: Environment,
    written: Vec<Written>,
    hooks: Vec<ProgramHook>,
    dialects: &'static [&'static dyn Dialect],
    secrets: Secrets,
    ports: Ports,
    skip: Vec<String>,
    observers: Vec<(Interest, Observer)>,
}

/// Something to read hooks from.
struct Written {
    file: ConfigFile,
    /// What stands in it; `None` for a file that is read.
    text: Option<String>,
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
    /// Files or functions that cannot be used: everything that is wrong with all of them.
    Faults {
        /// In the order in which they were given, files first.
        faults: Vec<Arc<Fault>>,
    },
}

impl EngineBuilder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            environment: Environment::default(),
            written: Vec::new(),
            hooks: Vec::new(),
            dialects: &[],
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

    /// Hooks of the project, from a file. It has to be there.
    pub fn file(self, path: impl AsRef<Path>) -> Self {
        self.file_of(Layer::Project, path)
    }

    /// Hooks of one kind from a file: those for all projects run first at points that can block.
    pub fn file_of(self, layer: Layer, path: impl AsRef<Path>) -> Self {
        self.written_file(layer, path.as_ref(), None)
    }

    /// Hooks of the project, from a file of another system, under that system's rules. The crate
    /// `hookwright-dialects` knows the systems: `hookwright_dialects::named("claude")`. Files of one
    /// system are read together, in the order in which they are given. What cannot be used of them is
    /// left out, and blocks where it could have blocked; [`Engine::left_out`] says what that is.
    pub fn dialect_file(self, dialect: &'static dyn Dialect, path: impl AsRef<Path>) -> Self {
        self.dialect_file_of(Layer::Project, dialect, path)
    }

    /// The same for hooks of one kind: [`Layer::Global`] is the user's file for all projects.
    pub fn dialect_file_of(
        self,
        layer: Layer,
        dialect: &'static dyn Dialect,
        path: impl AsRef<Path>,
    ) -> Self {
        self.written_file(layer, path.as_ref(), Some(dialect))
    }

    fn written_file(
        mut self,
        layer: Layer,
        path: &Path,
        dialect: Option<&'static dyn Dialect>,
    ) -> Self {
        // A file of the project is named as seen from its root.
        let path = self.root.join(path);
        let shown_as = path.strip_prefix(&self.root).unwrap_or(&path).to_owned();
        let file = ConfigFile::native(path, shown_as, layer).in_dialect(dialect);
        self.written.push(Written { file, text: None });
        self
    }

    /// The systems whose rules a native hook may name with `dialect:`, as a rule
    /// `hookwright_dialects::known()`. Without it a hook can name none.
    pub fn dialects(self, dialects: &'static [&'static dyn Dialect]) -> Self {
        Self { dialects, ..self }
    }

    /// Hooks of the project, from a text; messages and ids call it by this name.
    pub fn text(mut self, name: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let name = name.into();
        let file = ConfigFile::native(name.clone(), name, Layer::Project);
        self.written.push(Written { file, text: Some(text.into()) });
        self
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

    /// The engine, or everything that is wrong. A host that would rather go on with what could be
    /// read takes [`config::load`](crate::config::load) and [`Setup`]: there an entry with a fault
    /// blocks what it would have looked at.
    pub fn build(self) -> Result<Engine, BuildError> {
        if !self.root.is_absolute() {
            return Err(BuildError::RelativeRoot { root: self.root });
        }
        let mut loaded = Loaded::default();
        let known = self.dialects;
        let written =
            self.written.into_iter().map(|Written { file, text }| (file.knowing(known), text));
        loaded.add_all(&written.collect::<Vec<_>>(), &self.environment);
        let mut functions = Functions::default();
        for hook in self.hooks {
            functions.add(hook, &mut loaded);
        }
        if !loaded.faults.is_empty() {
            return Err(BuildError::Faults { faults: loaded.faults });
        }
        let Self { root, environment, secrets, ports, skip, observers, .. } = self;
        let (hooks, left_out, firings) = (loaded.hooks, loaded.left_out, Arc::default());
        let background = Background::Here;
        let setup = Setup::new(hooks, root, environment);
        let setup = Setup { secrets, ports, skip, background, firings, left_out, ..setup };
        let engine = Engine::new(setup);
        engine.shared.observers().extend(observers);
        Ok(engine)
    }
}

/// Adds functions' hooks to what the files had.
#[derive(Default)]
struct Functions {
    /// The line that each id stands in.
    lines: HashMap<String, u32>,
    /// The next number for a hook without an id, by event.
    numbers: HashMap<Arc<str>, usize>,
}

impl Functions {
    fn add(&mut self, hook: ProgramHook, loaded: &mut Loaded) {
        let hook = match hook {
            ProgramHook::Builder(hook) => self.named(hook),
            ProgramHook::Built(hook) => {
                let fault = |kind| fault_at(&hook.source, kind);
                let placed = self.place(Hook::clone(&hook), loaded);
                loaded.faults.extend(placed.err().map(fault).map(Arc::new));
                return;
            }
        };
        let faults = match hook.clone().build() {
            Err(faults) => faults,
            Ok(built) => match self.place(built, loaded) {
                Ok(()) => return,
                Err(kind) => vec![hook.fault(kind)],
            },
        };
        loaded.faults.extend(faults.into_iter().map(Arc::new));
    }

    fn named(&mut self, hook: HookBuilder) -> HookBuilder {
        let lines = &self.lines;
        let number = self.numbers.entry(Arc::clone(hook.event())).or_default();
        hook.named(number, |id| !lines.contains_key(id))
    }

    fn place(&mut self, hook: Hook, loaded: &mut Loaded) -> Result<(), FaultKind> {
        let (id, line) = (hook.id.clone(), hook.source.line);
        if let Some(first_line) = self.lines.insert(id.clone(), line) {
            return Err(FaultKind::DuplicateId { id, first_line });
        }
        let full = |_| FaultKind::TooManyHooks { hooks_max: HOOKS_MAX };
        loaded.hooks.add(hook).map_err(full)
    }
}

/// A fault that stands where a hook was built.
fn fault_at(source: &Source, kind: FaultKind) -> Fault {
    let file = SourceFile { path: source.file.to_path_buf(), text: "".into() };
    let place = Place { line: source.line, column: 1, range: 0..0 };
    Fault { source: file.into(), place: Some(place), kind }
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
                    if let Some(nearest) = fault.kind.nearest() {
                        write!(f, " (did you mean `{nearest}`?)")?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for BuildError {}
