//! This program as the host of an engine: the hooks of a project, found, read and judged, and the
//! engine with everything that this program lends it.
//!
//! Every command that fires events itself assembles its engine here; what differs between them is an
//! option with a name. What happens when the hooks can't be asked is one rule, in `unasked.rs`.

mod trusted_files;

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_config::{Loaded, ReadFile};
use hookwright_engine::ports::{Memory, Ports};
use hookwright_engine::variables::Environment;
use hookwright_engine::{Background, Engine, HookSet, Secrets, Setup};
use hookwright_events::Event;
use serde_json::Value;

use crate::approvals::{self, Asking};
use crate::config_files::ConfigFiles;
use crate::error::Failure;
use crate::interrupts::check_descriptors;
use crate::state;

/// The hooks of a project.
pub(crate) struct ProjectHooks {
    /// The project, where hooks run.
    pub(crate) root: PathBuf,
    /// What hooks find in their environment.
    pub(crate) environment: Environment,
    /// The files that may run, as they were read.
    pub(crate) files: Vec<ReadFile>,
    /// What is in them.
    pub(crate) loaded: Loaded,
    pub(crate) secrets: Secrets,
    /// The files that had to be trusted, and are.
    pub(crate) trusted: Vec<PathBuf>,
    /// Why nothing may pass that hooks can block: there are files that are not trusted.
    pub(crate) refusal: Option<String>,
}

/// Which of the files that were found may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MayRun {
    /// All: a person runs the command.
    Everything,
    /// Those that a person has trusted: an agent calls.
    TrustedFiles,
}

/// What differs between the engines of commands.
#[derive(Default)]
pub(crate) struct EngineOptions {
    /// Hooks that do not run, by their ids.
    pub(crate) skip: Vec<String>,
    /// What a session remembers; nothing unless said.
    pub(crate) memory: Option<Arc<dyn Memory>>,
    /// Where hooks run that nothing waits for.
    pub(crate) background: Background,
}

impl ProjectHooks {
    /// Reads and checks the files that were found, as far as they may run.
    pub(crate) fn read(found: ConfigFiles, environment: Environment, may_run: MayRun) -> Self {
        let mut files = found.read();
        let (mut trusted, mut refusal) = (Vec::new(), None);
        if may_run == MayRun::TrustedFiles {
            (trusted, refusal) = trusted_files::retain(&found, &mut files);
        }
        let (loaded, secrets) = found.load_read(&files, &environment);
        let root = found.project_root;
        Self { root, environment, files, loaded, secrets, trusted, refusal }
    }

    /// Hooks that have been read and judged already, without anyone's secrets.
    pub(crate) fn loaded(root: PathBuf, environment: Environment, loaded: Loaded) -> Self {
        let (files, secrets, trusted) = Default::default();
        Self { root, environment, files, loaded, secrets, trusted, refusal: None }
    }

    /// The engine for all of its hooks, which asks people through the user's store.
    pub(crate) fn engine(&mut self, options: EngineOptions) -> Engine {
        let hooks = std::mem::take(&mut self.loaded.hooks);
        self.engine_of(hooks, options)
    }

    /// The same for some of its hooks.
    pub(crate) fn engine_of(&self, hooks: HookSet, options: EngineOptions) -> Engine {
        let project = self.root.to_string_lossy().into_owned();
        let asking = Asking { project, pipeline: None, address: self.loaded.callback.clone() };
        let waits = approvals::port(asking, state::store);
        self.assemble(hooks, options, Ports { waits, ..Ports::default() })
    }

    /// The engine for all of its hooks, in which no person can be asked.
    pub(crate) fn engine_without_people(&mut self) -> Engine {
        let hooks = std::mem::take(&mut self.loaded.hooks);
        self.assemble(hooks, EngineOptions::default(), Ports::default())
    }

    fn assemble(&self, hooks: HookSet, options: EngineOptions, ports: Ports) -> Engine {
        let EngineOptions { skip, memory, background } = options;
        let memory = memory.unwrap_or_else(|| Arc::clone(&ports.memory));
        Engine::new(Setup {
            secrets: self.secrets.clone(),
            skip,
            ports: Ports { memory, ..ports },
            background,
            ..Setup::new(hooks, self.root.clone(), self.environment.clone())
        })
    }
}

/// What hooks run on, and from here on their orphans are ours: they are collected as they end.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    // Where the system has no subreapers, children of killed hooks go to init as ever.
    let _ = hookwright_process::become_subreaper();
    check_descriptors().map_err(|cause| Failure::NoRuntime { cause })?;
    // One thread: a command that lives for milliseconds has no use for more.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Failure::NoRuntime { cause })?;
    // It lives as long as the runtime.
    drop(runtime.spawn(hookwright_process::collect_orphans()));
    Ok(runtime)
}

/// The event with the fields that scripts written for an agent rely on, where its data lack them.
pub(crate) fn with_session(mut event: Event, session_id: &str) -> Event {
    let mut fill = |field: &str, value: &str| {
        if event.data.get(field).is_none_or(Value::is_null) {
            event.data.insert(field.to_owned(), value.into());
        }
    };
    fill("session_id", session_id);
    // There is no transcript; this one can be opened and is empty.
    fill("transcript_path", "/dev/null");
    event
}
