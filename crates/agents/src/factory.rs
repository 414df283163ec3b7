//! [`AgentFactory`]: makes the drivers of configured agents.
//!
//! A program with an agent of its own adds its kind with [`AgentFactory::with`]; the runner knows
//! only the trait. The settings of each kind are listed in the crate that reads configurations.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_config::{AgentDefinition, AgentSettings, Fault, FaultKind};
use hookwright_engine::nearest;

use crate::agent::Agent;
use crate::{command, preset, presets, scripted};

/// A driver, or all faults of its configuration.
pub type MadeAgent = Result<Arc<dyn Agent>, Vec<Fault>>;

/// Makes drivers for one kind of agent.
pub type MakeAgent = dyn Fn(&AgentRequest<'_>) -> MadeAgent + Send + Sync;

/// Makes drivers, by the kind of agent.
#[derive(Clone)]
pub struct AgentFactory {
    kinds: Vec<(&'static str, Arc<MakeAgent>)>,
}

/// An agent that a session needs.
pub struct AgentRequest<'a> {
    /// The agent's kind and settings.
    pub definition: &'a AgentDefinition,
    /// Makes a fault at the agent's place in its file.
    pub fault: &'a dyn Fn(FaultKind) -> Fault,
    /// Finds a file that the settings name. `None` if it could not be read, which was already
    /// reported.
    pub file: &'a dyn Fn(&Path) -> Option<AgentFile<'a>>,
    /// The settings of the built-in agent in the session's files.
    pub settings: &'a AgentSettings,
    /// The session's files, which an agent must not change.
    pub session_files: &'a [PathBuf],
    /// The environment in which agents start.
    pub environment: &'a [(OsString, OsString)],
    /// The directory in which they start.
    pub working_dir: &'a Path,
}

/// A file that an agent's settings name, as it was read for the session.
pub struct AgentFile<'a> {
    /// Its text.
    pub text: &'a str,
    /// The file's path in faults.
    pub shown_as: &'a Path,
}

impl AgentRequest<'_> {
    /// The agent cannot work for this reason.
    pub fn refused(&self, reason: FaultKind) -> MadeAgent {
        Err(vec![(self.fault)(reason)])
    }
}

impl Default for AgentFactory {
    /// Knows the presets, commands and scripted agents.
    fn default() -> Self {
        let mut factory = Self { kinds: Vec::new() };
        for known in presets::presets() {
            factory = factory.with(known.name, |request| preset::make(known, request));
        }
        factory.with("command", command::make).with("scripted", scripted::make)
    }
}

impl AgentFactory {
    /// Adds a kind of agent, with the function that makes it.
    #[must_use]
    pub fn with(
        mut self,
        kind: &'static str,
        make: impl Fn(&AgentRequest<'_>) -> MadeAgent + Send + Sync + 'static,
    ) -> Self {
        self.kinds.retain(|(known, _)| *known != kind);
        self.kinds.push((kind, Arc::new(make)));
        self
    }

    /// A driver for the agent.
    pub fn make(&self, request: &AgentRequest<'_>) -> MadeAgent {
        let AgentDefinition { kind, .. } = request.definition;
        match self.kinds.iter().find(|(name, _)| name == kind) {
            Some((_, make)) if request.definition.is_complete() => make(request),
            // `agent: command` names no agent.
            Some(_) | None => {
                let nearest = nearest(kind, self.kinds.iter().map(|(name, _)| *name));
                let known = self.known_by_name().collect();
                request.refused(FaultKind::UnknownAgent { name: kind.clone(), known, nearest })
            }
        }
    }

    /// The agent that a text on the command line means: a known name, or else a command.
    pub fn definition(&self, text: &str) -> AgentDefinition {
        match self.known_by_name().any(|name| name == text) {
            true => AgentDefinition::named(text),
            false => AgentDefinition::command(text),
        }
    }

    /// Agents that need no settings.
    fn known_by_name(&self) -> impl Iterator<Item = &'static str> {
        let names = self.kinds.iter().map(|(name, _)| *name);
        names.filter(|name| AgentDefinition::named(name).is_complete())
    }
}

#[cfg(test)]
mod tests {
    use hookwright_config::SourceFile;

    use super::*;
    use crate::scripted::ScriptedAgent;

    fn make(factory: &AgentFactory, definition: &AgentDefinition) -> MadeAgent {
        let source = Arc::new(SourceFile { path: "loop.yaml".into(), text: "".into() });
        factory.make(&AgentRequest {
            definition,
            fault: &|kind| Fault { source: Arc::clone(&source), place: None, kind },
            file: &|_| None,
            settings: &AgentSettings::default(),
            session_files: &[],
            environment: &[],
            working_dir: Path::new("/"),
        })
    }

    fn refused(factory: &AgentFactory, definition: &AgentDefinition) -> FaultKind {
        match make(factory, definition) {
            Ok(_) => panic!("it was made"),
            Err(mut faults) => faults.pop().expect("a fault").kind,
        }
    }

    #[test]
    fn an_unknown_agent_is_refused_with_the_nearest_name() {
        let factory = AgentFactory::default();
        let known = presets::presets().iter().map(|preset| preset.name).collect::<Vec<_>>();
        for (name, nearest) in [("claud", Some("claude")), ("comand", Some("command")), ("x", None)]
        {
            let found = refused(&factory, &AgentDefinition::named(name));
            let known = known.clone();
            assert_eq!(found, FaultKind::UnknownAgent { name: name.to_owned(), known, nearest });
        }
    }

    #[test]
    fn a_kind_without_its_required_setting_is_refused() {
        let found = refused(&AgentFactory::default(), &AgentDefinition::named("command"));
        assert!(matches!(found, FaultKind::UnknownAgent { .. }), "{found:?}");
    }

    #[test]
    fn a_program_adds_a_kind_of_its_own() {
        let with_own = AgentFactory::default().with("own", |_| {
            let script = "turns: [[{say: x}]]";
            Ok(Arc::new(ScriptedAgent::load(script, Path::new("turns.yaml"))?))
        });
        let own = with_own.definition("own");
        assert_eq!(own, AgentDefinition::named("own"));
        assert!(make(&with_own, &own).is_ok());
        assert!(make(&AgentFactory::default(), &own).is_err());
    }

    #[test]
    fn an_unknown_name_is_a_command() {
        let factory = AgentFactory::default();
        assert_eq!(factory.definition("codex"), AgentDefinition::named("codex"));
        for text in ["my-agent --flag", "command", "scripted"] {
            assert_eq!(factory.definition(text), AgentDefinition::command(text));
        }
    }
}
