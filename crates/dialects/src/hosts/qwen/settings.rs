//! Settings that make Qwen Code call `hookwright hook qwen`: their paths and their content.

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_events::EventName;
use serde_json::json;

use super::capabilities::ALL;
use crate::hosts::limits::INSTALLED_TIMEOUT_SECONDS;
use crate::hosts::settings_calls::{self, HooksMap, project_and_user};
use crate::hosts::{Host, HostAgent, HostFile};

/// Qwen Code.
pub(super) const AGENTS: &[HostAgent] = &[HostAgent {
    name: "qwen",
    settings: |whereabouts, environment| {
        project_and_user(whereabouts, environment, ".qwen", "settings.json", None)
    },
}];

/// The events for which these settings call us.
pub(super) fn calls_in(host: &Host, files: &[ForeignFile<'_>]) -> Vec<(EventName, Matcher)> {
    settings_calls::calls_in(host, files, HooksMap::UnderHooks)
}

/// An entry for each event.
pub(super) fn to_install(program: &str) -> Vec<HostFile> {
    let seconds = u64::from(INSTALLED_TIMEOUT_SECONDS);
    let hooks = settings_calls::entries(ALL, |known| {
        let command = settings_calls::command(program, "qwen", known, seconds);
        // Qwen Code counts milliseconds.
        json!([{ "hooks": [{ "type": "command", "command": command, "timeout": seconds * 1000 }] }])
    });
    vec![
        HostFile::settings(".qwen/settings.json", &json!({ "hooks": hooks }))
            .moved_by("QWEN_HOME", ".qwen"),
    ]
}
