//! The tools' names: ours first, then what other agents call the same tool.
//!
//! A guard must not miss because of spelling, so a pattern and an event are compared by every
//! spelling of the tool they name. ASCII case never matters.

/// One row a tool: our name, then the names that other agents use for it.
pub const TOOLS: &[&[&str]] = &[
    &[
        "bash",
        "Bash",
        "run_shell_command",
        "shell",
        "local_shell",
        "exec_command",
        "run_terminal_cmd",
        "execute_command",
        "Execute",
    ],
    &["read", "Read", "read_file", "ReadFile", "view"],
    &["write", "Write", "write_file", "WriteFile", "create_file", "Create"],
    &["edit", "Edit", "MultiEdit", "replace", "apply_patch", "edit_file", "str_replace"],
    &["glob", "Glob", "find_files"],
    &["grep", "Grep", "search_file_content", "grep_search"],
    &["task", "Task", "Agent", "spawn_agent"],
];

/// Every spelling of the tool that `name` names, ours first; `None` for a tool we don't know.
pub fn spellings(name: &str) -> Option<&'static [&'static str]> {
    TOOLS.iter().copied().find(|row| row.iter().any(|spelling| spelling.eq_ignore_ascii_case(name)))
}

/// Our name for the tool, or the name as it came.
pub fn canonical(name: &str) -> &str {
    spellings(name).map_or(name, |row| row[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_leads_to_our_name_whatever_its_case() {
        for name in ["bash", "BASH", "Bash", "run_shell_command", "Run_Shell_Command"] {
            assert_eq!(canonical(name), "bash");
        }
        assert_eq!(canonical("mcp__github__create_issue"), "mcp__github__create_issue");
    }

    #[test]
    fn no_spelling_stands_for_two_tools() {
        let mut all: Vec<String> =
            TOOLS.iter().flat_map(|row| row.iter().map(|s| s.to_ascii_lowercase())).collect();
        all.sort();
        // A tool's own capitalised name folds onto itself, nothing else may.
        for pair in all.windows(2).filter(|pair| pair[0] == pair[1]) {
            assert!(TOOLS.iter().any(|row| row[0] == pair[0]), "`{}` stands twice", pair[0]);
        }
    }
}
