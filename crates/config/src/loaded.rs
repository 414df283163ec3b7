//! [`Loaded`]: what was read from all files, and what could not be.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_engine::pattern::Pattern;
use hookwright_engine::{Broken, Event, HookSet};

use super::warning::Warnings;
use super::{AgentSettings, AgentSpec, CallbackAddress, Fault, LoopFile, PipelineFile};

/// What was read from all files.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The hooks that could be read, and the memory of those that could not.
    pub hooks: HookSet,
    /// Everything that is wrong, in the order of the files.
    pub faults: Vec<Arc<Fault>>,
    /// What was left out of foreign files. It blocks nothing.
    pub left_out: Vec<Arc<Fault>>,
    /// Where people's answers are listened for.
    pub callback: CallbackAddress,
    /// The agents for loops that name none, with the files that say so. A list is empty where what is
    /// written is a fault.
    pub agents: Vec<(PathBuf, Vec<AgentSpec>)>,
    /// What the files say for the built-in agent.
    pub agent_settings: AgentSettings,
    /// The loops among the files, with their paths.
    pub loops: Vec<(PathBuf, LoopFile)>,
    /// The pipelines among the files, with their paths.
    pub pipelines: Vec<(PathBuf, PipelineFile)>,
    /// Where somebody asks for them.
    pub(super) warnings: Option<Warnings>,
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

    /// Nothing in the file could be read, so it may have held a guard for any event.
    pub(super) fn file_is_broken(&mut self, fault: Fault) {
        self.entry_is_broken(None, vec![fault]);
    }

    pub(super) fn entry_is_broken(&mut self, pattern: Option<Pattern>, faults: Vec<Fault>) {
        let faults = self.remember_broken(pattern, faults);
        self.faults.extend(faults);
    }

    /// An entry with these faults is remembered as broken; without a pattern it may be for any event.
    pub(super) fn remember_broken(
        &mut self,
        pattern: Option<Pattern>,
        faults: impl IntoIterator<Item = Fault>,
    ) -> Vec<Arc<Fault>> {
        let faults: Vec<Arc<Fault>> = faults.into_iter().map(Arc::new).collect();
        if let Some(first) = faults.first() {
            self.hooks.add_broken(Broken { pattern, fault: first.clone() });
        }
        faults
    }
}

/// Which hooks of a pipeline's file are read: an inline loop has hooks of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those of all its stages.
    All,
    /// Those of this stage; of none if there is none.
    Stage(Option<&'a str>),
}

impl Scope<'_> {
    pub(super) fn has(self, stage: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Stage(only) => only == Some(stage),
        }
    }
}
