//! `loop.yaml`: an agent, a prompt, and when to end. Its hooks are read like those of other files;
//! this module reads the rest, as data. The runner gives it its meaning.

use std::path::PathBuf;
use std::time::Duration;

use super::agent::{self, AgentSpec};
use super::node::{Field, Mark};
use super::notes::Notes;
use super::termination::{self, Termination};
use super::{FaultKind, FilePlace};

/// A loop as its file describes it. What the file omits is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopFile {
    /// Its name.
    pub name: Option<String>,
    /// The loop's purpose.
    pub description: Option<String>,
    /// The agents, tried in this order. An agent that cannot be read is left out.
    pub agents: Option<Vec<AgentSpec>>,
    /// The agent's model, for a loop with one agent.
    pub model: Option<(String, FilePlace)>,
    /// The agent's prompt.
    pub prompt: Option<PromptSpec>,
    /// When it is enough.
    pub termination: Option<Termination>,
    /// The most iterations, whatever the termination is.
    pub max_iterations: Option<u32>,
    /// The longest run time, whatever the termination is.
    pub max_runtime: Option<Duration>,
    /// The cost in US dollars at which the session pauses for a person.
    pub max_cost: Option<f64>,
    /// Between iterations.
    pub delay: Option<Duration>,
}

/// The source of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSpec {
    /// In the loop's file.
    Text(String),
    /// In a file of its own, named from the loop's folder.
    File(PathBuf, FilePlace),
}

/// Reads the keys of a loop other than its hooks. Unknown keys were noted before.
pub(super) fn read(fields: &[Field], notes: &mut Notes<'_>) -> LoopFile {
    let mut read = LoopFile::default();
    for Field { key, at, value } in fields {
        match &**key {
            "name" => read.name = owned(notes.text(value, "a name")),
            "description" => read.description = owned(notes.text(value, "a description")),
            "agent" => read.agents = Some(agent::agents(value, notes)),
            "model" => {
                let place = value.at.place(notes.source);
                let name = notes.text(value, "the name of a model");
                read.model = name.map(|name| (name.to_owned(), place));
            }
            "prompt" => {
                both_prompts(&read, *at, notes);
                let text = notes.text(value, "a prompt");
                read.prompt = text.map(|text| PromptSpec::Text(text.to_owned()));
            }
            "prompt_file" => {
                both_prompts(&read, *at, notes);
                let place = value.at.place(notes.source);
                let path = notes.text(value, "the path of a prompt file");
                read.prompt = path.map(|path| PromptSpec::File(path.into(), place));
            }
            "termination" => read.termination = termination::read(value, notes),
            "max_iterations" => read.max_iterations = termination::iterations(value, notes),
            "max_runtime" => read.max_runtime = notes.duration(value),
            "delay" => read.delay = notes.duration(value),
            "max_cost" => read.max_cost = notes.dollars(value),
            _ => {}
        }
    }
    read
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

fn both_prompts(read: &LoopFile, at: Mark, notes: &mut Notes<'_>) {
    if read.prompt.is_some() {
        notes.note(at, FaultKind::Conflict(super::Conflict::TwoPrompts));
    }
}
