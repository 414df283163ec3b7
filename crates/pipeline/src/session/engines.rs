//! [`Engines`]: the engines of a session, one for itself and one for each stage, with the hooks
//! that apply there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hookwright_engine::HookSet;
use hookwright_engine::Secrets;
use hookwright_engine::ports::Ports;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Interest, Observer, Setup};
use hookwright_events::firing_key::TaskHooks;

use super::Session;

/// The engines of a session, created on first use.
pub(super) struct Engines {
    pub(super) root: PathBuf,
    pub(super) environment: Environment,
    pub(super) secrets: Secrets,
    pub(super) ports: Ports,
    /// Ids of hooks to skip.
    pub(super) skip: Vec<String>,
    /// The hooks that have started the session, and the sessions above it.
    pub(super) started_by: Vec<String>,
    pub(super) firings: Arc<AtomicU64>,
    pub(super) observers: Vec<Observer>,
    /// By stage (`None` for the session's own) and by the hooks that they have.
    pub(super) made: BTreeMap<(Option<usize>, TaskHooks), Engine>,
}

impl Engines {
    pub(super) fn get(&self, stage: Option<usize>, part: TaskHooks) -> Option<Engine> {
        self.made.get(&(stage, part)).cloned()
    }

    pub(super) fn make(&mut self, stage: Option<usize>, part: TaskHooks, hooks: HookSet) -> Engine {
        let engine = Engine::new(Setup {
            secrets: self.secrets.clone(),
            ports: self.ports.clone(),
            skip: self.skip.clone(),
            started_by: self.started_by.clone(),
            firings: Arc::clone(&self.firings),
            ..Setup::new(hooks, self.root.clone(), self.environment.clone())
        });
        for observer in &self.observers {
            engine.observe(Interest::Everything, Arc::clone(observer));
        }
        self.made.insert((stage, part), engine.clone());
        engine
    }

    pub(super) fn interrupt(&self) {
        self.made.values().for_each(Engine::interrupt);
    }
}

impl Session {
    /// The engine of a stage, or of the session itself.
    pub(super) fn engine(&mut self, stage: Option<usize>) -> Engine {
        let known = self.engines.get(stage, TaskHooks::Whole);
        known.unwrap_or_else(|| {
            let hooks = self.hooks_of(stage).clone();
            self.engines.make(stage, TaskHooks::Whole, hooks)
        })
    }

    pub(super) fn hooks_of(&self, stage: Option<usize>) -> &HookSet {
        stage.and_then(|index| self.plan.stages.get(index)).map_or(&self.plan.hooks, |it| &it.hooks)
    }
}
