//! The programs by which Cline calls `hookwright hook cline`: one for each event, named like it.

use hookwright_config::ForeignFile;
use hookwright_engine::matcher::Matcher;
use hookwright_events::EventName;

use super::capabilities::ALL;
use crate::hosts::limits::LEAST_PATIENCE;
use crate::hosts::{FileShare, FolderVariable, HostAgent, HostFile};
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
        let calls = source.text.lines().any(|line| start_of_call(line).is_some());
        EventName::resolve(known.native).filter(|_| calls)
    });
    called.map(|name| (name, Matcher::All)).collect()
}

/// What comes before the call in a line that calls us.
fn start_of_call(line: &str) -> Option<&'static str> {
    let line = line.trim();
    let (start, call) = match (line.strip_prefix("exec "), line.strip_prefix("reply=$(")) {
        (Some(call), _) => ("exec ", call),
        (None, Some(call)) => ("reply=$(", call.trim_end_matches(')')),
        (None, None) => ("", line),
    };
    own_call::is_command("cline", call).then_some(start)
}

/// Whether a program is what we would write, for whatever path of ours and whatever deadline.
pub(super) fn is_ours(file: &HostFile, text: &str) -> bool {
    let lines = |text: &'_ str| {
        let line = |line: &str| start_of_call(line).map_or(line.to_owned(), |it| format!("{it}us"));
        text.lines().map(line).collect::<Vec<_>>()
    };
    lines(&file.text) == lines(text)
}

/// A program for each event. Before a tool call, a missing or crashed program blocks: Cline runs the
/// tool unless it reads `cancel`.
pub(super) fn to_install(program: &str) -> Vec<HostFile> {
    let seconds = LEAST_PATIENCE.as_secs();
    let program = own_call::for_shell(program);
    let file = |path: &'static str, project_path: &'static str| {
        let event = path.rsplit('/').next().unwrap_or_default();
        let call = format!("{program} hook cline --deadline {seconds}");
        let text = match event {
            "PreToolUse" => format!(
                "#!/bin/sh\nreply=$({call})\nif [ $? -eq 0 ]; then\n  printf '%s\\n' \"$reply\"\nelse\n  \
                 printf '%s\\n' '{{\"cancel\": true, \"errorMessage\": \"hookwright could not check this \
                 call\"}}'\nfi\n"
            ),
            _ => format!("#!/bin/sh\nexec {call}\n"),
        };
        let moved_by = Some(FolderVariable { name: "CLINE_DIR", replaces: ".cline" });
        HostFile { path, project_path, moved_by, text, is_program: true, share: FileShare::Own }
    };
    vec![
        file(".cline/hooks/TaskStart", ".clinerules/hooks/TaskStart"),
        file(".cline/hooks/PreToolUse", ".clinerules/hooks/PreToolUse"),
        file(".cline/hooks/PostToolUse", ".clinerules/hooks/PostToolUse"),
        file(".cline/hooks/TaskComplete", ".clinerules/hooks/TaskComplete"),
        file(".cline/hooks/SessionShutdown", ".clinerules/hooks/SessionShutdown"),
    ]
}
