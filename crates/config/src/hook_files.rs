//! [`HookFiles`]: the files and texts that a program reads its hooks from.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;

use super::{ConfigFile, Dialect, Fault, KnownSystems, Loaded};

/// The files and texts that a program reads its hooks from. What it loads goes to
/// [`EngineBuilder::hooks`](hookwright_engine::EngineBuilder::hooks).
#[must_use = "the files are read by `load`"]
pub struct HookFiles {
    root: PathBuf,
    environment: Environment,
    /// Each with its text, unless that is still to be read.
    files: Vec<(ConfigFile, Option<String>)>,
    known: KnownSystems,
}

/// Files that cannot be used: everything that is wrong with all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultyFiles {
    /// The faults, in the order in which the files were given.
    pub faults: Vec<Arc<Fault>>,
}

impl HookFiles {
    /// No files yet, of the project in this folder.
    pub fn in_project(root: impl AsRef<Path>) -> Self {
        Self {
            root: root.as_ref().to_owned(),
            environment: Environment::default(),
            files: Vec::new(),
            known: KnownSystems::default(),
        }
    }

    /// The environment whose variables conditions may read, usually `std::env::vars_os()`: the
    /// library never reads it by itself.
    pub fn environment<N, V>(self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let all = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { environment: Environment::new(all), ..self }
    }

    /// Adds hooks of the project from a file, which has to exist.
    pub fn file(self, path: impl AsRef<Path>) -> Self {
        self.file_of(Layer::Project, path)
    }

    /// Adds hooks of a layer from a file. At events that can be blocked, hooks for all projects run
    /// first.
    pub fn file_of(self, layer: Layer, path: impl AsRef<Path>) -> Self {
        self.file_in(layer, path.as_ref(), None)
    }

    /// Adds hooks of the project from a file of another system, under that system's rules. The
    /// crate `hookwright-dialects` knows the systems: `hookwright_dialects::named("claude")`. Files
    /// of one system are read together, in the order in which they are given. What cannot be used
    /// of them is left out, and blocks at events that it could have blocked; [`Loaded::left_out`]
    /// lists it.
    pub fn dialect_file(self, dialect: &'static dyn Dialect, path: impl AsRef<Path>) -> Self {
        self.dialect_file_of(Layer::Project, dialect, path)
    }

    /// The same for hooks of a layer: [`Layer::Global`] is the user's file for all projects.
    pub fn dialect_file_of(
        self,
        layer: Layer,
        dialect: &'static dyn Dialect,
        path: impl AsRef<Path>,
    ) -> Self {
        self.file_in(layer, path.as_ref(), Some(dialect))
    }

    fn file_in(mut self, layer: Layer, path: &Path, dialect: Option<&'static dyn Dialect>) -> Self {
        // A file of the project is named as seen from its root.
        let path = self.root.join(path);
        let shown_as = path.strip_prefix(&self.root).unwrap_or(&path).to_owned();
        self.files.push((ConfigFile::native(path, shown_as, layer).in_dialect(dialect), None));
        self
    }

    /// The systems that a native hook may name with `dialect:` and `host:`, usually
    /// `hookwright_dialects::known()`. By default a hook can name none.
    pub fn dialects(self, known: KnownSystems) -> Self {
        Self { known, ..self }
    }

    /// Adds hooks of the project from a text. Messages and ids call it by this name.
    pub fn text(mut self, name: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let name = name.into();
        let file = ConfigFile::native(name.clone(), name, Layer::Project);
        self.files.push((file, Some(text.into())));
        self
    }

    /// The hooks, or all faults. A host that prefers to continue with the valid hooks uses
    /// [`load`](crate::load): with it, an invalid entry blocks what it would have checked.
    pub fn load(self) -> Result<Loaded, FaultyFiles> {
        let known = self.known;
        let files = self.files.into_iter().map(|(file, text)| (file.with_systems(known), text));
        let mut loaded = Loaded::default();
        loaded.add_all(&files.collect::<Vec<_>>(), &self.environment);
        if loaded.faults.is_empty() {
            Ok(loaded)
        } else {
            Err(FaultyFiles { faults: loaded.faults })
        }
    }
}

impl fmt::Display for FaultyFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            let line = if number > 0 { "\n" } else { "" };
            write!(f, "{line}{fault}")?;
            if let Some(nearest) = fault.kind.nearest() {
                write!(f, " (did you mean `{nearest}`?)")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for FaultyFiles {}
