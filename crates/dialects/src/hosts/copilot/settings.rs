//! Settings that make Copilot CLI call `hookwright hook copilot`: their paths and their content.

use std::path::Path;

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_events::EventName;
use serde_json::json;

use super::capabilities::ALL;
use crate::hosts::limits::INSTALLED_TIMEOUT_SECONDS;
use crate::hosts::settings_calls::{self, HooksMap};
use crate::hosts::{Host, HostAgent, HostFile};
use crate::{Location, own_call};

/// The file that the documentation tells users to write. Copilot reads every file of the folder; for
/// `check` this one counts.
const FILE: &str = "hookwright.json";

/// Copilot CLI.
pub(super) const AGENTS: &[HostAgent] = &[HostAgent {
    name: "copilot",
    settings: |whereabouts, _| {
        let in_folder = |folder: &Path| folder.join("hooks").join(FILE);
        let of_project = Location::of_project(in_folder(&whereabouts.project.join(".github")));
        let of_user = whereabouts.home.map(|home| in_folder(&home.join(".copilot")));
        std::iter::once(of_project).chain(of_user.map(Location::of_user)).collect()
    },
}];

/// The events for which these settings call us.
pub(super) fn calls_in(host: &Host, files: &[ForeignFile<'_>]) -> Vec<(EventName, Matcher)> {
    settings_calls::calls_in(host, files, HooksMap::UnderHooks)
}

/// An entry for each event, under its name in PascalCase.
pub(super) fn to_install(program: &str) -> Vec<HostFile> {
    let hooks = settings_calls::entries(ALL, |_| {
        let seconds = INSTALLED_TIMEOUT_SECONDS;
        // Copilot blocks by itself if a program is missing or crashes.
        let program = own_call::for_shell(program);
        let command = format!("{program} hook copilot --deadline {seconds}");
        json!([{ "type": "command", "bash": command, "timeoutSec": seconds }])
    });
    let content = json!({ "version": 1, "hooks": hooks });
    let file = HostFile::settings(".copilot/hooks/hookwright.json", &content);
    let project_path = ".github/hooks/hookwright.json";
    vec![HostFile { project_path, ..file.moved_by("COPILOT_HOME", ".copilot") }]
}
