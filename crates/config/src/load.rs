//! Reads and checks files: native ones one by one, those of a dialect together.

use std::path::Path;
use std::sync::Arc;

use hookwright_engine::variables::Environment;

use super::warning::Warnings;
use super::{ConfigFile, Dialect, Fault, ForeignFile, Loaded, ReadFile, SourceFile, Warning};
use super::{Scope, file, top_level};

/// Reads and checks all files.
pub fn load(files: &[ConfigFile], environment: &Environment) -> Loaded {
    let mut loaded = Loaded::default();
    read_all(files, environment, &mut loaded);
    loaded
}

/// Checks files that have been read before.
pub fn load_read<'a>(
    files: impl IntoIterator<Item = &'a ReadFile>,
    environment: &Environment,
) -> Loaded {
    let mut loaded = Loaded::default();
    let texts = files.into_iter().map(|read| (&read.file, read.source.clone()));
    loaded.read_all(texts.collect(), environment, Scope::All);
    loaded
}

/// Reads and checks all files, and looks for likely mistakes in their commands. That costs more
/// than reading, so only `check` does it. `root` is the project root, to which the paths that
/// commands get are relative.
pub fn check(
    files: &[ConfigFile],
    root: &Path,
    environment: &Environment,
) -> (Loaded, Vec<Warning>) {
    let mut loaded = Loaded { warnings: Some(Warnings::below(root)), ..Loaded::default() };
    read_all(files, environment, &mut loaded);
    let warnings = loaded.warnings.take().unwrap_or_default();
    (loaded, warnings.found)
}

fn read_all(files: &[ConfigFile], environment: &Environment, loaded: &mut Loaded) {
    let texts = files.iter().map(|file| (file, file::read(file)));
    loaded.read_all(texts.collect(), environment, Scope::All);
}

/// Reads and checks texts as if they were in these files.
pub fn load_texts<'a>(
    files: impl IntoIterator<Item = (&'a ConfigFile, &'a str)>,
    environment: &Environment,
    scope: Scope<'_>,
) -> Loaded {
    let mut loaded = Loaded::default();
    let source = |file: &ConfigFile, text: &str| {
        Arc::new(SourceFile { path: file.shown_as.clone(), text: text.into() })
    };
    let texts = files.into_iter().map(|(file, text)| (file, Ok(source(file, text))));
    loaded.read_all(texts.collect(), environment, scope);
    loaded
}

/// Reads and checks a text as if it were in a file of that name.
pub fn load_text(text: &str, file: &ConfigFile, environment: &Environment) -> Loaded {
    load_texts([(file, text)], environment, Scope::All)
}

/// A file's text, or the fault of the whole file.
pub fn read_text(file: &ConfigFile) -> Result<String, Fault> {
    file::read(file).map(|source| source.text.to_string())
}

/// The same for a text, as [`check`] does for files.
pub fn check_text(
    text: &str,
    file: &ConfigFile,
    environment: &Environment,
) -> (Loaded, Vec<Warning>) {
    let mut loaded = Loaded { warnings: Some(Warnings::default()), ..Loaded::default() };
    loaded.add_text(text, file, environment);
    let warnings = loaded.warnings.take().unwrap_or_default();
    (loaded, warnings.found)
}

impl Loaded {
    /// Reads and checks one file more.
    pub fn add_file(&mut self, file: &ConfigFile, environment: &Environment) {
        self.read_all(vec![(file, file::read(file))], environment, Scope::All);
    }

    /// Reads and checks another text, as if it were in a file of that name.
    pub fn add_text(&mut self, text: &str, file: &ConfigFile, environment: &Environment) {
        let source = Arc::new(SourceFile { path: file.shown_as.clone(), text: text.into() });
        self.read_all(vec![(file, Ok(source))], environment, Scope::All);
    }

    /// Reads and checks files, or the given texts instead of them.
    pub(crate) fn add_all(
        &mut self,
        files: &[(ConfigFile, Option<String>)],
        environment: &Environment,
    ) {
        let read = |file: &ConfigFile, text: &Option<String>| match text {
            Some(text) => {
                let text = text.as_str().into();
                Ok(Arc::new(SourceFile { path: file.shown_as.clone(), text }))
            }
            None => file::read(file),
        };
        let texts = files.iter().map(|(file, text)| (file, read(file, text)));
        self.read_all(texts.collect(), environment, Scope::All);
    }

    /// Reads and checks native files one by one, and those of a dialect together.
    fn read_all(
        &mut self,
        files: Vec<(&ConfigFile, Result<Arc<SourceFile>, Fault>)>,
        environment: &Environment,
        scope: Scope<'_>,
    ) {
        let mut foreign: Vec<(&dyn Dialect, Vec<ForeignFile<'_>>)> = Vec::new();
        for (file, text) in files {
            let Some(dialect) = file.dialect else {
                match text {
                    Ok(source) => top_level::read(&source, file, environment, scope, self),
                    Err(fault) => self.mark_file_broken(fault),
                }
                continue;
            };
            let file = ForeignFile { file, text };
            match foreign.iter_mut().find(|(known, _)| known.name() == dialect.name()) {
                Some((_, files)) => files.push(file),
                None => foreign.push((dialect, vec![file])),
            }
        }
        for (dialect, files) in foreign {
            dialect.read(&files, environment, self);
        }
    }
}
