//! [`ConfigFile`]: which file is read, and as what.

use std::path::PathBuf;

use hookwright_engine::hook::Layer;

use super::{Dialect, KnownSystems};

/// A file to read, and which kind of file it is.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// How messages and reports name it.
    pub shown_as: PathBuf,
    /// Whose hooks it holds.
    pub layer: Layer,
    /// Whose format it has; `None` is the native one.
    pub dialect: Option<&'static dyn Dialect>,
    /// The systems that its hooks may name.
    pub known: KnownSystems,
}

impl ConfigFile {
    /// A native file whose hooks name no other system.
    pub fn native(path: impl Into<PathBuf>, shown_as: impl Into<PathBuf>, layer: Layer) -> Self {
        let (path, shown_as) = (path.into(), shown_as.into());
        Self { path, shown_as, layer, dialect: None, known: KnownSystems::default() }
    }

    /// The same file in a dialect's format.
    #[must_use]
    pub fn in_dialect(self, dialect: Option<&'static dyn Dialect>) -> Self {
        Self { dialect, ..self }
    }

    /// The same file, whose hooks may name these systems.
    #[must_use]
    pub fn knowing(self, known: KnownSystems) -> Self {
        Self { known, ..self }
    }
}

impl PartialEq for ConfigFile {
    fn eq(&self, other: &Self) -> bool {
        let name = |file: &Self| file.dialect.map(|dialect| dialect.name());
        (&self.path, &self.shown_as, self.layer, name(self))
            == (&other.path, &other.shown_as, other.layer, name(other))
    }
}

impl Eq for ConfigFile {}
