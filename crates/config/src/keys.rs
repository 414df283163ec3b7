//! The top-level keys of each kind of file.

use super::FaultKind;
use super::node::Field;
use super::notes::Notes;

pub(super) const HOOK_FILE_KEYS: &[&str] = &[
    "version",
    "hooks",
    "disable_global_hooks",
    "callback",
    "trace",
    "permissions",
    "mcp_servers",
    "agent",
    "model",
    "project",
    "worker",
];

/// Those of the user's file for all projects: all but the last two.
pub(super) const GLOBAL_FILE_KEYS: &[&str] = HOOK_FILE_KEYS.split_at(HOOK_FILE_KEYS.len() - 2).0;

pub(super) const LOOP_KEYS: &[&str] = &[
    "version",
    "name",
    "description",
    "agent",
    "model",
    "prompt",
    "prompt_file",
    "termination",
    "max_iterations",
    "max_runtime",
    "max_cost",
    "delay",
    "hooks",
    "disable_global_hooks",
];
pub(super) const PIPELINE_KEYS: &[&str] =
    &["version", "name", "description", "stages", "max_cost", "hooks", "disable_global_hooks"];

/// Keys of agent-pipelines that another key has replaced.
const SUPERSEDED: &[(&str, &str)] = &[
    ("stage", "`loop`"),
    ("completion", "`termination`"),
    ("perspectives", "one stage for each perspective"),
    ("defaults", "`agent` and `model` in each loop"),
    ("check_before", "`termination: {type: queue}`, which checks for work before it starts"),
];

/// Whether a key is one of a loop or a pipeline.
pub(super) fn is_key_of_run(key: &str) -> bool {
    LOOP_KEYS.contains(&key) || PIPELINE_KEYS.contains(&key)
}

/// Notes an unknown key, with its successor if it has one.
pub(super) fn check_key(
    field: &Field,
    known: &'static [&'static str],
    notes: &mut Notes<'_>,
) -> bool {
    let key = &*field.key;
    if known.contains(&key) {
        return true;
    }
    match SUPERSEDED.iter().find(|(old, _)| *old == key) {
        Some((_, successor)) => {
            notes.note(field.at, FaultKind::Superseded { key: key.into(), successor });
        }
        None => notes.unknown_key(field.at, key, known),
    }
    false
}
