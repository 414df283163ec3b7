//! The agents of a stage: those that its loop, the command line or `hookwright.yaml` name, with
//! their drivers.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_agents::{Agent, AgentFile, AgentRequest};
use hookwright_config::{
    AgentDefinition, AgentSpec, Conflict, Fault, FaultKind, FilePlace, Loaded, LoopFile, StageSpec,
};

use super::{Planning, place_of_loop, whole_file};
use crate::sources::{Source, fault_at, folder_of};

/// An agent that may do the work of a stage.
#[derive(Clone)]
pub struct StageAgent {
    /// Its name: the one that its user gave it, else its kind, with a number if another agent of
    /// the plan has that name.
    pub name: String,
    /// Its user gave it that name.
    pub is_named: bool,
    /// The agent's driver.
    pub agent: Arc<dyn Agent>,
}

impl StageAgent {
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
    ) -> Option<Vec<StageAgent>> {
        let given = self.sources.asked.agent.as_deref().map(|given| {
            let definition = self.around.agents.definition(given);
            AgentSpec { definition, name: None, place: whole_file() }
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
        // Their faults were reported where they were read.
        if agents.is_empty() {
            return None;
        }
        match (&read.model, &mut agents[..]) {
            // A command contains its model.
            (Some((model, _)), [only]) => only.definition.set_default_model(model),
            // Another vendor has no model of that name.
            (Some((_, place)), [_, _, ..]) => {
                let kind = FaultKind::Conflict(Conflict::ModelOfSeveral);
                self.faults.push(fault_at(loop_file, place, kind));
            }
            (Some(_), []) | (None, _) => {}
        }
        let candidates: Vec<Option<StageAgent>> = agents
            .iter()
            .map(|spec| {
                let agent = self.driver(spec, source)?;
                let name = self.name(spec, source, agent.kind())?;
                Some(StageAgent { name, is_named: spec.name.is_some(), agent })
            })
            .collect();
        candidates.into_iter().collect()
    }

    /// The agent's name: unique, and the same for the same agent. What is known of an agent, such
    /// as its rate limit, is stored under it.
    fn name(&mut self, spec: &AgentSpec, source: &Source, kind: &str) -> Option<String> {
        if let Some((name, place)) = &spec.name {
            return self.given_name(name, place, spec, source);
        }
        let is_it = |(known, path, _): &&(AgentDefinition, PathBuf, String)| {
            *known == spec.definition && *path == source.path
        };
        if let Some((_, _, name)) = self.named.iter().find(is_it) {
            return Some(name.clone());
        }
        let is_taken = |name: &String| self.named.iter().any(|(_, _, taken)| taken == name);
        let numbered = (2..).map(|number| format!("{kind}-{number}"));
        let mut names = std::iter::once(kind.to_owned()).chain(numbered);
        let name = names.find(|name| !is_taken(name)).unwrap_or_default();
        self.named.push((spec.definition.clone(), source.path.clone(), name.clone()));
        Some(name)
    }

    /// The name that the agent's user gave it, unless another agent has it.
    fn given_name(
        &mut self,
        name: &str,
        place: &FilePlace,
        spec: &AgentSpec,
        source: &Source,
    ) -> Option<String> {
        match self.named.iter().find(|(_, _, known)| known == name) {
            Some((known, path, _)) if *known != spec.definition || *path != source.path => {
                let expected = "a name that no other agent of this session has";
                let kind =
                    FaultKind::BadValue { found: name.to_owned(), expected: expected.into() };
                self.faults.push(fault_at(source, place, kind));
                return None;
            }
            Some(_) => {}
            None => {
                self.named.push((spec.definition.clone(), source.path.clone(), name.to_owned()))
            }
        }
        Some(name.to_owned())
    }

    fn driver(&mut self, spec: &AgentSpec, source: &Source) -> Option<Arc<dyn Agent>> {
        let loaded = self.loaded_with_agents_own();
        let session_files: Vec<PathBuf> =
            self.sources.all.iter().map(|source| source.path.clone()).collect();
        let made = self.around.agents.make(&AgentRequest {
            definition: &spec.definition,
            fault: &|kind| fault_at(source, &spec.place, kind),
            file: &|path| {
                let path = folder_of(&source.path).join(path);
                let file = self.sources.all.iter().find(|known| known.path == path)?;
                Some(AgentFile { text: &file.text, shown_as: &file.shown_as })
            },
            settings: &loaded.agent_settings,
            session_files: &session_files,
            environment: self.around.environment.for_agents(),
            working_dir: self.around.root,
        });
        let agent = made.map_err(|faults| self.faults.extend(faults)).ok()?;
        if agent.is_host() {
            let news = loaded.left_out.iter().filter(|fault| !self.left_out.contains(fault));
            let news: Vec<Arc<Fault>> = news.cloned().collect();
            self.left_out.extend(news);
        }
        Some(agent)
    }
}
