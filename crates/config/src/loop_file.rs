//! `loop.yaml`: an agent, a prompt, and when it is enough. Its hooks are read with those of other
//! files; this is the rest, as data. What it means is the runner's affair.

use std::path::PathBuf;
use std::time::Duration;

use super::agent::{self, AgentSpec};
use super::node::{Field, Mark};
use super::notes::Notes;
use super::termination::{self, Termination};
use super::{FaultKind, FilePlace};

/// A loop as its file says it. What is not written is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopFile {
    /// Its name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Who does the work: tried in this order. An agent that cannot be read is not among them.
    pub agents: Option<Vec<AgentSpec>>,
    /// The agent's model, for a loop with one agent.
    pub model: Option<(String, FilePlace)>,
    /// What the agent is told.
    pub prompt: Option<PromptSpec>,
    /// When it is enough.
    pub termination: Option<Termination>,
    /// However it ends, no more than this.
    pub max_iterations: Option<u32>,
    /// However it ends, no longer than this.
    pub max_runtime: Option<Duration>,
    /// It waits for somebody when it has cost so many US dollars.
    pub max_cost: Option<f64>,
    /// Between iterations.
    pub delay: Option<Duration>,
}

/// Where a prompt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSpec {
    /// In the loop's file.
    Text(String),
    /// In a file of its own, named from the loop's folder.
    File(PathBuf, FilePlace),
}

/// Reads the keys of a loop that are not its hooks. Unknown keys were noted before.
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
