//! [`Loaded`]: what was read from all files, and what could not be read.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_engine::pattern::Pattern;
use hookwright_engine::{Broken, Event, HookSet};

use super::warning::Warnings;
use super::{AgentSettings, AgentSpec, CallbackAddress, Fault, LoopFile, PipelineFile};

/// What was read from all files.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The hooks that could be read. The set also remembers those that could not.
    pub hooks: HookSet,
    /// Everything that is wrong, in the order of the files.
    pub faults: Vec<Arc<Fault>>,
    /// What was left out of foreign files. It blocks nothing.
    pub left_out: Vec<Arc<Fault>>,
    /// Where the program listens for people's answers.
    pub callback: CallbackAddress,
    /// A file says `trace: false`: what hooks do inside other agents is not recorded.
    pub untraced: bool,
    /// The agents for loops that name none, with the file that sets them. If the setting is faulty,
    /// its list is empty.
    pub agents: Vec<(PathBuf, Vec<AgentSpec>)>,
    /// The built-in agent's settings.
    pub agent_settings: AgentSettings,
    /// The loops among the files, with their paths.
    pub loops: Vec<(PathBuf, LoopFile)>,
    /// The pipelines among the files, with their paths.
    pub pipelines: Vec<(PathBuf, PipelineFile)>,
    /// Warnings, if the caller requested them.
    pub(super) warnings: Option<Warnings>,
}

impl Loaded {
    /// The faults of invalid entries that this event would have woken.
    pub fn broken_for<'a>(&'a self, event: &'a Event) -> impl Iterator<Item = &'a Fault> {
        self.hooks.broken_for(event).filter_map(|fault| fault.downcast_ref())
    }

    /// Adds the faults of the user's secrets. A guard may need a secret, so every event is blocked.
    pub fn mark_secrets_broken(&mut self, faults: Vec<Fault>) {
        self.mark_entry_broken(None, faults);
    }

    /// Remembers that nothing in the file could be read. It may have contained a guard for any
    /// event.
    pub(super) fn mark_file_broken(&mut self, fault: Fault) {
        self.mark_entry_broken(None, vec![fault]);
    }

    pub(super) fn mark_entry_broken(&mut self, pattern: Option<Pattern>, faults: Vec<Fault>) {
        let faults = self.remember_broken(pattern, faults);
        self.faults.extend(faults);
    }

    /// Remembers an entry with these faults as broken; without a pattern, for every event.
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
    /// The hooks of all stages.
    All,
    /// The hooks of this stage; `None` means of no stage.
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
