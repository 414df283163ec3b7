//! What Claude Code calls its tools.

use hookwright_events::tool;

/// Its own name for each tool of ours.
const NAMES: &[(&str, &str)] = &[
    ("bash", "Bash"),
    ("read", "Read"),
    ("write", "Write"),
    ("edit", "Edit"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("task", "Agent"),
];

/// Names that it has had, and what they became.
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

/// Names that stand in our table beside those above, and are its own as well.
const ALSO_ITS_OWN: &[&str] = &["MultiEdit", "Task"];

/// The tool as Claude Code spells it; as it came, if Claude Code has none like it.
pub(super) fn claudes(name: &str) -> &str {
    let is_its_own = ALSO_ITS_OWN.contains(&name) || NAMES.iter().any(|(_, its)| *its == name);
    if is_its_own {
        return name;
    }
    let ours = tool::canonical(name);
    NAMES.iter().find(|(known, _)| *known == ours).map_or(name, |(_, its)| its)
}

/// The name that a tool has today.
pub(super) fn current(name: &str) -> &str {
    LEGACY.iter().find(|(old, _)| *old == name).map_or(name, |(_, now)| now)
}

/// The names that it has had before.
pub(super) fn earlier(name: &str) -> impl Iterator<Item = &'static str> {
    LEGACY.iter().filter(move |(_, now)| *now == name).map(|(old, _)| *old)
}
