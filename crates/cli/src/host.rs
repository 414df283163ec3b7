//! This program as the host of an engine: finds, reads and judges a project's hooks, and assembles
//! the engine with its ports.
//!
//! Every command that fires events itself assembles its engine here; the differences are named
//! options. The rule for hooks that cannot be asked is in `unasked.rs`.

mod trusted_files;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hookwright_config::{Loaded, ReadFile};
use hookwright_engine::ports::{Journal, Memory, Ports};
use hookwright_engine::variables::Environment;
use hookwright_engine::{Background, Engine, HookSet, Secrets, Setup};
use hookwright_events::Event;
use serde_json::Value;

use hookwright_server::{AskingProject, Wakes};
use hookwright_store::Store;

use crate::approvals::{self, Asking};
use crate::config_files::ConfigFiles;
use crate::error::Failure;
use crate::interrupts::check_descriptors;
use crate::{project, state};

/// The hooks of a project.
pub(crate) struct ProjectHooks {
    /// The project's root, where hooks run.
    pub(crate) root: PathBuf,
    /// The hooks' environment.
    pub(crate) environment: Environment,
    /// The files that may run, as read.
    pub(crate) files: Vec<ReadFile>,
    /// Their hooks and faults.
    pub(crate) loaded: Loaded,
    pub(crate) secrets: Secrets,
    /// The trusted files among those that need trust.
    pub(crate) trusted: Vec<PathBuf>,
    /// Why events that hooks can block are blocked: there are untrusted files.
    pub(crate) refusal: Option<String>,
}

/// Which of the found files may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MayRun {
    /// All: a person runs the command.
    Everything,
    /// Only trusted ones: an agent calls.
    TrustedFiles,
}

/// Differences between the engines of commands.
#[derive(Default)]
pub(crate) struct EngineOptions {
    /// Ids of hooks to skip.
    pub(crate) skip: Vec<String>,
    /// The session's memory; none by default.
    pub(crate) memory: Option<Arc<dyn Memory>>,
    /// Where background hooks run.
    pub(crate) background: Background,
    /// The session's journal, and the number of its last firing; none by default.
    pub(crate) journal: Option<(Arc<dyn Journal>, Arc<AtomicU64>)>,
    /// The session's store, and what wakes its process; by default the user's store is opened with
    /// the first question.
    pub(crate) shared: Option<(Arc<dyn Store>, Wakes)>,
}

impl ProjectHooks {
    /// Reads and checks the found files that may run.
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

    /// Hooks that were read and judged before, without secrets.
    pub(crate) fn loaded(root: PathBuf, environment: Environment, loaded: Loaded) -> Self {
        let (files, secrets, trusted) = Default::default();
        Self { root, environment, files, loaded, secrets, trusted, refusal: None }
    }

    /// The engine for all hooks, which asks people through the user's store.
    pub(crate) fn engine(&mut self, options: EngineOptions) -> Engine {
        let hooks = std::mem::take(&mut self.loaded.hooks);
        self.engine_of(hooks, options)
    }

    /// The same for some of the hooks.
    pub(crate) fn engine_of(&self, hooks: HookSet, options: EngineOptions) -> Engine {
        let (store, wakes) = options.shared.clone().unzip();
        let asking = Asking { pipeline: None, address: self.loaded.callback.clone(), wakes };
        let root = self.root.clone();
        let waits = approvals::port(asking, move || {
            let store = store.clone().map_or_else(state::store, Ok)?;
            let name = project::bound(&root, &store)?;
            let root = project::root_beside(&name, &root);
            Ok((store, AskingProject { name, root }))
        });
        self.assemble(hooks, options, Ports { waits, ..Ports::default() })
    }

    /// The engine for all hooks, in which no person can be asked.
    pub(crate) fn engine_without_people(&mut self) -> Engine {
        let hooks = std::mem::take(&mut self.loaded.hooks);
        self.assemble(hooks, EngineOptions::default(), Ports::default())
    }

    fn assemble(&self, hooks: HookSet, options: EngineOptions, ports: Ports) -> Engine {
        let EngineOptions { skip, memory, background, journal, shared: _ } = options;
        let memory = memory.unwrap_or_else(|| Arc::clone(&ports.memory));
        let unrecorded = || (Arc::clone(&ports.journal), Arc::default());
        let (journal, firings) = journal.unwrap_or_else(unrecorded);
        Engine::new(Setup {
            secrets: self.secrets.clone(),
            skip,
            ports: Ports { memory, journal, ..ports },
            background,
            firings,
            ..Setup::new(hooks, self.root.clone(), self.environment.clone())
        })
    }
}

/// The runtime for hooks. This process also adopts and reaps their orphans.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    // Without subreapers, children of killed hooks go to init as usual.
    let _ = hookwright_process::become_subreaper();
    check_descriptors().map_err(|cause| Failure::NoRuntime { cause })?;
    // One thread is enough for a command that runs for milliseconds.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Failure::NoRuntime { cause })?;
    // The task lasts as long as the runtime.
    drop(runtime.spawn(hookwright_process::collect_orphans()));
    Ok(runtime)
}

/// Adds the fields that scripts for an agent rely on, if the event's data lack them.
pub(crate) fn with_session(mut event: Event, session_id: &str) -> Event {
    let mut fill = |field: &str, value: &str| {
        if event.data.get(field).is_none_or(Value::is_null) {
            event.data.insert(field.to_owned(), value.into());
        }
    };
    fill("session_id", session_id);
    // There is no transcript; this file can be opened and is empty.
    fill("transcript_path", "/dev/null");
    event
}
