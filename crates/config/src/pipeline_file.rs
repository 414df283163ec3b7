//! `pipeline.yaml`: stages that run one after the other. Its hooks are read like those of other
//! files; this module reads the rest, as data.

use super::keys::{LOOP_KEYS, check_key};
use super::loop_file::{self, LoopFile};
use super::node::{Field, Node, Raw};
use super::notes::Notes;
use super::termination;
use super::{FilePlace, MissingKey};
use crate::limits::STAGES_MAX;

/// A pipeline as its file describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PipelineFile {
    /// Its name.
    pub name: Option<String>,
    /// The pipeline's purpose.
    pub description: Option<String>,
    /// Its stages, in order.
    pub stages: Vec<StageSpec>,
    /// The cost in US dollars at which the session pauses for a person.
    pub max_cost: Option<f64>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageSpec {
    /// Its name, unique within the pipeline.
    pub name: String,
    /// Its loop.
    pub body: StageBody,
    /// The number of iterations.
    pub runs: Option<u32>,
    /// What it takes from an earlier stage.
    pub inputs: Option<Inputs>,
    /// The place in the file.
    pub place: FilePlace,
}

/// A stage's loop.
#[derive(Debug, Clone, PartialEq)]
pub enum StageBody {
    /// By name or path.
    Named {
        /// The name or path.
        name: String,
        /// The place in the file.
        place: FilePlace,
    },
    /// The loop itself. Its hooks belong to this stage.
    Inline(Box<LoopFile>),
}

/// What a stage gets from an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// The stage.
    pub from: String,
    /// The outputs that it takes.
    pub select: Select,
}

/// Selects outputs of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Select {
    /// The last one.
    Latest,
    /// All of them.
    All,
}

const STAGE_KEYS: &[&str] = &["name", "loop", "runs", "inputs"];

/// Reads the keys of a pipeline other than its hooks. `inline` is called with each loop that is
/// written in the file itself; its hooks are read with the others.
pub(super) fn read<'n>(
    fields: &'n [Field],
    whole: &Node,
    notes: &mut Notes<'_>,
    inline: &mut Vec<(String, &'n [Field])>,
) -> PipelineFile {
    let mut read = PipelineFile::default();
    let mut has_stages = false;
    for Field { key, value, .. } in fields {
        match &**key {
            "name" => read.name = notes.text(value, "a name").map(str::to_owned),
            "description" => {
                read.description = notes.text(value, "a description").map(str::to_owned);
            }
            "max_cost" => read.max_cost = notes.dollars(value),
            "stages" => {
                has_stages = true;
                read.stages = stages(value, notes, inline);
            }
            _ => {}
        }
    }
    if !has_stages {
        notes.missing(whole.at, MissingKey::Stages);
    }
    read
}

fn stages<'n>(
    node: &'n Node,
    notes: &mut Notes<'_>,
    inline: &mut Vec<(String, &'n [Field])>,
) -> Vec<StageSpec> {
    let items = notes.list(node, "a list of stages").unwrap_or_default();
    if items.is_empty() || items.len() > STAGES_MAX {
        notes.bad_value(node.at, format!("{} stages", items.len()), "a list of 1 to 99 stages");
        return Vec::new();
    }
    let mut read: Vec<StageSpec> = Vec::with_capacity(items.len());
    for item in items {
        let Some(stage) = stage(item, &read, notes, inline) else { continue };
        if read.iter().any(|known| known.name == stage.name) {
            notes.bad_value(item.at, &stage.name, "a name that no other stage has");
        }
        read.push(stage);
    }
    read
}

fn stage<'n>(
    node: &'n Node,
    before: &[StageSpec],
    notes: &mut Notes<'_>,
    inline: &mut Vec<(String, &'n [Field])>,
) -> Option<StageSpec> {
    let fields = notes.map(node, "a stage, a map with `name` and `loop`")?;
    for field in fields {
        check_key(field, STAGE_KEYS, notes);
    }
    let get = |key: &str| fields.iter().find(|field| &*field.key == key).map(|field| &field.value);
    let Some(body) = get("loop") else {
        notes.missing(node.at, MissingKey::Loop);
        return None;
    };
    let name = match get("name") {
        Some(name) => notes.text(name, "a name").filter(|name| is_name(name, get("name"), notes)),
        None => match &body.raw {
            Raw::Text(text) if is_plain(text) => Some(&**text),
            _ => {
                notes.missing(node.at, MissingKey::StageName);
                None
            }
        },
    };
    let runs = get("runs").and_then(|runs| termination::iterations(runs, notes));
    let inputs = get("inputs").and_then(|inputs| self::inputs(inputs, before, notes));
    let place = node.at.place(notes.source);
    let body = match &body.raw {
        Raw::Map(fields) => {
            for field in fields {
                check_key(field, LOOP_KEYS, notes);
            }
            if let Some(name) = name {
                inline.push((name.to_owned(), fields));
            }
            StageBody::Inline(Box::new(loop_file::read(fields, notes)))
        }
        _ => {
            let place = body.at.place(notes.source);
            let name = notes.text(body, "a loop's name, its path, or the loop itself")?.to_owned();
            StageBody::Named { name, place }
        }
    };
    Some(StageSpec { name: name?.to_owned(), body, runs, inputs, place })
}

/// Names of stages become names of folders.
fn is_plain(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn is_name(name: &str, node: Option<&Node>, notes: &mut Notes<'_>) -> bool {
    if let (false, Some(node)) = (is_plain(name), node) {
        notes.bad_value(node.at, name, "a name of letters, digits, `_` and `-`, at most 64");
        return false;
    }
    true
}

fn inputs(node: &Node, before: &[StageSpec], notes: &mut Notes<'_>) -> Option<Inputs> {
    const KEYS: &[&str] = &["from", "select"];
    const EARLIER_STAGE: &str = "the name of an earlier stage";
    let fields = notes.map(node, "a map with `from`")?;
    for field in fields.iter().filter(|field| !KEYS.contains(&&*field.key)) {
        notes.unknown_key(field.at, &field.key, KEYS);
    }
    let get = |key: &str| fields.iter().find(|field| &*field.key == key).map(|field| &field.value);
    let Some(from) = get("from") else {
        notes.missing(node.at, MissingKey::From);
        return None;
    };
    let name = notes.text(from, EARLIER_STAGE)?;
    if !before.iter().any(|stage| stage.name == name) {
        notes.bad_value(from.at, name, EARLIER_STAGE);
    }
    let select = match get("select") {
        Some(word) => notes.word(word, &["latest", "all"], &[Select::Latest, Select::All])?,
        None => Select::Latest,
    };
    Some(Inputs { from: name.to_owned(), select })
}
