//! [`Foreign`]: another system, where its files are, and how they are read.
//!
//! One folder for each system, all with the same parts:
//!
//! | part | holds |
//! |---|---|
//! | `files.rs` | where the system's files are |
//! | `config.rs` | turns their content into hooks of ours; every fault with its place |
//! | `event.rs` | what a hook reads: standard input, variables, `{{names}}` |
//! | `reply.rs` | what its exit code and output mean, and what is shown of it |
//!
//! What differs from native hooks reaches the engine as a
//! [`Policy`](hookwright_engine::policy::Policy) and a [`Wire`](hookwright_engine::policy::Wire); the
//! engine knows no dialect.

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

/// Another system whose files we read.
pub trait Foreign: Dialect {
    /// Where its files are looked for, in the order in which they are read.
    fn locations(&self, whereabouts: &Whereabouts<'_>) -> Vec<Location>;

    /// Whether a file that was named is one of its own, by its path alone.
    fn owns(&self, path: &Path) -> bool;

    /// Whether the agent that a pipeline drives runs these hooks itself, so that the runner must not.
    fn runs_by_itself(&self) -> bool {
        false
    }

    /// What native hooks cannot say of a hook of this system; nothing, if they can.
    fn differences(&self, hook: &Hook) -> Vec<&'static str> {
        let _ = hook;
        vec!["it keeps the rules of its own system"]
    }

    /// The variable of ours with the value that `{{name}}` has at an event.
    fn variable(&self, name: &str, event: &'static EventSpec) -> Option<&'static str> {
        let _ = (name, event);
        None
    }

    /// A hook's matcher as a native `matcher:` says it.
    fn native_matcher(&self, hook: &Hook) -> Option<String> {
        hook.matcher_text.as_deref().map(str::to_owned)
    }
}

/// Where files are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Whereabouts<'a> {
    /// A project's folder.
    pub project: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// The user's folder for configuration, `~/.config` unless set otherwise.
    pub config_home: Option<&'a Path>,
}

/// A place where a file may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub path: PathBuf,
    /// Whose hooks it holds.
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

/// Every system whose files we read.
static ALL: &[&dyn Foreign] = &[&AutoAgent, &ClaudeFormat, &CodeForge, &Iteratr];

/// Every system whose files we read.
pub fn all() -> &'static [&'static dyn Foreign] {
    ALL
}

/// The same as the engine knows them.
pub(crate) fn dialects() -> Vec<&'static dyn Dialect> {
    ALL.iter().map(|foreign| *foreign as &dyn Dialect).collect()
}

/// The system of this name.
pub fn named(name: &str) -> Option<&'static dyn Foreign> {
    ALL.iter().copied().find(|foreign| foreign.name() == name)
}

/// The system whose file this is, by its path alone.
pub fn of_file(path: &Path) -> Option<&'static dyn Foreign> {
    ALL.iter().copied().find(|foreign| foreign.owns(path))
}
