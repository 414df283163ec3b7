//! `agent:` of a file, as data: the agents and their settings. `hookwright-agents` makes drivers of
//! them.
//!
//! [`KINDS`] lists the settings of each kind of agent. Any other kind is the name of a known agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::node::{Field, Mark, Node, Raw};
use super::notes::Notes;
use super::{ExpectedValue, FaultKind, FilePlace, MissingKey};
use hookwright_engine::nearest;

/// The longest name of an agent, in characters. Names are shown in tables and lines.
const AGENT_NAME_CHARS_MAX: usize = 64;

/// The kind of an agent whose file gives no kind.
const COMMAND: &str = "command";

/// The kind of the built-in agent.
const BUILT_IN: &str = "builtin";

/// The largest number of requests in one turn of the built-in agent.
const TURNS_MAX: u32 = 10_000;

/// The settings of the kinds of agents.
const KINDS: &[(&str, &[SettingSpec])] = &[
    (
        "scripted",
        &[SettingSpec {
            key: "script",
            shape: SettingShape::File("a file of turns"),
            missing: Some(MissingKey::Script),
        }],
    ),
    (
        BUILT_IN,
        &[
            SettingSpec {
                key: "model",
                shape: SettingShape::Text("the name of a model"),
                missing: None,
            },
            SettingSpec {
                key: "permission_mode",
                shape: SettingShape::Word(&[
                    "default",
                    "acceptEdits",
                    "plan",
                    "dontAsk",
                    "bypassPermissions",
                ]),
                missing: None,
            },
            SettingSpec { key: "max_turns", shape: SettingShape::Count, missing: None },
            SettingSpec { key: "permissions", shape: SettingShape::Rules, missing: None },
        ],
    ),
    (
        COMMAND,
        &[
            SettingSpec {
                key: "command",
                shape: SettingShape::Text("a command"),
                missing: Some(MissingKey::Command),
            },
            SettingSpec {
                key: "prompt",
                shape: SettingShape::Word(&["stdin", "argument"]),
                missing: None,
            },
        ],
    ),
];

/// The settings of an agent that is known by name.
const KNOWN_BY_NAME: &[SettingSpec] = &[
    SettingSpec { key: "model", shape: SettingShape::Text("the name of a model"), missing: None },
    SettingSpec {
        key: "args",
        shape: SettingShape::Texts("a list of arguments for the agent's program"),
        missing: None,
    },
];

/// One setting of a kind of agent.
struct SettingSpec {
    key: &'static str,
    shape: SettingShape,
    /// For a required setting: how a fault names it if it is missing.
    missing: Option<MissingKey>,
}

/// The form of a setting's value, with the text that a fault shows as expected.
enum SettingShape {
    Text(&'static str),
    Texts(&'static str),
    File(&'static str),
    /// The first word is the default.
    Word(&'static [&'static str]),
    /// A number from 1.
    Count,
    /// A map of lists of permission rules.
    Rules,
}

/// An agent, and its place in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSpec {
    /// Its kind and settings.
    pub definition: AgentDefinition,
    /// The name that its user gave it, and the place of the name.
    pub name: Option<(String, FilePlace)>,
    /// The place in the file.
    pub place: FilePlace,
}

/// An agent's kind and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// `command`, `scripted`, or the name of a known agent.
    pub kind: String,
    settings: BTreeMap<&'static str, Setting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Setting {
    Text(String),
    Texts(Vec<String>),
    File(PathBuf),
    Count(u32),
    Rules(AgentRules),
}

/// Permission rules of one agent, in addition to those of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRules {
    /// Calls that need no question.
    pub allow: Vec<String>,
    /// Calls that need one.
    pub ask: Vec<String>,
    /// Calls that never run.
    pub deny: Vec<String>,
}

impl AgentDefinition {
    /// The agent that is known by this name, without settings.
    pub fn named(name: &str) -> Self {
        Self { kind: name.to_owned(), settings: BTreeMap::new() }
    }

    /// An agent that is any program and reads its prompt from standard input.
    pub fn command(command: &str) -> Self {
        let command = (COMMAND, Setting::Text(command.to_owned()));
        Self { kind: COMMAND.to_owned(), settings: BTreeMap::from([command]) }
    }

    /// A setting that is one text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.settings.get(key) {
            Some(Setting::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A setting that is a list of texts; empty if it is not set.
    pub fn texts(&self, key: &str) -> &[String] {
        match self.settings.get(key) {
            Some(Setting::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// A setting that is a file; a relative path is relative to the folder of the configuration
    /// file.
    pub fn file(&self, key: &str) -> Option<&Path> {
        match self.settings.get(key) {
            Some(Setting::File(path)) => Some(path),
            _ => None,
        }
    }

    /// A setting that is a number.
    pub fn count(&self, key: &str) -> Option<u32> {
        match self.settings.get(key) {
            Some(Setting::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// The agent's own permission rules; empty if they are not set.
    pub fn rules(&self) -> AgentRules {
        match self.settings.get("permissions") {
            Some(Setting::Rules(rules)) => rules.clone(),
            _ => AgentRules::default(),
        }
    }

    /// The files that the settings name.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.settings.keys().filter_map(|key| self.file(key))
    }

    /// Whether every required setting of this kind of agent is set.
    pub fn is_complete(&self) -> bool {
        let required = settings_of(&self.kind).iter().filter(|spec| spec.missing.is_some());
        required.into_iter().all(|spec| self.settings.contains_key(spec.key))
    }

    /// Sets the model, if agents of this kind have that setting and it is not set.
    pub fn set_default_model(&mut self, model: &str) {
        if settings_of(&self.kind).iter().any(|spec| spec.key == "model") {
            self.settings.entry("model").or_insert_with(|| Setting::Text(model.to_owned()));
        }
    }

    /// What runs, in one line for people: the required setting or else the kind, then the lists of
    /// arguments.
    pub fn summary(&self) -> String {
        let specs = settings_of(&self.kind);
        let required = specs.iter().find(|spec| spec.missing.is_some()).and_then(|spec| {
            let file = self.file(spec.key).map(|path| path.display().to_string());
            self.text(spec.key).map(str::to_owned).or(file)
        });
        let mut words = vec![required.unwrap_or_else(|| self.kind.clone())];
        words.extend(specs.iter().flat_map(|spec| self.texts(spec.key)).cloned());
        words.join(" ")
    }
}

fn settings_of(kind: &str) -> &'static [SettingSpec] {
    KINDS.iter().find(|(name, _)| *name == kind).map_or(KNOWN_BY_NAME, |(_, settings)| settings)
}

/// The kind of an agent without `type`, recognised by the setting that only this kind has.
fn kind_of(fields: &[Field]) -> &'static str {
    let has = |spec: &SettingSpec| {
        spec.missing.is_some() && fields.iter().any(|field| &*field.key == spec.key)
    };
    KINDS.iter().find(|(_, settings)| settings.iter().any(has)).map_or(COMMAND, |(name, _)| name)
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

/// One agent, and the place of its name.
fn agent(node: &Node, notes: &mut Notes<'_>) -> Option<(AgentSpec, Option<Mark>)> {
    let place = node.at.place(notes.source);
    if let Raw::Text(_) = node.raw {
        let definition = AgentDefinition::named(notes.text(node, "an agent's name")?);
        return Some((AgentSpec { definition, name: None, place }, None));
    }
    let fields = notes.map(node, "an agent's name, or a map with `type`")?;
    let get = |key: &str| fields.iter().find(|field| &*field.key == key);
    let kind = match get("type") {
        Some(field) => notes.text(&field.value, "command, scripted, or an agent's name")?,
        None => kind_of(fields),
    };
    let definition = definition(kind, node, fields, notes);
    let name_at = get("name").map(|field| field.value.at);
    let name = match get("name") {
        Some(field) => Some(agent_name(&field.value, notes)?),
        None => None,
    };
    Some((AgentSpec { definition: definition?, name, place }, name_at))
}

/// The settings of an agent of this kind, checked against the list of them.
fn definition(
    kind: &str,
    node: &Node,
    fields: &[Field],
    notes: &mut Notes<'_>,
) -> Option<AgentDefinition> {
    let specs = settings_of(kind);
    let known: Vec<&'static str> =
        ["type", "name"].into_iter().chain(specs.iter().map(|spec| spec.key)).collect();
    let mut is_valid = true;
    for Field { key, at, .. } in fields.iter().filter(|field| !known.contains(&&*field.key)) {
        let has_key =
            |(_, specs): &&(_, &[SettingSpec])| specs.iter().any(|spec| *spec.key == **key);
        let (nearest, known) = (nearest(key, known.iter().copied()), known.clone());
        let (key, found) = (key.to_string(), kind.to_owned());
        let fault = match KINDS.iter().find(has_key) {
            Some((belongs_to, _)) => FaultKind::KeyOfOtherAgent { key, belongs_to, found },
            None => FaultKind::UnknownKey { key, known, nearest },
        };
        notes.note(*at, fault);
        is_valid = false;
    }
    let mut settings = BTreeMap::new();
    for spec in specs {
        match (fields.iter().find(|field| &*field.key == spec.key), spec.missing) {
            (Some(field), _) => match spec.shape.read(&field.value, notes) {
                // A file that sets the default and a file that sets nothing describe the same
                // agent.
                Some(setting) if spec.shape.is_default(&setting) => {}
                Some(setting) => drop(settings.insert(spec.key, setting)),
                None => is_valid = false,
            },
            (None, Some(missing)) => {
                // As a rule, an unknown key is the missing one, misspelt.
                if is_valid {
                    notes.missing(node.at, missing);
                }
                is_valid = false;
            }
            (None, None) => {}
        }
    }
    // Only the factory knows all names of agents. Ask it even if a setting is wrong.
    let is_known_kind = KINDS.iter().any(|(name, _)| *name == kind);
    (is_valid || !is_known_kind).then(|| AgentDefinition { kind: kind.to_owned(), settings })
}

impl SettingShape {
    fn is_default(&self, setting: &Setting) -> bool {
        match (self, setting) {
            (SettingShape::Word(words), Setting::Text(word)) => {
                words.first() == Some(&word.as_str())
            }
            (SettingShape::Texts(_), Setting::Texts(texts)) => texts.is_empty(),
            _ => false,
        }
    }

    fn read(&self, node: &Node, notes: &mut Notes<'_>) -> Option<Setting> {
        match self {
            SettingShape::Text(expected) => {
                Some(Setting::Text(notes.text(node, *expected)?.to_owned()))
            }
            SettingShape::File(expected) => {
                Some(Setting::File(notes.text(node, *expected)?.into()))
            }
            SettingShape::Word(words) => {
                Some(Setting::Text(notes.word(node, words, words)?.to_owned()))
            }
            SettingShape::Texts(expected) => {
                Some(Setting::Texts(arguments(node, expected, notes)?))
            }
            SettingShape::Count => {
                let expected = "a number of requests from 1 to 10000";
                notes.whole_number(node, 1..=TURNS_MAX, expected).map(Setting::Count)
            }
            SettingShape::Rules => Some(Setting::Rules(rules(node, notes)?)),
        }
    }
}

/// The name of an agent, which is shown beside our own words.
fn agent_name(node: &Node, notes: &mut Notes<'_>) -> Option<(String, FilePlace)> {
    const EXPECTED: &str = "a name of at most 64 letters, digits, `.`, `_` and `-`";
    let name = notes.text(node, EXPECTED)?;
    let is_known = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
    if name.chars().count() > AGENT_NAME_CHARS_MAX || !name.chars().all(is_known) {
        notes.bad_value(node.at, name, EXPECTED);
        return None;
    }
    Some((name.to_owned(), node.at.place(notes.source)))
}

/// Permission rules. Only the agent checks what they mean.
fn rules(node: &Node, notes: &mut Notes<'_>) -> Option<AgentRules> {
    const KEYS: &[&str] = &["allow", "ask", "deny"];
    let mut all = AgentRules::default();
    for field in notes.map(node, "a map with allow, ask, deny")? {
        let list = match &*field.key {
            "allow" => &mut all.allow,
            "ask" => &mut all.ask,
            "deny" => &mut all.deny,
            key => {
                notes.unknown_key(field.at, key, KEYS);
                return None;
            }
        };
        for rule in notes.list(&field.value, "a list of rules")? {
            list.push(notes.text(rule, "a rule like bash(git push *)")?.to_owned());
        }
    }
    Some(all)
}

/// Arguments for a program. A number or a boolean is taken as it is written in the file.
fn arguments(node: &Node, expected: &'static str, notes: &mut Notes<'_>) -> Option<Vec<String>> {
    let items = notes.list(node, expected)?;
    let mut arguments = Vec::with_capacity(items.len());
    for item in items {
        match notes.written(item) {
            Some(text) if !text.contains('\0') => arguments.push(text),
            _ => {
                notes.wrong_kind(item, ExpectedValue::String);
                return None;
            }
        }
    }
    Some(arguments)
}
