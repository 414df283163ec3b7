//! `loop.yaml`: an agent, a prompt, and when it is enough. Its hooks are read with those of other
//! files; this is the rest, as data. What it means is the runner's affair.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::node::{Field, Mark, Node, Raw};
use super::notes::Notes;
use super::termination::{self, Termination};
use super::{FaultKind, Place};

/// Characters of an agent's name: it is shown in tables and lines.
const AGENT_NAME_CHARS_MAX: usize = 64;

/// A loop as its file says it. What is not written is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopFile {
    /// Its name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Who does the work: tried in this order. It is empty where what is written is a fault.
    pub agents: Option<Vec<AgentSpec>>,
    /// The agent's model, for a loop with one agent.
    pub model: Option<(String, Place)>,
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

/// An agent, and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSpec {
    /// Who.
    pub kind: AgentKind,
    /// The name that its user gave it, and where.
    pub name: Option<(String, Place)>,
    /// Where in the file.
    pub place: Place,
}

/// Who does the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentKind {
    /// An agent that is known by name.
    Named {
        /// Its name.
        name: String,
        /// Its model.
        model: Option<String>,
        /// More arguments for its program.
        args: Vec<String>,
    },
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
            "agent" => read.agents = Some(agents(value, notes)),
            "model" => {
                let place = value.at.place(notes.source);
                let name = notes.text(value, "the name of a model");
                read.model = name.map(|name| (name.to_owned(), place));
            }
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

/// One agent or a list to fail over.
pub(super) fn agents(node: &Node, notes: &mut Notes<'_>) -> Vec<AgentSpec> {
    match &node.raw {
        Raw::List(items) if !items.is_empty() => {
            let mut names: BTreeMap<String, u32> = BTreeMap::new();
            let mut agents = Vec::with_capacity(items.len());
            for item in items {
                let Some((spec, at)) = agent(item, notes) else { continue };
                if let (Some((name, _)), Some(at)) = (&spec.name, at)
                    && let Some(first_line) = names.insert(name.clone(), at.line)
                {
                    notes.note(at, FaultKind::DuplicateName { name: name.clone(), first_line });
                }
                agents.push(spec);
            }
            agents
        }
        _ => agent(node, notes).into_iter().map(|(spec, _)| spec).collect(),
    }
}

/// An agent, and where its name is.
fn agent(node: &Node, notes: &mut Notes<'_>) -> Option<(AgentSpec, Option<Mark>)> {
    let place = node.at.place(notes.source);
    if let Raw::Text(_) = node.raw {
        let name = notes.text(node, "an agent's name")?.to_owned();
        let kind = AgentKind::Named { name, model: None, args: Vec::new() };
        return Some((AgentSpec { kind, name: None, place }, None));
    }
    let fields = notes.map(node, "an agent's name, or a map with `type`")?;
    let get = |key: &str| fields.iter().find(|field| &*field.key == key);
    let by_key = if get("script").is_some() { "scripted" } else { "command" };
    let kind = match get("type") {
        Some(field) => notes.text(&field.value, "command, scripted, or an agent's name")?,
        None => by_key,
    };
    let known: &'static [&'static str] = match kind {
        "scripted" => &["type", "name", "script"],
        "command" => &["type", "name", "command", "prompt"],
        _ => &["type", "name", "model", "args"],
    };
    let mut is_sound = true;
    for field in fields.iter().filter(|field| !known.contains(&&*field.key)) {
        notes.unknown_key(field.at, &field.key, known);
        is_sound = false;
    }
    let kind = match kind {
        "scripted" => {
            let Some(script) = get("script") else {
                // A key that nobody knows is as a rule the one that is missing, misspelt.
                if is_sound {
                    let missing = "`script`, a file of turns";
                    notes.note(node.at, FaultKind::Missing { missing });
                }
                return None;
            };
            AgentKind::Scripted { script: notes.text(&script.value, "a file of turns")?.into() }
        }
        "command" => {
            let Some(command) = get("command") else {
                if is_sound {
                    notes.note(node.at, FaultKind::Missing { missing: "`command`" });
                }
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
        name => {
            let name = name.to_owned();
            let model = get("model")
                .and_then(|field| owned(notes.text(&field.value, "the name of a model")));
            AgentKind::Named { name, model, args: arguments(get("args"), notes)? }
        }
    };
    let name_at = get("name").map(|field| field.value.at);
    let name = match get("name") {
        Some(field) => Some(agent_name(&field.value, notes)?),
        None => None,
    };
    is_sound.then_some((AgentSpec { kind, name, place }, name_at))
}

/// The name of an agent, which is shown beside words of ours.
fn agent_name(node: &Node, notes: &mut Notes<'_>) -> Option<(String, Place)> {
    const EXPECTED: &str = "a name of at most 64 letters, digits, `.`, `_` and `-`";
    let name = notes.text(node, EXPECTED)?;
    let is_known = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
    if name.chars().count() > AGENT_NAME_CHARS_MAX || !name.chars().all(is_known) {
        notes.note(node.at, FaultKind::BadValue { found: name.to_owned(), expected: EXPECTED });
        return None;
    }
    Some((name.to_owned(), node.at.place(notes.source)))
}

/// Arguments for a program; numbers and booleans count as the text that stands there.
fn arguments(field: Option<&Field>, notes: &mut Notes<'_>) -> Option<Vec<String>> {
    const EXPECTED: &str = "a list of arguments for the agent's program";
    let Some(field) = field else { return Some(Vec::new()) };
    let items = notes.list(&field.value, EXPECTED)?;
    let mut arguments = Vec::with_capacity(items.len());
    for item in items {
        match notes.written(item) {
            Some(text) if !text.contains('\0') => arguments.push(text),
            _ => {
                notes.wrong_kind(item, "a text");
                return None;
            }
        }
    }
    Some(arguments)
}
