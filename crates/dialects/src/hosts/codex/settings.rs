//! Settings that make Codex call `hookwright hook codex`: their paths and their content.

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_events::EventName;
use serde_json::json;

use super::capabilities::{ALL, SESSION_END_PATIENCE};
use crate::hosts::limits::INSTALLED_TIMEOUT_SECONDS;
use crate::hosts::settings_calls::{self, HooksMap, project_and_user};
use crate::hosts::{FileShare, Host, HostAgent, HostFile};

/// Codex.
pub(super) const AGENTS: &[HostAgent] = &[HostAgent {
    name: "codex",
    settings: |whereabouts, environment| {
        project_and_user(whereabouts, environment, ".codex", "hooks.json", Some("CODEX_HOME"))
    },
}];

/// The events for which these settings call us.
pub(super) fn calls_in(host: &Host, files: &[ForeignFile<'_>]) -> Vec<(EventName, Matcher)> {
    settings_calls::calls_in(host, files, HooksMap::UnderHooks)
}

/// An entry for each event.
pub(super) fn to_install(program: &str) -> Vec<HostFile> {
    let hooks = settings_calls::entries(ALL, |known| {
        let seconds = match known.native {
            "session:end" => SESSION_END_PATIENCE.as_secs(),
            _ => u64::from(INSTALLED_TIMEOUT_SECONDS),
        };
        let command = settings_calls::command(program, "codex", known, seconds);
        json!([{ "hooks": [{ "type": "command", "command": command, "timeout": seconds }] }])
    });
    let file = HostFile::settings(".codex/hooks.json", &json!({ "hooks": hooks }));
    let share = FileShare::Settings { hooks_key: Some("hooks"), is_strict: true };
    vec![HostFile { share, ..file.moved_by("CODEX_HOME", ".codex") }]
}
