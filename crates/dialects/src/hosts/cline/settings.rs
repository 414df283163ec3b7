//! The programs by which Cline calls `hookwright hook cline`: one for each event, named like it.

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_events::EventName;

use super::capabilities::ALL;
use crate::hosts::limits::LEAST_PATIENCE;
use crate::hosts::{HostAgent, HostFile};
use crate::{Location, own_call};

/// Cline. Its hooks are programs, so `check` looks at the lines of one.
pub(super) const AGENTS: &[HostAgent] = &[HostAgent {
    name: "cline",
    settings: |whereabouts, _| {
        let folder = whereabouts.project.join(".clinerules/hooks");
        let of_project = ALL.iter().map(|known| Location::of_project(folder.join(known.event)));
        let of_user = whereabouts.home.map(|home| home.join(".cline/hooks"));
        let of_user = of_user.into_iter().flat_map(|folder| {
            ALL.iter().map(move |known| Location::of_user(folder.join(known.event)))
        });
        of_project.chain(of_user).collect()
    },
}];

/// The events for which these programs call us.
pub(super) fn calls_in(files: &[ForeignFile<'_>]) -> Vec<(EventName, Matcher)> {
    let called = files.iter().filter_map(|file| {
        let name = file.file.path.file_name()?.to_str()?;
        let known = ALL.iter().find(|known| known.event == name)?;
        let source = file.text.as_ref().ok()?;
        let is_call = |line: &str| {
            let line = line.trim().trim_start_matches("exec ");
            let line =
                line.strip_prefix("reply=$(").map_or(line, |line| line.trim_end_matches(')'));
            own_call::is_command("cline", line)
        };
        let calls = source.text.lines().any(is_call);
        EventName::resolve(known.native).filter(|_| calls)
    });
    called.map(|name| (name, Matcher::All)).collect()
}

/// A program for each event. Before a tool call, a missing or crashed program blocks: Cline runs the
/// tool unless it reads `cancel`.
pub(super) fn to_install(program: &str) -> Vec<HostFile> {
    let seconds = LEAST_PATIENCE.as_secs();
    let file = |path: &'static str, event: &str| {
        let call = format!("{program} hook cline --deadline {seconds}");
        let text = match event {
            "PreToolUse" => format!(
                "#!/bin/sh\nreply=$({call})\nif [ $? -eq 0 ]; then\n  printf '%s\\n' \"$reply\"\nelse\n  \
                 printf '%s\\n' '{{\"cancel\": true, \"errorMessage\": \"hookwright could not check this \
                 call\"}}'\nfi\n"
            ),
            _ => format!("#!/bin/sh\nexec {call}\n"),
        };
        HostFile { path, text, is_program: true }
    };
    vec![
        file(".cline/hooks/TaskStart", "TaskStart"),
        file(".cline/hooks/PreToolUse", "PreToolUse"),
        file(".cline/hooks/PostToolUse", "PostToolUse"),
        file(".cline/hooks/TaskComplete", "TaskComplete"),
        file(".cline/hooks/SessionShutdown", "SessionShutdown"),
    ]
}
