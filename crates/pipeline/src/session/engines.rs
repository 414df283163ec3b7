//! The engines of a session: one for itself and one for each stage, with the hooks that listen there.

use std::sync::Arc;

use hookwright_engine::{Engine, HookSet, Interest, Setup};

use hookwright_events::firing_key::Part;

use super::Session;

impl Session {
    /// The engine of a stage, or of the session itself.
    pub(super) fn engine(&mut self, stage: Option<usize>) -> Engine {
        let known = self.engines.get(&(stage, Part::Whole)).cloned();
        known.unwrap_or_else(|| self.keep_engine(stage, Part::Whole, self.hooks_of(stage).clone()))
    }

    pub(super) fn keep_engine(
        &mut self,
        stage: Option<usize>,
        part: Part,
        hooks: HookSet,
    ) -> Engine {
        let engine = self.new_engine(hooks);
        self.engines.insert((stage, part), engine.clone());
        engine
    }

    pub(super) fn hooks_of(&self, stage: Option<usize>) -> &HookSet {
        stage.and_then(|index| self.plan.stages.get(index)).map_or(&self.plan.hooks, |it| &it.hooks)
    }

    fn new_engine(&self, hooks: HookSet) -> Engine {
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
        engine
    }
}
