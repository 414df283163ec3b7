//! Settings that make Gemini CLI call `hookwright hook gemini`: their paths and their content.

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_events::EventName;
use serde_json::json;

use super::capabilities::ALL;
use crate::hosts::limits::INSTALLED_TIMEOUT_SECONDS;
use crate::hosts::settings_calls::{self, HooksMap, project_and_user};
use crate::hosts::{Capability, Host, HostAgent, HostFile};

/// Gemini CLI.
pub(super) const AGENTS: &[HostAgent] = &[HostAgent {
    name: "gemini",
    settings: |whereabouts, environment| {
        project_and_user(whereabouts, environment, ".gemini", "settings.json", None)
    },
}];

/// Events that come for every request to the model or for every piece of its answer. They are left
/// to users who need them.
const FREQUENT: &[&str] = &["PreCompress", "BeforeModel", "AfterModel"];

/// The events for which these settings call us.
pub(super) fn calls_in(host: &Host, files: &[ForeignFile<'_>]) -> Vec<(EventName, Matcher)> {
    settings_calls::calls_in(host, files, HooksMap::UnderHooks)
}

/// An entry for each event that is not frequent.
pub(super) fn to_install(program: &str) -> Vec<HostFile> {
    let seconds = u64::from(INSTALLED_TIMEOUT_SECONDS);
    let some: Vec<Capability> =
        ALL.iter().filter(|known| !FREQUENT.contains(&known.event)).copied().collect();
    let hooks = settings_calls::entries(&some, |known| {
        let command = settings_calls::command(program, "gemini", known, seconds);
        // Gemini CLI counts milliseconds.
        json!([{ "hooks": [{ "type": "command", "command": command, "timeout": seconds * 1000 }] }])
    });
    vec![
        HostFile::settings(".gemini/settings.json", &json!({ "hooks": hooks }))
            .moved_by("GEMINI_CLI_HOME", ""),
    ]
}
