//! The names of tools: the canonical one first, then those of other agents.
//!
//! A guard must not miss because of spelling, so a pattern and an event are compared in every
//! spelling of the tool. ASCII case is ignored.

/// One row per tool: the canonical name, then the names in other agents.
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
        "write_bash",
    ],
    &["read", "Read", "read_file", "ReadFile", "view"],
    &["write", "Write", "write_file", "WriteFile", "create_file", "Create"],
    &[
        "edit",
        "Edit",
        "MultiEdit",
        "replace",
        "apply_patch",
        "ApplyPatch",
        "patch",
        "edit_file",
        "str_replace",
        "editor",
    ],
    &["glob", "Glob", "find_files"],
    &["grep", "Grep", "search_file_content", "grep_search"],
    &["task", "Task", "Agent", "spawn_agent", "collaborationspawn_agent", "invoke_agent"],
];

/// The input fields of these tools, in every spelling that an agent uses.
const INPUTS: &[(&str, &[&str])] = &[
    (
        "bash",
        &[
            "command",
            "cmd",
            "description",
            "timeout",
            "timeout_ms",
            "run_in_background",
            "is_background",
            "dangerouslyDisableSandbox",
            "summary",
            "explanation",
            "workdir",
            "cwd",
            "directory",
            "dir_path",
            "justification",
            "sandbox_permissions",
            "with_escalated_permissions",
            "yield_time_ms",
            "max_output_tokens",
            "login",
            "shell",
            "tty",
            "mode",
            "sessionId",
            "async",
            "initial_wait",
            "riskLevel",
            "riskLevelReason",
            "fireAndForget",
            "requires_approval",
            "input",
        ],
    ),
    (
        "read",
        &[
            "file_path",
            "filePath",
            "path",
            "absolute_path",
            "target_file",
            "offset",
            "limit",
            "pages",
            "start_line",
            "end_line",
            "view_range",
        ],
    ),
    ("write", &["file_path", "filePath", "path", "content", "contents", "file_text", "overwrite"]),
    (
        "edit",
        &[
            "file_path",
            "filePath",
            "path",
            "old_string",
            "new_string",
            "oldString",
            "newString",
            "old_str",
            "new_str",
            "old_text",
            "new_text",
            "replace_all",
            "replaceAll",
            "change_all",
            "edits",
            "diff",
            "instruction",
            "expected_replacements",
            "command",
            "input",
            "patch",
            "patchText",
        ],
    ),
    (
        "glob",
        &[
            "pattern",
            "patterns",
            "path",
            "dir_path",
            "folder",
            "case_sensitive",
            "respect_git_ignore",
        ],
    ),
    (
        "grep",
        &[
            "pattern",
            "query",
            "path",
            "paths",
            "dir_path",
            "glob",
            "glob_pattern",
            "include",
            "include_pattern",
            "type",
            "output_mode",
            "head_limit",
            "offset",
            "multiline",
            "case_insensitive",
            "limit",
        ],
    ),
    (
        "task",
        &[
            "description",
            "prompt",
            "message",
            "subagent_type",
            "agent_type",
            "agent_name",
            "name",
            "task_name",
            "model",
            "run_in_background",
            "isolation",
            "mode",
            "resume",
            "session_id",
            "command",
        ],
    ),
];

/// Tools of agents without a canonical name.
pub const OTHERS: &[&str] = &[
    "AskUserQuestion",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "FetchUrl",
    "KillBash",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "NotebookEdit",
    "NotebookRead",
    "ReadMcpResourceTool",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "activate_skill",
    "ask_question",
    "ask_user",
    "browser_action",
    "codesearch",
    "collaborationwait_agent",
    "complete_task",
    "delegate_to_agent",
    "delete_file",
    "exec",
    "exit_plan_mode",
    "fetch",
    "fetch_webpage",
    "google_web_search",
    "list",
    "list_bash",
    "list_dir",
    "list_directory",
    "list_files",
    "lsp",
    "memory",
    "new_task",
    "plan_mode_respond",
    "question",
    "read_bash",
    "read_many_files",
    "report_intent",
    "run_commands",
    "save_memory",
    "search_files",
    "search_replace",
    "send_input",
    "shutdown",
    "skill",
    "stop_bash",
    "todo_write",
    "todoread",
    "todowrite",
    "update_plan",
    "update_todo",
    "use_mcp_tool",
    "view_image",
    "wait",
    "wait_agent",
    "web_fetch",
    "web_search",
    "webfetch",
    "websearch",
    "write_stdin",
    "write_todos",
];

/// Every name under which an agent has a tool.
pub fn all_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().copied().flatten().chain(OTHERS).copied()
}

/// Whether an agent may have a tool of this name: one that is listed here, or one of a user's server,
/// recognised by a separator or a prefix in its name.
pub fn is_known(name: &str) -> bool {
    let is_of_server = name.contains("__") || name.contains(['-', '/', '.', ':', ' ']);
    let is_listed = || all_names().any(|known| known.eq_ignore_ascii_case(name));
    is_of_server || name.to_ascii_lowercase().starts_with("mcp_") || is_listed()
}

/// The input fields of a tool in any agent; `None` for an unknown tool.
pub fn inputs(name: &str) -> Option<&'static [&'static str]> {
    let ours = canonical(name);
    INPUTS.iter().find(|(tool, _)| *tool == ours).map(|(_, inputs)| *inputs)
}

/// Every spelling of a tool, the canonical one first; `None` for an unknown tool.
pub fn spellings(name: &str) -> Option<&'static [&'static str]> {
    TOOLS.iter().copied().find(|row| row.iter().any(|spelling| spelling.eq_ignore_ascii_case(name)))
}

/// Whether this is a tool of an MCP server: `mcp__server__tool`.
pub fn is_of_server(name: &str) -> bool {
    name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("mcp__"))
}

/// The tool's canonical name, or the name unchanged.
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
    fn the_inputs_of_each_canonical_tool_are_known_by_all_its_names() {
        for row in TOOLS {
            assert!(row.iter().all(|name| inputs(name).is_some()), "{row:?}");
        }
        assert!(inputs("Bash").is_some_and(|inputs| inputs.contains(&"command")));
        assert_eq!(inputs("WebFetch"), None);
    }

    #[test]
    fn tools_of_agents_and_of_their_servers_are_known() {
        for name in
            ["Bash", "BASH", "WebFetch", "mcp__github__create_issue", "mcp_s_t", "s/t", "s-t"]
        {
            assert!(is_known(name), "{name}");
        }
        for name in ["bsah", "deploy", ""] {
            assert!(!is_known(name), "{name}");
        }
        assert!(OTHERS.iter().all(|name| spellings(name).is_none()), "listed twice");
    }

    #[test]
    fn no_spelling_means_two_tools() {
        let mut all: Vec<String> =
            TOOLS.iter().flat_map(|row| row.iter().map(|s| s.to_ascii_lowercase())).collect();
        all.sort();
        // A capitalised name of a tool equals its lower-case one; no two other names may be equal.
        for pair in all.windows(2).filter(|pair| pair[0] == pair[1]) {
            assert!(TOOLS.iter().any(|row| row[0] == pair[0]), "`{}` appears twice", pair[0]);
        }
    }
}
