//! Who may do the work of a stage: the agents that its loop, the command line or `hookwright.yaml` name,
//! with the drivers for them.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_agents::command::CommandAgent;
use hookwright_agents::preset::PresetAgent;
use hookwright_agents::scripted::ScriptedAgent;
use hookwright_agents::{Agent, presets as agents};
use hookwright_config::{
    AgentKind, AgentSpec, Conflict, FaultKind, Loaded, LoopFile, Place, PromptBy, StageSpec,
};
use hookwright_engine::nearest::nearest;

use super::{Planning, place_of_loop, whole_file};
use crate::sources::{Source, fault_at, folder_of};

/// An agent that may do the work of a stage.
#[derive(Clone)]
pub struct Candidate {
    /// What it is called: the name that its user gave it, else its kind, with a number if another one of the
    /// plan is called so.
    pub name: String,
    /// Its user gave it that name.
    pub is_named: bool,
    /// The agent.
    pub agent: Arc<dyn Agent>,
}

impl Candidate {
    /// The name that its user gave it, else its kind.
    pub fn shown_name(&self) -> &str {
        if self.is_named { &self.name } else { self.agent.kind() }
    }
}

impl Planning<'_> {
    pub(super) fn agents(
        &mut self,
        spec: &StageSpec,
        read: &LoopFile,
        source: &Source,
        whole: &Loaded,
    ) -> Option<Vec<Candidate>> {
        let given = self.sources.asked.agent.as_deref().map(|given| {
            let (name, command) = (given.to_owned(), given.to_owned());
            let kind = match agents::preset(given) {
                Some(_) => AgentKind::Named { name, model: None, args: Vec::new() },
                None => AgentKind::Command { command, prompt: PromptBy::Stdin },
            };
            AgentSpec { kind, name: None, place: whole_file() }
        });
        let loop_file = source;
        let (mut agents, source) = match (&read.agents, given, whole.agents.first()) {
            (Some(agents), _, _) => (agents.clone(), source),
            (None, Some(given), _) => (vec![given], source),
            (None, None, Some((path, agents))) => {
                let file = self.sources.all.iter().find(|known| known.path == *path)?;
                (agents.clone(), file)
            }
            (None, None, None) => {
                self.faults.push(fault_at(source, &place_of_loop(spec), FaultKind::NoAgent));
                return None;
            }
        };
        // What is wrong with them was said where they were read.
        if agents.is_empty() {
            return None;
        }
        match (&read.model, &mut agents[..]) {
            (Some((of_loop, _)), [AgentSpec { kind: AgentKind::Named { model, .. }, .. }]) => {
                *model = model.take().or_else(|| Some(of_loop.clone()));
            }
            // Another vendor has no model of that name.
            (Some((_, place)), [_, _, ..]) => {
                let kind = FaultKind::Conflict(Conflict::ModelOfSeveral);
                self.faults.push(fault_at(loop_file, place, kind));
            }
            // A program of one's own has its model in its command.
            (Some(_), [_] | []) | (None, _) => {}
        }
        let candidates: Vec<Option<Candidate>> = agents
            .iter()
            .map(|spec| {
                let agent = self.driver(spec, source)?;
                let name = self.name(spec, source, agent.kind())?;
                Some(Candidate { name, is_named: spec.name.is_some(), agent })
            })
            .collect();
        candidates.into_iter().collect()
    }

    /// The agent's name: the same for the same agent, and for no other one. What is known of an agent, such as
    /// its rate limit, is kept by it.
    fn name(&mut self, spec: &AgentSpec, source: &Source, kind: &str) -> Option<String> {
        if let Some((name, place)) = &spec.name {
            return self.given_name(name, place, spec, source);
        }
        let is_it = |(known, path, _): &&(AgentKind, PathBuf, String)| {
            *known == spec.kind && *path == source.path
        };
        if let Some((_, _, name)) = self.named.iter().find(is_it) {
            return Some(name.clone());
        }
        let is_taken = |name: &String| self.named.iter().any(|(_, _, taken)| taken == name);
        let numbered = (2..).map(|number| format!("{kind}-{number}"));
        let mut names = std::iter::once(kind.to_owned()).chain(numbered);
        let name = names.find(|name| !is_taken(name)).unwrap_or_default();
        self.named.push((spec.kind.clone(), source.path.clone(), name.clone()));
        Some(name)
    }

    /// The name that the agent's user gave it, unless another agent has it.
    fn given_name(
        &mut self,
        name: &str,
        place: &Place,
        spec: &AgentSpec,
        source: &Source,
    ) -> Option<String> {
        match self.named.iter().find(|(_, _, known)| known == name) {
            Some((kind, path, _)) if *kind != spec.kind || *path != source.path => {
                let expected = "a name that no other agent of this session has";
                let kind = FaultKind::BadValue { found: name.to_owned(), expected };
                self.faults.push(fault_at(source, place, kind));
                return None;
            }
            Some(_) => {}
            None => self.named.push((spec.kind.clone(), source.path.clone(), name.to_owned())),
        }
        Some(name.to_owned())
    }

    fn driver(&mut self, spec: &AgentSpec, source: &Source) -> Option<Arc<dyn Agent>> {
        let at = |kind| fault_at(source, &spec.place, kind);
        match &spec.kind {
            AgentKind::Named { name, model, args } => {
                let Some(preset) = agents::preset(name) else {
                    let known: Vec<&'static str> =
                        agents::presets().iter().map(|preset| preset.name).collect();
                    let nearest =
                        nearest(name, known.iter().copied().chain(["command", "scripted"]));
                    let name = name.clone();
                    self.faults.push(at(FaultKind::UnknownAgent { name, known, nearest }));
                    return None;
                };
                let agent = PresetAgent::new(preset, model.as_deref(), args);
                let environment = self.around.environment.for_agents();
                if !agent.is_installed(environment, self.around.root) {
                    let agents::Preset { name, program, package, .. } = preset;
                    self.faults.push(at(FaultKind::AgentNotInstalled { name, program, package }));
                    return None;
                }
                Some(Arc::new(agent))
            }
            AgentKind::Command { command, prompt } => {
                let agent = match CommandAgent::new(command, *prompt) {
                    Ok(agent) => agent,
                    Err(error) => {
                        let message = error.to_string();
                        self.faults.push(at(FaultKind::Syntax { message }));
                        return None;
                    }
                };
                let environment = self.around.environment.for_agents();
                if let Some(program) = agent.missing_program(environment, self.around.root) {
                    let program = program.to_owned();
                    self.faults.push(at(FaultKind::NoProgram { program }));
                    return None;
                }
                Some(Arc::new(agent))
            }
            AgentKind::Scripted { script } => {
                let path: PathBuf = folder_of(&source.path).join(script);
                let file = self.sources.all.iter().find(|known| known.path == path)?;
                match ScriptedAgent::load(&file.text, &file.shown_as) {
                    Ok(agent) => Some(Arc::new(agent)),
                    Err(faults) => {
                        self.faults.extend(faults);
                        None
                    }
                }
            }
        }
    }
}
