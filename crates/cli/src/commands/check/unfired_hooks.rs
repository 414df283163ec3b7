//! [`UnfiredHooks`]: hooks that nothing in a project fires, as far as its files tell.
//!
//! A hook of a loop or a pipeline needs its own run. A hook of the project's or the user's file is
//! fired by any run, or by an agent whose settings call this program.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use hookwright_config::{FilePlace, SourceFile, Warning, WarningKind};
use hookwright_dialects::hosts::Connection;
use hookwright_engine::hook::{Hook, Layer};
use hookwright_events::table::AGENT;
use hookwright_pipeline::sources::{Source, Sources};

use crate::config_files::{ConfigFiles, process_environment};
use crate::configuration::Configuration;
use crate::runner::Prepared;

/// Which hooks of some runs are fired, and which are not.
pub(super) struct UnfiredHooks {
    connections: Vec<Connection>,
    has_runs: bool,
    /// Whether an agent of the runs does not obey permission rules.
    has_other_agent: bool,
    /// Whether one of the runs cannot be planned, so that its events are unknown.
    pub(super) has_unknown_run: bool,
    fired: HashSet<HookKey>,
    unfired: Vec<(Arc<Hook>, Arc<SourceFile>)>,
}

/// Identifies a hook.
type HookKey = (PathBuf, u32, String);

fn key(hook: &Hook) -> HookKey {
    (hook.source.path.to_path_buf(), hook.source.line, hook.id.clone())
}

impl UnfiredHooks {
    pub(super) fn new(found: &ConfigFiles) -> Self {
        Self {
            connections: found.connections(&process_environment()),
            has_runs: false,
            has_other_agent: false,
            has_unknown_run: false,
            fired: HashSet::new(),
            unfired: Vec::new(),
        }
    }

    /// Adds the hooks of a run.
    pub(super) fn add(&mut self, prepared: &Prepared) {
        self.has_runs = true;
        let mut agents = prepared.plan.stages.iter().flat_map(|stage| &stage.agents);
        self.has_other_agent |= agents.any(|candidate| !candidate.agent.is_host());
        let unfired: HashSet<HookKey> =
            prepared.plan.unfired.iter().map(|hook| key(hook)).collect();
        let sets = prepared.plan.stages.iter().map(|stage| &stage.hooks);
        let all = sets.chain([&prepared.plan.hooks]).flat_map(|set| set.hooks());
        self.fired.extend(all.map(|hook| key(hook)).filter(|key| !unfired.contains(key)));
        for hook in &prepared.plan.unfired {
            if let Some(source) = source_of(hook, &prepared.sources) {
                let (path, text) = (source.shown_as.clone(), source.text.as_str().into());
                let file = Arc::new(SourceFile { path, text });
                self.unfired.push((Arc::clone(hook), file));
            }
        }
    }

    /// Whether every agent of the runs obeys permission rules.
    pub(super) fn rules_are_obeyed(&self) -> bool {
        self.has_runs && !self.has_other_agent && !self.has_unknown_run
    }

    /// A warning for each hook that no run and no agent fires.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let mut named = HashSet::new();
        let unfired = self.unfired.iter().filter(|(hook, _)| {
            let of_run = matches!(hook.layer, Layer::Loop | Layer::Pipeline);
            let elsewhere = || !of_run && (self.has_unknown_run || self.is_connected(hook));
            !self.fired.contains(&key(hook)) && !elsewhere() && named.insert(key(hook))
        });
        let warning = |(hook, source): &(Arc<Hook>, Arc<SourceFile>)| Warning {
            source: Arc::clone(source),
            place: FilePlace::of_line(&source.text, hook.source.line),
            kind: WarningKind::NothingFires { hosts: hook.hosts.clone() },
            name: hook.event.to_string(),
            reference: hook.id.clone(),
            nearest: None,
        };
        unfired.map(warning).collect()
    }

    /// Without any run: the hooks of native files at events that only agents fire, if no agent's
    /// settings call this program. Other programs may fire them, so this is not a warning.
    pub(super) fn without_runs(&self, configuration: &Configuration) -> Vec<Arc<Hook>> {
        if self.has_runs || self.has_unknown_run {
            return Vec::new();
        }
        let is_native = |hook: &Hook| {
            let mut files = configuration.found.files.iter();
            files.any(|file| file.path == *hook.source.path && file.dialect.is_none())
        };
        let needs_agent = |hook: &Hook| {
            !hook.pattern.any(|event| event.fired_by.iter().any(|source| *source != AGENT))
        };
        let hooks = configuration.loaded.hooks.hooks().iter().filter(|hook| {
            hook.enabled && needs_agent(hook) && !self.is_connected(hook) && is_native(hook)
        });
        hooks.cloned().collect()
    }

    fn is_connected(&self, hook: &Hook) -> bool {
        self.connections.iter().any(|connection| connection.may_wake(hook))
    }
}

/// The file of a run's hook.
fn source_of<'s>(hook: &Hook, sources: &'s Sources) -> Option<&'s Source> {
    let of_children = sources.children.iter().flat_map(|child| &child.all);
    let mut all = sources.all.iter().chain(of_children);
    all.find(|source| source.path == *hook.source.path)
}
