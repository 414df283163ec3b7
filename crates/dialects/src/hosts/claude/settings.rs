//! Settings that make an agent call `hookwright hook claude`: their paths and their content.

use std::path::PathBuf;

use hookwright_engine::variables::Environment;
use hookwright_events::table::EVENTS;
use serde_json::{Map, Value, json};

use crate::claude::{ClaudeFormat, SYSTEM};
use crate::hosts::HostAgent;
use crate::{Foreign, Location, Whereabouts};

/// Claude Code, and the agent that reads its settings under another name.
pub(super) const AGENTS: &[HostAgent] = &[
    HostAgent { name: "claude", settings: |whereabouts, _| ClaudeFormat.locations(whereabouts) },
    HostAgent { name: "codex", settings: settings_of_codex },
];

fn settings_of_codex(whereabouts: &Whereabouts<'_>, environment: &Environment) -> Vec<Location> {
    let home = environment.text("CODEX_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(whereabouts.home?.join(".codex")));
    let of_project = Location::of_project(whereabouts.project.join(".codex/hooks.json"));
    let of_user = home.map(|home| Location::of_user(home.join("hooks.json")));
    std::iter::once(of_project).chain(of_user).collect()
}

/// Timeout of the hooks of `SessionEnd`. Without it, Claude Code waits only 1.5 seconds.
const SESSION_END_SECONDS: u32 = 30;

/// An entry for each event with a native name. A tool call is blocked even if the program is
/// missing or crashes.
pub(super) fn to_install(program: &str) -> Value {
    let mut hooks = Map::new();
    for name in EVENTS.iter().filter_map(|spec| spec.name_in(SYSTEM)) {
        let mut entry = json!({ "type": "command", "command": program, "args": ["hook", SYSTEM] });
        match name {
            "PreToolUse" => entry["onFailure"] = "block".into(),
            "SessionEnd" => {
                let deadline = SESSION_END_SECONDS.to_string();
                entry["args"] = json!(["hook", SYSTEM, "--deadline", deadline]);
                entry["timeout"] = SESSION_END_SECONDS.into();
            }
            _ => {}
        }
        hooks.insert(name.to_owned(), json!([{ "hooks": [entry] }]));
    }
    json!({ "hooks": hooks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_settings_that_install_it() {
        let page = include_str!("../../../../../docs/claude-code.md");
        let written = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
        let written: Value = serde_json::from_str(written.expect("settings")).expect("JSON");
        assert_eq!(written, to_install("hookwright"));
    }
}
