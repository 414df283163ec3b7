//! The plugin by which opencode calls `hookwright hook opencode`. It fails closed: whatever goes wrong
//! before a tool call or a prompt becomes an error, which opencode takes for a no. A plugin that does
//! not load is silent in opencode, so `plugin.js` uses nothing but Node's own modules.

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_events::EventName;

use super::capabilities::ALL;
use crate::Location;
use crate::hosts::limits::INSTALLED_TIMEOUT_SECONDS;
use crate::hosts::{FileShare, FolderVariable, HostAgent, HostFile};

/// The variable that the plugin sets for us: opencode itself is the nearest process without it.
pub(super) const MARK: &str = "HOOKWRIGHT_IN_OPENCODE";

/// The plugin.
const PLUGIN: &str = include_str!("plugin.js");

/// The end of its first line.
const MADE_BY_US: &str = "Made by the program; changes here are lost.";

/// The file's name in a folder of plugins.
const FILE: &str = "hookwright.js";

/// opencode.
pub(super) const AGENTS: &[HostAgent] = &[HostAgent {
    name: "opencode",
    settings: |whereabouts, environment| {
        let of_project =
            Location::of_project(whereabouts.project.join(".opencode/plugins").join(FILE));
        let home = environment.text("XDG_CONFIG_HOME").map(std::path::PathBuf::from);
        let home = home.or_else(|| Some(whereabouts.home?.join(".config")));
        let of_user = home.map(|home| Location::of_user(home.join("opencode/plugins").join(FILE)));
        std::iter::once(of_project).chain(of_user).collect()
    },
}];

/// The events for which the plugin calls us.
pub(super) fn calls_in(files: &[ForeignFile<'_>]) -> Vec<(EventName, Matcher)> {
    let texts = files.iter().filter_map(|file| file.text.as_ref().ok());
    let plugins = texts.filter(|source| source.text.contains("\"hook\", \"opencode\""));
    let named = |_| ALL.iter().filter_map(|known| EventName::resolve(known.native));
    plugins.flat_map(named).map(|name| (name, Matcher::All)).collect()
}

/// A module that fails if the plugin does not load, or has no function for tool calls.
pub(super) fn load_check(plugin: &str) -> String {
    format!(
        "{plugin}\nconst loaded = await Hookwright({{}})\n\
         if (typeof loaded[\"tool.execute.before\"] !== \"function\") throw new Error(\"no hooks\")\n"
    )
}

/// Whether a file is the plugin, of whatever version: its first line says that changes are lost.
pub(super) fn is_ours(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("// Hookwright ") && first.ends_with(MADE_BY_US)
}

/// The plugin for this program.
pub(super) fn to_install(program: &str) -> Vec<HostFile> {
    let program = serde_json::Value::from(program).to_string();
    let text = PLUGIN
        .replace("VERSION", env!("CARGO_PKG_VERSION"))
        .replace("\"PROGRAM\"", &program)
        .replace("\"SECONDS\"", &INSTALLED_TIMEOUT_SECONDS.to_string());
    vec![HostFile {
        path: ".config/opencode/plugins/hookwright.js",
        project_path: ".opencode/plugins/hookwright.js",
        moved_by: Some(FolderVariable { name: "XDG_CONFIG_HOME", replaces: ".config" }),
        text,
        is_program: false,
        share: FileShare::Own,
    }]
}
