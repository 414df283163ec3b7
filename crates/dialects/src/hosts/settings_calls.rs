//! Entries of an agent's settings that call us: for `check` and `run`, which say which hooks nothing
//! fires.
//!
//! An entry's own matcher is not read, so such an entry counts for every subject: the worst that
//! follows is a warning that is not given.

use std::path::Path;

use hookwright_config::ForeignFile;
use hookwright_config::tree::{Node, Raw, parse};
use hookwright_engine::matcher::Matcher;
use hookwright_engine::variables::Environment;
use hookwright_events::EventName;
use serde_json::{Map, Value};

use super::{Capability, Host};
use crate::{Location, Whereabouts, own_call};

/// Where a file has its map from events to entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HooksMap {
    /// Under the key `hooks`.
    UnderHooks,
    /// The file itself, or its key `hooks`.
    WholeFile,
}

/// The events for which these settings call the host's command.
pub(super) fn calls_in(
    host: &Host,
    files: &[ForeignFile<'_>],
    map: HooksMap,
) -> Vec<(EventName, Matcher)> {
    let mut all = Vec::new();
    for file in files {
        let Ok(source) = &file.text else { continue };
        let Ok(root) = parse(source) else { continue };
        let Some(events) = get(&root, "hooks").or((map == HooksMap::WholeFile).then_some(&root))
        else {
            continue;
        };
        let Raw::Map(fields) = &events.raw else { continue };
        for field in fields {
            let known = host.capabilities.iter().find(|known| is_name(known.event, &field.key));
            let Some(name) = known.and_then(|known| EventName::resolve(known.native)) else {
                continue;
            };
            if has_call(host.name, &field.value) {
                all.push((name, Matcher::All));
            }
        }
    }
    all
}

/// Agents write their names in `PascalCase` or in `camelCase`.
fn is_name(known: &str, written: &str) -> bool {
    known.eq_ignore_ascii_case(written)
}

/// Whether one of the commands in a list of entries is ours. The commands of an entry may be in a
/// list of their own (`hooks`).
fn has_call(host: &str, entries: &Node) -> bool {
    let Raw::List(entries) = &entries.raw else { return false };
    entries.iter().any(|entry| {
        let commands = ["command", "bash"].iter().filter_map(|key| text(get(entry, key)?));
        commands.into_iter().any(|command| own_call::is_command(host, command))
            || get(entry, "hooks").is_some_and(|inner| has_call(host, inner))
    })
}

fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    let Raw::Map(fields) = &node.raw else { return None };
    fields.iter().find(|field| *field.key == *key).map(|field| &field.value)
}

fn text(node: &Node) -> Option<&str> {
    match &node.raw {
        Raw::Text(text) => Some(text),
        _ => None,
    }
}

/// The map from events to entries that an installation writes, for events with a native name of the
/// table.
pub(super) fn entries(
    capabilities: &[Capability],
    entry: impl Fn(&Capability) -> Value,
) -> Map<String, Value> {
    let named = capabilities.iter().filter(|known| {
        EventName::resolve(known.native).is_some_and(|event| event.spec().is_some())
    });
    named.map(|known| (known.event.to_owned(), entry(known))).collect()
}

/// The shell command of an entry. Before a tool call, a missing or crashed program blocks: the shell
/// then exits with 2, and its message is the reason.
pub(super) fn command(program: &str, host: &str, known: &Capability, seconds: u64) -> String {
    let closed = if known.native == "tool:pre_execute" { " || exit 2" } else { "" };
    let program = own_call::for_shell(program);
    format!("{program} hook {host} --deadline {seconds}{closed}")
}

/// A file of the project and the same file of the user, in a folder that a variable may name.
pub(super) fn project_and_user(
    whereabouts: &Whereabouts<'_>,
    environment: &Environment,
    folder: &str,
    file: &str,
    variable: Option<&str>,
) -> Vec<Location> {
    let named = variable.and_then(|name| environment.text(name)).map(std::path::PathBuf::from);
    let of_user = named.or_else(|| Some(whereabouts.home?.join(folder)));
    let of_project: &Path = &whereabouts.project.join(folder).join(file);
    let mut all = vec![Location::of_project(of_project.to_owned())];
    if let Some(of_user) = of_user.map(|folder| folder.join(file)) {
        // In the home directory the project's settings are the user's.
        all.retain(|location| location.path != of_user);
        all.push(Location::of_user(of_user));
    }
    all
}
