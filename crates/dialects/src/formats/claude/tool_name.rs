//! Claude Code's names of tools.

use hookwright_events::tool;

/// Claude Code's name for each native tool name.
const NAMES: &[(&str, &str)] = &[
    ("bash", "Bash"),
    ("read", "Read"),
    ("write", "Write"),
    ("edit", "Edit"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("task", "Agent"),
];

/// Old names, and the current ones.
const LEGACY: &[(&str, &str)] = &[
    ("Task", "Agent"),
    ("KillShell", "TaskStop"),
    ("KillBash", "TaskStop"),
    ("ListPeers", "ListAgents"),
    ("Brief", "SendUserMessage"),
    ("ListMcpResources", "ListMcpResourcesTool"),
    ("ReadMcpResource", "ReadMcpResourceTool"),
    ("ReadMcpResourceDir", "ReadMcpResourceDirTool"),
];

/// Names in our table that are also Claude Code's own.
const ALSO_ITS_OWN: &[&str] = &["MultiEdit", "Task"];

/// Claude Code's name of the tool, or the given name if it has none.
pub(super) fn claudes(name: &str) -> &str {
    let is_its_own = ALSO_ITS_OWN.contains(&name) || NAMES.iter().any(|(_, its)| *its == name);
    if is_its_own {
        return name;
    }
    let ours = tool::canonical(name);
    NAMES.iter().find(|(known, _)| *known == ours).map_or(name, |(_, its)| its)
}

/// The current name of a tool.
pub(super) fn current(name: &str) -> &str {
    LEGACY.iter().find(|(old, _)| *old == name).map_or(name, |(_, now)| now)
}

/// The tool's old names.
pub(super) fn earlier(name: &str) -> impl Iterator<Item = &'static str> {
    LEGACY.iter().filter(move |(_, now)| *now == name).map(|(old, _)| *old)
}
