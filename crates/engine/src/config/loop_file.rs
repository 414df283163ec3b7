//! `loop.yaml`: an agent, a prompt, and when it is enough. Its hooks are read with those of other
//! files; this is the rest, as data. What it means is the runner's affair.

use std::path::PathBuf;
use std::time::Duration;

use super::node::{Field, Mark, Node, Raw};
use super::notes::Notes;
use super::termination::{self, Termination};
use super::{FaultKind, Place};

/// A loop as its file says it. What is not written is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopFile {
    /// Its name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Who does the work: tried in this order.
    pub agents: Vec<AgentSpec>,
    /// The agent's model.
    pub model: Option<String>,
    /// What the agent is told.
    pub prompt: Option<PromptSpec>,
    /// When it is enough.
    pub termination: Option<Termination>,
    /// However it ends, no more than this.
    pub max_iterations: Option<u32>,
    /// However it ends, no longer than this.
    pub max_runtime: Option<Duration>,
    /// Between iterations.
    pub delay: Option<Duration>,
}

/// An agent, and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSpec {
    /// Who.
    pub kind: AgentKind,
    /// Where in the file.
    pub place: Place,
}

/// Who does the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentKind {
    /// An agent that is known by name.
    Named(String),
    /// Any program.
    Command {
        /// Shell text.
        command: String,
        /// How it gets its prompt.
        prompt: PromptBy,
    },
    /// A file of turns, for trying things out without a model.
    Scripted {
        /// The file, named from the loop's folder.
        script: PathBuf,
    },
}

/// How a program gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptBy {
    /// On standard input.
    Stdin,
    /// As its last argument.
    Argument,
}

/// Where a prompt stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSpec {
    /// In the loop's file.
    Text(String),
    /// In a file of its own, named from the loop's folder.
    File(PathBuf, Place),
}

/// Reads the keys of a loop that are not its hooks. Keys that nobody knows were noted before.
pub(super) fn read(fields: &[Field], notes: &mut Notes<'_>) -> LoopFile {
    let mut read = LoopFile::default();
    for Field { key, at, value } in fields {
        match &**key {
            "name" => read.name = owned(notes.text(value, "a name")),
            "description" => read.description = owned(notes.text(value, "a description")),
            "agent" => read.agents = agents(value, notes),
            "model" => read.model = owned(notes.text(value, "the name of a model")),
            "prompt" => {
                both_prompts(&read, *at, notes);
                let text = notes.text(value, "what the agent is told");
                read.prompt = text.map(|text| PromptSpec::Text(text.to_owned()));
            }
            "prompt_file" => {
                both_prompts(&read, *at, notes);
                let place = value.at.place(notes.source);
                let path = notes.text(value, "a file with what the agent is told");
                read.prompt = path.map(|path| PromptSpec::File(path.into(), place));
            }
            "termination" => read.termination = termination::read(value, notes),
            "max_iterations" => read.max_iterations = termination::iterations(value, notes),
            "max_runtime" => read.max_runtime = notes.duration(value),
            "delay" => read.delay = notes.duration(value),
            "max_cost" => {
                let what = "max_cost".to_owned();
                notes.note(*at, FaultKind::NotYet { what });
            }
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

/// One agent or a list to fail over.
pub(super) fn agents(node: &Node, notes: &mut Notes<'_>) -> Vec<AgentSpec> {
    match &node.raw {
        Raw::List(items) if !items.is_empty() => {
            items.iter().filter_map(|item| agent(item, notes)).collect()
        }
        _ => agent(node, notes).into_iter().collect(),
    }
}

fn agent(node: &Node, notes: &mut Notes<'_>) -> Option<AgentSpec> {
    const KEYS: &[&str] = &["type", "command", "prompt", "script"];
    const TYPES: &[&str] = &["command", "scripted"];
    let place = node.at.place(notes.source);
    if let Raw::Text(_) = node.raw {
        let kind = AgentKind::Named(notes.text(node, "an agent's name")?.to_owned());
        return Some(AgentSpec { kind, place });
    }
    let fields = notes.map(node, "an agent's name, or a map with `type`")?;
    let get = |key: &str| fields.iter().find(|field| &*field.key == key);
    let mut is_sound = true;
    for field in fields.iter().filter(|field| !KEYS.contains(&&*field.key)) {
        notes.unknown_key(field.at, &field.key, KEYS);
        is_sound = false;
    }
    let by_key = if get("script").is_some() { "scripted" } else { "command" };
    let kind = match get("type") {
        Some(field) => notes.word(&field.value, TYPES, TYPES)?,
        None => by_key,
    };
    let kind = match kind {
        "scripted" => {
            let Some(script) = get("script") else {
                notes.note(node.at, FaultKind::Missing { missing: "`script`, a file of turns" });
                return None;
            };
            AgentKind::Scripted { script: notes.text(&script.value, "a file of turns")?.into() }
        }
        _ => {
            let Some(command) = get("command") else {
                notes.note(node.at, FaultKind::Missing { missing: "`command`" });
                return None;
            };
            let command = notes.text(&command.value, "a command")?.to_owned();
            let prompt = match get("prompt") {
                Some(field) => notes.word(
                    &field.value,
                    &["stdin", "argument"],
                    &[PromptBy::Stdin, PromptBy::Argument],
                )?,
                None => PromptBy::Stdin,
            };
            AgentKind::Command { command, prompt }
        }
    };
    is_sound.then_some(AgentSpec { kind, place })
}
