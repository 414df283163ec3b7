//! Hook files of other agents, for migration: Codex, Copilot CLI, Droid, Gemini CLI and Qwen Code.
//!
//! The agents run these hooks themselves, so no command but `import` reads such a file. The files
//! share one shape, a map from events to lists of groups with commands. What differs is a row of
//! `FORMATS`: the names of the files, the unit of timeouts, and whether the events and the JSON of
//! the hooks are those of Claude Code. A hook that speaks Claude Code's JSON keeps that dialect; any
//! other becomes native, and its comment says what its author has to change.

use std::path::Path;
use std::sync::Arc;

use hookwright_config::tree::{Field, Node, Notes, Raw, parse};
use hookwright_config::{Fault, FaultKind, MissingKey, SourceFile};
use hookwright_engine::nearest;
use hookwright_engine::pattern::PatternError;
use hookwright_events::EventName;
use serde_json::{Map, Value, json};

use crate::hosts::{self, Host};
use crate::native::NativeHook;
use crate::own_call;

/// An agent whose hook files can be imported.
#[derive(Debug)]
pub struct AgentFormat {
    /// The name of its host.
    name: &'static str,
    /// The ends of its files' paths.
    endings: &'static [&'static str],
    /// How many of its timeouts' units are a second.
    units_per_second: f64,
    /// How long it lets a hook without a timeout run, in seconds.
    default_seconds: u64,
    /// Whether its hooks read and print Claude Code's JSON.
    speaks_claude: bool,
    /// Whether a hook before a tool blocks with any exit code from 2 on, or with any at all. Native
    /// hooks tell only 2 from other failures, so every failure blocks then.
    blocks_on_failure: bool,
}

/// Every such agent.
static FORMATS: &[AgentFormat] = &[
    AgentFormat {
        name: "codex",
        endings: &[".codex/hooks.json"],
        units_per_second: 1.0,
        default_seconds: 600,
        speaks_claude: true,
        blocks_on_failure: false,
    },
    AgentFormat {
        name: "copilot",
        endings: &[".copilot/hooks/*.json", ".github/hooks/*.json"],
        units_per_second: 1.0,
        default_seconds: 30,
        speaks_claude: false,
        blocks_on_failure: true,
    },
    AgentFormat {
        name: "droid",
        endings: &[".factory/hooks.json", ".factory/settings.json", ".factory/settings.local.json"],
        units_per_second: 1.0,
        default_seconds: 60,
        speaks_claude: true,
        blocks_on_failure: false,
    },
    AgentFormat {
        name: "gemini",
        endings: &[".gemini/settings.json"],
        units_per_second: 1000.0,
        default_seconds: 60,
        speaks_claude: false,
        blocks_on_failure: true,
    },
    AgentFormat {
        name: "qwen",
        endings: &[".qwen/settings.json"],
        units_per_second: 1000.0,
        default_seconds: 60,
        speaks_claude: true,
        blocks_on_failure: false,
    },
];

/// What a file of an agent contains.
#[derive(Debug, Default)]
pub struct AgentHooks {
    /// Its hooks, in the order of the file.
    pub hooks: Vec<NativeHook>,
    /// What cannot be imported, and why.
    pub left_out: Vec<Arc<Fault>>,
    /// How many entries call this program, which runs native hooks.
    pub own_calls: usize,
}

/// The names of all such agents.
pub fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}

/// The agent of this name.
pub fn named(name: &str) -> Option<&'static AgentFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The agent that a file belongs to, by its path alone.
pub fn of_file(path: &Path) -> Option<&'static AgentFormat> {
    FORMATS.iter().find(|format| format.endings.iter().any(|ending| ends_with(path, ending)))
}

/// Whether a path ends with these names; `*.json` is any JSON file.
fn ends_with(path: &Path, ending: &str) -> bool {
    match ending.strip_suffix("/*.json") {
        Some(folder) => {
            path.parent().is_some_and(|parent| parent.ends_with(folder))
                && path.extension().is_some_and(|extension| extension == "json")
        }
        None => path.ends_with(ending),
    }
}

impl AgentFormat {
    /// The agent's name on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Reads a file. The error says why nothing of it can be read.
    pub fn read(&'static self, source: &Arc<SourceFile>) -> Result<AgentHooks, Fault> {
        let root = parse(source)?;
        let host = hosts::named(self.name).expect("a test names all of them");
        let mut reading =
            AgentFileReader { format: self, host, source, found: AgentHooks::default() };
        reading.file(&root);
        Ok(reading.found)
    }
}

struct AgentFileReader<'a> {
    format: &'static AgentFormat,
    host: &'static Host,
    source: &'a Arc<SourceFile>,
    found: AgentHooks,
}

impl AgentFileReader<'_> {
    fn file(&mut self, root: &Node) {
        let mut notes = Notes::new(self.source);
        // Droid's own file has the map without a key around it. In the others, without `hooks` there
        // are none.
        let is_bare = self.format.name == "droid";
        let events = match get(root, "hooks") {
            Some(events) => notes.map(events, "a map from events to lists"),
            None if is_bare && !has_settings(root) => notes.map(root, "a map from events to lists"),
            None => None,
        };
        self.leave_out(notes);
        for event in events.unwrap_or_default() {
            self.event(event);
        }
    }

    fn event(&mut self, field: &Field) {
        let known = self.host.capabilities;
        let found = known.iter().find(|known| known.event.eq_ignore_ascii_case(&field.key));
        let mut notes = Notes::new(self.source);
        let native = match found {
            Some(known) => known.native,
            None => match self.claudes(&field.key) {
                Some(native) => native,
                None => {
                    let nearest = nearest(&field.key, known.iter().map(|known| known.event));
                    let name = field.key.to_string();
                    let unknown = PatternError::UnknownEvent { name, nearest };
                    notes.note(field.at, FaultKind::Pattern(unknown));
                    return self.leave_out(notes);
                }
            },
        };
        let groups = notes.list(&field.value, "a list of hooks");
        self.leave_out(notes);
        for group in groups.unwrap_or_default() {
            self.group(native, &field.key, group);
        }
    }

    /// The native name of an event that this agent has not sent in any recording, if it is one of
    /// Claude Code's, which these agents copy.
    fn claudes(&self, name: &str) -> Option<&'static str> {
        let claude = hosts::named("claude")?.capabilities.iter();
        let mut same = claude.filter(|known| known.event.eq_ignore_ascii_case(name));
        same.next().map(|known| known.native)
    }

    /// A group with a list of commands, or a command by itself.
    fn group(&mut self, native: &'static str, written: &str, group: &Node) {
        let mut notes = Notes::new(self.source);
        let fields = notes.map(group, "a map with `hooks` or `command`");
        let Some(fields) = fields else { return self.leave_out(notes) };
        let matcher = match field(fields, "matcher").map(|field| &field.value) {
            None => None,
            Some(Node { raw: Raw::Text(text), .. }) => matcher(text),
            // Without its matcher, a hook would run at every call.
            Some(other) => {
                notes.wrong_kind(other, "a name, `A|B` or a regular expression");
                return self.leave_out(notes);
            }
        };
        let commands = match field(fields, "hooks") {
            Some(list) => notes.list(&list.value, "a list of commands"),
            None => Some(std::slice::from_ref(group)),
        };
        self.leave_out(notes);
        for command in commands.unwrap_or_default() {
            self.command(native, written, matcher.as_deref(), command);
        }
    }

    fn command(&mut self, native: &'static str, written: &str, matcher: Option<&str>, node: &Node) {
        let mut notes = Notes::new(self.source);
        let Some(fields) = notes.map(node, "a hook, `{type, command}`") else {
            return self.leave_out(notes);
        };
        const TYPES: &[&str] = &["command"];
        if let Some(kind) = get(node, "type")
            && notes.word(kind, TYPES, TYPES).is_none()
        {
            return self.leave_out(notes);
        }
        let command = get(node, "command").or_else(|| get(node, "bash"));
        let command = match command {
            Some(command) => notes.text(command, "a command"),
            None => {
                notes.missing(node.at, MissingKey::Command);
                None
            }
        };
        let Some(command) = command.filter(|_| notes.faults.is_empty()) else {
            return self.leave_out(notes);
        };
        if hosts::all().iter().any(|host| own_call::is_command(host.name, command)) {
            self.found.own_calls += 1;
            return;
        }
        // What a native hook does in another way. Without it, the hook would do something else.
        for key in ["args", "powershell", "env", "cwd", "if"] {
            if let Some(other) = field(fields, key) {
                notes.note(other.at, FaultKind::NotYet { what: key.to_owned() });
            }
        }
        let timeout = self.timeout(node, &mut notes);
        let background = get(node, "async").and_then(|node| notes.bool(node)) == Some(true);
        let Some(timeout) = timeout.filter(|_| notes.faults.is_empty()) else {
            return self.leave_out(notes);
        };
        let mut put = Map::new();
        let texts =
            ["name", "description", "statusMessage"].iter().filter_map(|key| get(node, key));
        let mut texts = texts.filter_map(|node| match &node.raw {
            Raw::Text(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        });
        if let Some(description) = texts.next() {
            put.insert("description".to_owned(), json!(description));
        }
        if let Some(matcher) = matcher.filter(|_| has_subject(native)) {
            put.insert("matcher".to_owned(), json!(matcher));
        }
        put.insert("command".to_owned(), json!(command));
        let speaks_claude = self.speaks_claude(written);
        if !speaks_claude {
            put.insert("shell".to_owned(), json!("sh"));
        }
        put.insert("await".to_owned(), json!(!background));
        put.insert("timeout".to_owned(), timeout);
        let blocks =
            self.format.blocks_on_failure && native == EventName::TOOL_PRE_EXECUTE.as_str();
        let on_failure = if blocks { "block" } else { "continue" };
        put.insert("on_failure".to_owned(), json!(on_failure));
        if speaks_claude {
            put.insert("dialect".to_owned(), json!("claude"));
        }
        let mut differences = vec![match speaks_claude {
            true => {
                "it reads and prints Claude Code's JSON; tools have Claude Code's names there, and its \
                 exit codes mean what they mean in Claude Code"
            }
            false => {
                "it gets Hookwright's JSON with Hookwright's names of events and tools, and has to \
                 answer as a native hook does: adapt what it reads and prints (docs/hosts.md)"
            }
        }];
        if blocks {
            differences
                .push("every failure blocks: the agent also blocks with other exit codes than 2");
        }
        let event = native.to_owned();
        self.found.hooks.push(NativeHook { event, fields: put, differences });
    }

    /// Whether hooks at this event read Claude Code's JSON. Copilot CLI sends that for names in
    /// PascalCase.
    fn speaks_claude(&self, written: &str) -> bool {
        let is_pascal = written.starts_with(|first: char| first.is_ascii_uppercase());
        let is_copilots_own = written.eq_ignore_ascii_case("permissionRequest");
        self.format.speaks_claude
            || (self.format.name == "copilot" && is_pascal && !is_copilots_own)
    }

    /// The timeout in seconds: the written one, or the agent's.
    fn timeout(&self, node: &Node, notes: &mut Notes<'_>) -> Option<Value> {
        const EXPECTED: &str = "a number over 0";
        let written = get(node, "timeout").map(|node| (node, self.format.units_per_second));
        let written = written.or_else(|| Some((get(node, "timeoutSec")?, 1.0)));
        let seconds = match written {
            Some((node, units)) => match node.raw {
                Raw::Int(number) if number > 0 => number as f64 / units,
                Raw::Float(number) if number > 0.0 => number / units,
                _ => {
                    notes.bad_value(node.at, node.to_json().to_string(), EXPECTED);
                    return None;
                }
            },
            None => self.format.default_seconds as f64,
        };
        Some(match seconds.fract() == 0.0 && seconds < 1e9 {
            true => json!(seconds as u64),
            false => json!(seconds),
        })
    }

    fn leave_out(&mut self, notes: Notes<'_>) {
        self.found.left_out.extend(notes.faults.into_iter().map(Arc::new));
    }
}

/// A matcher in the form of a native one; `None` if it matches everything.
fn matcher(text: &str) -> Option<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-| ,".contains(letter);
    match text.trim() {
        "" | "*" | ".*" => None,
        names if names.chars().all(is_name) => {
            let names = names.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            Some(names.collect::<Vec<_>>().join("|"))
        }
        regex => Some(format!("/{regex}/")),
    }
}

/// Whether native hooks can have a matcher there. The subject of a stop is not these agents'.
fn has_subject(native: &str) -> bool {
    let name = EventName::resolve(native);
    name.is_some_and(|name| name != EventName::SESSION_STOP && name.subject_field().is_some())
}

/// Whether a file of Droid is its settings, in which hooks have a key.
fn has_settings(root: &Node) -> bool {
    match &root.raw {
        Raw::Map(fields) => fields.iter().any(|field| !matches!(field.value.raw, Raw::List(_))),
        _ => false,
    }
}

fn field<'n>(fields: &'n [Field], key: &str) -> Option<&'n Field> {
    fields.iter().find(|field| *field.key == *key)
}

fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.raw {
        Raw::Map(fields) => field(fields, key).map(|field| &field.value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_that_of_a_host() {
        for name in names() {
            assert!(hosts::named(name).is_some(), "{name}");
            assert_eq!(named(name).map(AgentFormat::name), Some(name));
        }
    }

    #[test]
    fn files_are_known_by_the_ends_of_their_paths() {
        for (path, agent) in [
            ("/home/me/.codex/hooks.json", Some("codex")),
            (".codex/hooks.json", Some("codex")),
            ("/p/.copilot/hooks/mine.json", Some("copilot")),
            ("/p/.github/hooks/x.json", Some("copilot")),
            ("/p/.github/hooks/x.yaml", None),
            ("/p/.factory/hooks.json", Some("droid")),
            ("/p/.gemini/settings.json", Some("gemini")),
            ("/p/.qwen/settings.json", Some("qwen")),
            ("/p/.claude/settings.json", None),
            ("/p/hooks.json", None),
            ("/p/x.codex/hooks.json", None),
        ] {
            assert_eq!(of_file(Path::new(path)).map(AgentFormat::name), agent, "{path}");
        }
    }

    #[test]
    fn matchers_are_names_or_patterns() {
        for (written, native) in [
            ("", None),
            ("*", None),
            ("Bash", Some("Bash")),
            ("write_file | replace", Some("write_file|replace")),
            ("mcp__.*", Some("/mcp__.*/")),
        ] {
            assert_eq!(matcher(written).as_deref(), native, "{written}");
        }
    }
}
