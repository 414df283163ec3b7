//! [`ConfigFile`]: a file to read, and the format it has.

use std::path::PathBuf;

use hookwright_engine::hook::Layer;

use super::{Dialect, KnownSystems};

/// A file to read, and its format.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// The path to open.
    pub path: PathBuf,
    /// The path in messages and reports.
    pub shown_as: PathBuf,
    /// Whose hooks it contains.
    pub layer: Layer,
    /// Its format; `None` is the native one.
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
    pub fn with_systems(self, known: KnownSystems) -> Self {
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
