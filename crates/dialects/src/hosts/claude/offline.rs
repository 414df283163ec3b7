//! Claude Code without its vendor.

use serde_json::json;

use crate::hosts::offline::{OfflineCall, OfflineCalls, OfflineFile, OfflineRun};

/// Measured with 2.1.325.
pub(super) static RUN: OfflineRun = OfflineRun {
    arguments: &["-p", "--dangerously-skip-permissions", "--model", "claude-opus-4-5", "PROMPT"],
    untrusted_home: &[],
    environment: &[
        ("ANTHROPIC_BASE_URL", "MODEL_URL"),
        ("ANTHROPIC_API_KEY", "sk-ant-not-a-key"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        // It refuses to skip permissions for root unless this says that it runs in a container.
        ("IS_SANDBOX", "1"),
    ],
    files: &[],
    server: OfflineFile {
        path: ".claude.json",
        text: r#"{"mcpServers": {"probe": {"type": "stdio", "command": "SERVER_PROGRAM",
            "args": ["doctor", "--mcp-server"]}}}"#,
    },
    calls: OfflineCalls {
        shell: |command| {
            OfflineCall::new("Bash", json!({ "command": command, "description": "probe" }))
        },
        file: |path, text| OfflineCall::new("Write", json!({ "file_path": path, "content": text })),
        server: |input| OfflineCall::new("mcp__probe__make_file", input),
        subagent: Some(|prompt| {
            let input = json!({ "description": "a subagent", "prompt": prompt,
                "subagent_type": "general-purpose" });
            vec![OfflineCall::new("Agent", input)]
        }),
        typed: None,
        direct: None,
    },
    ends_at_deny: false,
};
