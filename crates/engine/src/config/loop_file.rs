//! `loop.yaml`: an agent, a prompt, and when it is enough. Its hooks are read with those of other
//! files; this is the rest, as data. What it means is the runner's affair.

use std::path::PathBuf;
use std::time::Duration;

use super::node::{Field, Mark, Node, Raw};
use super::notes::Notes;
use super::{FaultKind, Place};
use crate::limits::ITERATIONS_MAX;

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

/// When it is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Termination {
    /// After so many iterations.
    Fixed {
        /// How many; `None` leaves it to `runs` and `max_iterations`.
        iterations: Option<u32>,
    },
    /// When the agent says stop so often in a row.
    Judgment {
        /// How often.
        consensus: u32,
        /// Not before so many iterations.
        min_iterations: u32,
    },
    /// When nothing is left to do.
    Queue {
        /// Where in the file.
        place: Place,
    },
}

const TERMINATION_WORDS: &[&str] = &["fixed", "judgment", "queue"];
const ITERATIONS_EXPECTED: &str = "a whole number from 1 to 1000000";

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
            "termination" => read.termination = termination(value, notes),
            "max_iterations" => read.max_iterations = iterations(value, notes),
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

pub(super) fn iterations(node: &Node, notes: &mut Notes<'_>) -> Option<u32> {
    debug_assert_eq!(ITERATIONS_MAX, 1_000_000);
    notes.whole_number(node, 1..=ITERATIONS_MAX, ITERATIONS_EXPECTED)
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

fn termination(node: &Node, notes: &mut Notes<'_>) -> Option<Termination> {
    let fields = notes.map(node, "a map with `type`")?;
    let get = |key: &str| fields.iter().find(|field| &*field.key == key);
    let Some(kind) = get("type") else {
        let missing = "`type`: fixed, judgment or queue";
        notes.note(node.at, FaultKind::Missing { missing });
        return None;
    };
    let kind = notes.word(&kind.value, TERMINATION_WORDS, TERMINATION_WORDS)?;
    let known: &'static [&'static str] = match kind {
        "fixed" => &["type", "iterations"],
        "judgment" => &["type", "consensus", "min_iterations"],
        _ => &["type", "source", "per_item"],
    };
    for field in fields.iter().filter(|field| !known.contains(&&*field.key)) {
        notes.unknown_key(field.at, &field.key, known);
    }
    let mut number = |key: &str| get(key).and_then(|field| iterations(&field.value, notes));
    Some(match kind {
        "fixed" => Termination::Fixed { iterations: number("iterations") },
        "judgment" => Termination::Judgment {
            consensus: number("consensus").unwrap_or(2),
            min_iterations: number("min_iterations").unwrap_or(1),
        },
        _ => Termination::Queue { place: node.at.place(notes.source) },
    })
}
