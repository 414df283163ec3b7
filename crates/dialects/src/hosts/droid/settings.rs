//! Settings that make Droid call `hookwright hook droid`: their paths and their content.

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_events::EventName;
use serde_json::json;

use super::capabilities::ALL;
use crate::hosts::limits::INSTALLED_TIMEOUT_SECONDS;
use crate::hosts::settings_calls::{self, HooksMap, project_and_user};
use crate::hosts::{FileShare, Host, HostAgent, HostFile};

/// Droid.
pub(super) const AGENTS: &[HostAgent] = &[HostAgent {
    name: "droid",
    settings: |whereabouts, environment| {
        project_and_user(whereabouts, environment, ".factory", "hooks.json", None)
    },
}];

/// The events for which these settings call us.
pub(super) fn calls_in(host: &Host, files: &[ForeignFile<'_>]) -> Vec<(EventName, Matcher)> {
    settings_calls::calls_in(host, files, HooksMap::WholeFile)
}

/// An entry for each event.
pub(super) fn to_install(program: &str) -> Vec<HostFile> {
    let seconds = u64::from(INSTALLED_TIMEOUT_SECONDS);
    let hooks = settings_calls::entries(ALL, |known| {
        let command = settings_calls::command(program, "droid", known, seconds);
        json!([{ "hooks": [{ "type": "command", "command": command, "timeout": seconds }] }])
    });
    // The bare map: under a key `hooks`, Droid reads it without a message and runs nothing.
    let file = HostFile::settings(".factory/hooks.json", &json!(hooks));
    let share = FileShare::Settings { hooks_key: None, is_strict: false };
    vec![HostFile { share, ..file.moved_by("FACTORY_HOME_OVERRIDE", "") }]
}
