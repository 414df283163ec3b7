//! Hookwright's files: hooks, loops, pipelines and tests, read, checked whole, every fault with its
//! place.
//!
//! A program that embeds the engine reads its hooks like this:
//!
//! ```
//! use hookwright_config::HookFiles;
//! use hookwright_engine::{Answer, Engine, Event, Firing, Hook, serde_json::json};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let root = std::env::current_dir()?;
//!     let rules = "hooks: {tool:pre_execute: [{id: named, command: 'test -n \"$TOOL_NAME\"'}]}";
//!     let files = HookFiles::in_project(&root).environment(std::env::vars_os()).text("rules", rules);
//!     let engine = Engine::builder(root)
//!         .environment(std::env::vars_os())
//!         .hooks(files.load()?.hooks)
//!         .hook(Hook::on("tool:pre_execute", |_| async { Ok(Answer::default()) }).id("function"))
//!         .build()?;
//!     let call = json!({ "tool_name": "bash", "tool_input": { "command": "ls" } });
//!     let fired = engine.fire(Event::named("tool:pre_execute", call)?, Firing::default()).await;
//!     for report in &fired.reports {
//!         println!("{} {}", report.id, report.status.as_str());
//!     }
//!     Ok(())
//! }
//! ```
//!
//! | module | does |
//! |---|---|
//! | [`mod@file`] | reads a file's bytes and its tree of values with their places |
//! | `node` | that tree; YAML becomes one here |
//! | `json` | JSON becomes one here |
//! | `notes` | questions to it that note a fault when the answer is wrong |
//! | `top_level` | the keys of a whole file |
//! | `callback_address` | where people's answers are listened for |
//! | `entry` | one hook |
//! | `action` | what is particular to one type of hook |
//! | `written` | where the parts of a text value stand |
//! | `warning` | what `check` says about commands beyond faults |
//! | `hook_files` | what a program reads its hooks from |
//! | `secrets_file` | `secrets.env` |
//! | `dialect` | files in someone else's format |
//! | `duration` | `5`, `0.5`, `500ms`, `5m` |
//! | [`fault`] | what can be wrong |
//! | `agent` | the agents of a file, as data |
//! | `loop_file`, `pipeline_file` | the keys of loops and pipelines beside their hooks |
//! | `termination` | when a loop is enough |
//! | [`schema`] | the same for editors |
//! | [`test_file`] | cases that say what hooks have to do |
//!
//! Reading never stops at the first fault, and never gives up more than it must: an entry with a
//! fault is left out and remembered as broken, the others stay.
#![warn(missing_docs)]

mod action;
mod agent;
mod callback_address;
mod dialect;
mod duration;
mod entry;
pub mod fault;
pub mod file;
mod hook_files;
mod json;
pub mod limits;
mod loop_file;
mod node;
mod notes;
mod pipeline_file;
mod schema;
mod secrets_file;
mod termination;
pub mod test_file;
mod top_level;
mod warning;
mod written;

/// A file's tree of values with their places, and questions to it: for readers of files that are
/// not the engine's own, so that their faults look alike.
pub mod tree {
    pub use super::node::{Field, Mark, Node, Raw, parse};
    pub use super::notes::Notes;
}

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use callback_address::CallbackAddress;
pub use hook_files::{FaultyFiles, HookFiles};
pub use hookwright_engine::hook::Place;
pub use schema::schema;
pub use secrets_file::read_secrets;

pub use agent::{AgentDefinition, AgentSpec};
pub use dialect::{Dialect, ForeignFile, KnownSystems};
pub use fault::{Conflict, Fault, FaultKind, SourceFile};
pub use file::ReadFile;
pub use loop_file::{LoopFile, PromptSpec};
pub use pipeline_file::{Inputs, PipelineFile, Select, StageBody, StageSpec};
pub use termination::{QueueSpec, Termination};
use warning::Warnings;
pub use warning::{Warning, WarningKind};

use hookwright_engine::Event;
use hookwright_engine::hook::Layer;
use hookwright_engine::hook_set::{Broken, HookSet};
use hookwright_engine::pattern::Pattern;
use hookwright_engine::variables::Environment;

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

/// What was read from all files.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The hooks that could be read, and the memory of those that could not.
    pub hooks: HookSet,
    /// Everything that is wrong, in the order of the files.
    pub faults: Vec<Arc<Fault>>,
    /// What was left out of foreign files, which stops nobody.
    pub left_out: Vec<Arc<Fault>>,
    /// Where people's answers are listened for.
    pub callback: CallbackAddress,
    /// The agents for loops that name none, with the files that say so. A list is empty where what is
    /// written is a fault.
    pub agents: Vec<(PathBuf, Vec<AgentSpec>)>,
    /// The loops among the files, with their paths.
    pub loops: Vec<(PathBuf, LoopFile)>,
    /// The pipelines among the files, with their paths.
    pub pipelines: Vec<(PathBuf, PipelineFile)>,
    /// Where somebody asks for them.
    warnings: Option<Warnings>,
}

/// Which hooks of a pipeline's file are read: a loop that stands there itself has hooks of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those of all its stages.
    All,
    /// Those of this stage; of none if there is none.
    Stage(Option<&'a str>),
}

impl Scope<'_> {
    fn has(self, stage: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Stage(only) => only == Some(stage),
        }
    }
}

/// Reads and checks all files.
pub fn load(files: &[ConfigFile], environment: &Environment) -> Loaded {
    let mut loaded = Loaded::default();
    read_all(files, environment, &mut loaded);
    loaded
}

/// Checks files that have been read already.
pub fn load_read<'a>(
    files: impl IntoIterator<Item = &'a ReadFile>,
    environment: &Environment,
) -> Loaded {
    let mut loaded = Loaded::default();
    let texts = files.into_iter().map(|read| (&read.file, read.source.clone()));
    loaded.read_all(texts.collect(), environment, Scope::All);
    loaded
}

/// Reads and checks all files, and looks for what is probably not meant in their commands. That costs
/// more than reading does, so only `check` asks for it. `root` is the project root, below which the
/// paths lie that commands are given.
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

/// Reads and checks texts as if they stood in these files.
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

/// Reads and checks a text as if it stood in a file of that name.
pub fn load_text(text: &str, file: &ConfigFile, environment: &Environment) -> Loaded {
    load_texts([(file, text)], environment, Scope::All)
}

/// Whether a text is that of a pipeline: it has stages. What cannot be read is none.
pub fn is_pipeline(text: &str) -> bool {
    has_any(text, &["stages"])
}

/// Whether a text is that of a loop: it has a key that only loops have. What cannot be read is none.
pub fn is_loop(text: &str) -> bool {
    has_any(text, ONLY_LOOPS)
}

/// Keys that only loops have.
const ONLY_LOOPS: &[&str] =
    &["prompt", "prompt_file", "termination", "max_iterations", "max_runtime", "delay"];

/// The top-level keys of a file that may be a loop, a pipeline or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopLevel {
    /// Whether one of them is a key that only loops have, or `stages` that name loops.
    pub tells_of_run: bool,
    /// How many are keys of loops and pipelines, beside those that any file may have.
    pub known: usize,
    /// How many are not.
    pub others: usize,
}

impl TopLevel {
    /// Keys of loops and pipelines that files of other programs have as well.
    const OF_ANYBODY: &'static [&'static str] = &["version", "name", "description"];

    /// The keys of a text; `None` if it cannot be read.
    pub fn read(text: &str) -> Option<Self> {
        let source = Arc::new(SourceFile { path: PathBuf::new(), text: text.into() });
        let root = node::parse(&source).ok()?;
        let node::Raw::Map(fields) = &root.raw else {
            return Some(Self { tells_of_run: false, known: 0, others: 1 });
        };
        let names_loop = |stage: &node::Node| match &stage.raw {
            node::Raw::Map(fields) => fields.iter().any(|field| &*field.key == "loop"),
            _ => false,
        };
        let has_loops = |field: &node::Field| match &field.value.raw {
            node::Raw::List(stages) => &*field.key == "stages" && stages.iter().any(names_loop),
            _ => false,
        };
        let tells = |field: &node::Field| ONLY_LOOPS.contains(&&*field.key) || has_loops(field);
        let is_known = |field: &&node::Field| top_level::is_key_of_run(&field.key);
        let is_ours = |field: &&node::Field| !Self::OF_ANYBODY.contains(&&*field.key);
        let known = fields.iter().filter(is_known).count();
        Some(Self {
            tells_of_run: fields.iter().any(tells),
            known: fields.iter().filter(is_known).filter(is_ours).count(),
            others: fields.len() - known,
        })
    }
}

fn has_any(text: &str, keys: &[&str]) -> bool {
    let source = Arc::new(SourceFile { path: PathBuf::new(), text: text.into() });
    let has_one = |root: node::Node| match root.raw {
        node::Raw::Map(fields) => fields.iter().any(|field| keys.contains(&&*field.key)),
        _ => false,
    };
    node::parse(&source).is_ok_and(has_one)
}

/// A file's text, or what is wrong with the whole of it.
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
    /// What is wrong with the entries that could not be read and that this event would have woken.
    pub fn broken_for<'a>(&'a self, event: &'a Event) -> impl Iterator<Item = &'a Fault> {
        self.hooks.broken_for(event).filter_map(|fault| fault.downcast_ref())
    }

    /// Adds what is wrong with the user's secrets. A guard may need one of them, so nothing may pass.
    pub fn secrets_are_broken(&mut self, faults: Vec<Fault>) {
        self.entry_is_broken(None, faults);
    }

    /// Reads and checks one file more.
    pub fn add_file(&mut self, file: &ConfigFile, environment: &Environment) {
        self.read_all(vec![(file, file::read(file))], environment, Scope::All);
    }

    /// Reads and checks a text more, as if it stood in a file of that name.
    pub fn add_text(&mut self, text: &str, file: &ConfigFile, environment: &Environment) {
        let source = Arc::new(SourceFile { path: file.shown_as.clone(), text: text.into() });
        self.read_all(vec![(file, Ok(source))], environment, Scope::All);
    }

    /// Reads and checks files, or texts in their place.
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
                    Err(fault) => self.file_is_broken(fault),
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

    /// Nothing in the file could be read, so it may have held a guard for any event.
    fn file_is_broken(&mut self, fault: Fault) {
        self.entry_is_broken(None, vec![fault]);
    }

    fn entry_is_broken(&mut self, pattern: Option<Pattern>, faults: Vec<Fault>) {
        let faults: Vec<Arc<Fault>> = faults.into_iter().map(Arc::new).collect();
        if let Some(first) = faults.first() {
            self.hooks.add_broken(Broken { pattern, fault: first.clone() });
        }
        self.faults.extend(faults);
    }
}

#[cfg(test)]
mod tests;
