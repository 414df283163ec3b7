//! [`Connection`]: an event for which an agent's own settings call this program
//! (`hookwright hook claude`), so that native hooks run inside the agent.
//!
//! `check` and `run` use them to find hooks that no event can fire.

use std::sync::Arc;

use hookwright_config::{ConfigFile, ForeignFile, SourceFile, read_text};
use hookwright_engine::hook::Hook;
use hookwright_engine::matcher::{Matcher, Subject};
use hookwright_engine::pattern::PatternPoint;
use hookwright_engine::variables::Environment;
use hookwright_events::{Event, EventName};
use serde_json::{Map, Value};

use crate::{Location, Whereabouts};

/// An event for which an agent's settings call this program.
#[derive(Debug)]
pub struct Connection {
    /// The agent, by the name of its preset.
    pub agent: &'static str,
    /// The value of the event's field `host`.
    pub host: &'static str,
    event: EventName,
    subjects: Matcher,
}

/// Every event for which the settings of an agent in this project call this program.
pub fn connections(whereabouts: &Whereabouts<'_>, environment: &Environment) -> Vec<Connection> {
    let mut all = Vec::new();
    let agents =
        super::all().iter().flat_map(|host| host.agents.iter().map(|agent| (*host, agent)));
    for (host, agent) in agents {
        let locations = (agent.settings)(whereabouts, environment);
        let files: Vec<ConfigFile> = locations
            .into_iter()
            // Opening a named pipe would block.
            .filter(|location| location.path.is_file())
            .map(|Location { path, layer }| ConfigFile::native(path.clone(), path, layer))
            .collect();
        let files: Vec<ForeignFile<'_>> = files
            .iter()
            .map(|file| {
                let source = |text: String| {
                    Arc::new(SourceFile { path: file.shown_as.clone(), text: text.into() })
                };
                ForeignFile { file, text: read_text(file).map(source) }
            })
            .collect();
        let calls = host.calls_in(&files, environment).into_iter();
        all.extend(calls.map(|(event, subjects)| Connection {
            agent: agent.name,
            host: host.name,
            event,
            subjects,
        }));
    }
    all
}

impl Connection {
    /// Whether it may fire this hook. Subjects can rule out only a hook that names its own.
    pub fn may_wake(&self, hook: &Hook) -> bool {
        let is_its_host =
            hook.hosts.is_empty() || hook.hosts.iter().any(|host| **host == *self.host);
        let at_point = |point: &PatternPoint| {
            self.event.as_str() == point.event.name && self.passes_on(point, hook)
        };
        let is_open = || hook.pattern.open.iter().any(|glob| glob.matches(self.event.as_str()));
        is_its_host && (hook.pattern.points.iter().any(at_point) || is_open())
    }

    fn passes_on(&self, point: &PatternPoint, hook: &Hook) -> bool {
        let ((Matcher::Named(names), _) | (_, Matcher::Named(names))) =
            (&point.subjects, &hook.matcher)
        else {
            return true;
        };
        let Some(field) = self.event.subject_field() else { return true };
        names.iter().any(|name| {
            let data = Map::from_iter([(field.to_owned(), Value::from(&**name))]);
            self.subjects.wakes(&Subject::from_event(&Event::new(self.event.clone(), data)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_user_of_codex_may_have_its_settings_elsewhere() {
        let home = tempfile::tempdir().expect("a folder");
        let call = r#"{"hooks": {"PreToolUse": [{"hooks": [
            {"type": "command", "command": "hookwright", "args": ["hook", "claude"]}]}]}}"#;
        fs::write(home.path().join("hooks.json"), call).expect("written");
        let project = Path::new("/nowhere");
        let whereabouts = Whereabouts { project, home: None, config_home: None };
        let found = |environment: Environment| {
            let all = connections(&whereabouts, &environment);
            all.iter().map(|found| (found.agent, found.event.to_string())).collect::<Vec<_>>()
        };
        let codex_home = ("CODEX_HOME".into(), home.path().as_os_str().to_owned());
        assert_eq!(
            found(Environment::new([codex_home])),
            [("codex", "tool:pre_execute".to_owned())]
        );
        assert_eq!(found(Environment::new([])), []);
    }
}
