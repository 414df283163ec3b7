//! [`Foreign`]: another system, the location of its files, and how to read them.
//!
//! Each system has a folder with the same parts:
//!
//! | part | contains |
//! |---|---|
//! | `files.rs` | the location of the system's files |
//! | `config.rs` | turns their content into native hooks; reports every fault with its place |
//! | `event.rs` | a hook's input: standard input, variables, `{{names}}` |
//! | `reply.rs` | the meaning of its exit code and output, and the text that is shown |
//!
//! The differences from native hooks reach the engine as a
//! [`Policy`](hookwright_engine::policy::Policy) and a [`Wire`](hookwright_engine::policy::Wire);
//! the engine knows no dialect.

pub mod agent_pipelines;
mod autoagent;
pub mod claude;
pub mod code_forge;
pub mod iteratr;

use std::path::{Path, PathBuf};

use hookwright_config::Dialect;
use hookwright_engine::hook::{Hook, Layer};
use hookwright_events::EventSpec;

use self::autoagent::AutoAgent;
use self::claude::ClaudeFormat;
use self::code_forge::CodeForge;
use self::iteratr::Iteratr;

/// Another system whose files hookwright reads.
pub trait Foreign: Dialect {
    /// The paths of its files, in reading order.
    fn locations(&self, whereabouts: &Whereabouts<'_>) -> Vec<Location>;

    /// Whether a file belongs to this system, by its path alone.
    fn owns(&self, path: &Path) -> bool;

    /// Whether the pipeline's agent runs these hooks itself, so that the runner must not.
    fn runs_by_itself(&self) -> bool {
        false
    }

    /// Features of a hook that native hooks do not have.
    fn differences(&self, hook: &Hook) -> Vec<&'static str> {
        let _ = hook;
        vec!["it keeps the rules of its own system"]
    }

    /// The native variable with the value that `{{name}}` has at an event.
    fn variable(&self, name: &str, event: &'static EventSpec) -> Option<&'static str> {
        let _ = (name, event);
        None
    }

    /// A hook's matcher in the form of a native `matcher:`.
    fn native_matcher(&self, hook: &Hook) -> Option<String> {
        hook.matcher_text.as_deref().map(str::to_owned)
    }
}

/// The folders that files are searched in.
#[derive(Debug, Clone, Copy)]
pub struct Whereabouts<'a> {
    /// A project's folder.
    pub project: &'a Path,
    /// The user's home directory.
    pub home: Option<&'a Path>,
    /// The user's configuration folder, `~/.config` by default.
    pub config_home: Option<&'a Path>,
}

/// A possible path of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub path: PathBuf,
    /// The layer that its hooks belong to.
    pub layer: Layer,
}

impl Location {
    /// A file of the project.
    pub fn of_project(path: PathBuf) -> Self {
        Self { path, layer: Layer::Project }
    }

    /// A file for all projects of the user.
    pub fn of_user(path: PathBuf) -> Self {
        Self { path, layer: Layer::Global }
    }
}

/// Every system whose files hookwright reads.
static ALL: &[&dyn Foreign] = &[&AutoAgent, &ClaudeFormat, &CodeForge, &Iteratr];

/// Every system whose files hookwright reads.
pub fn all() -> &'static [&'static dyn Foreign] {
    ALL
}

/// The same systems, as the engine's trait.
pub(crate) fn dialects() -> Vec<&'static dyn Dialect> {
    ALL.iter().map(|foreign| *foreign as &dyn Dialect).collect()
}

/// The system of this name.
pub fn named(name: &str) -> Option<&'static dyn Foreign> {
    ALL.iter().copied().find(|foreign| foreign.name() == name)
}

/// The system that a file belongs to, by its path alone.
pub fn of_file(path: &Path) -> Option<&'static dyn Foreign> {
    ALL.iter().copied().find(|foreign| foreign.owns(path))
}
