//! Copilot CLI without its vendor.

use serde_json::json;

use crate::hosts::offline::{OfflineCall, OfflineCalls, OfflineFile, OfflineRun};

/// Measured with 1.0.102.
pub(super) static RUN: OfflineRun = OfflineRun {
    arguments: &["--allow-all-tools", "--allow-all-paths", "--no-color", "-p", "PROMPT"],
    untrusted_home: &[],
    environment: &[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_PROVIDER_BASE_URL", "MODEL_URL/v1"),
        ("COPILOT_PROVIDER_API_KEY", "not-a-key"),
        ("COPILOT_MODEL", "mock-model"),
        ("COPILOT_AUTO_UPDATE", "false"),
    ],
    files: &[],
    server: OfflineFile {
        path: ".copilot/mcp-config.json",
        text: r#"{"mcpServers": {"probe": {"type": "local", "tools": ["*"],
            "command": "SERVER_PROGRAM", "args": ["doctor", "--mcp-server"]}}}"#,
    },
    calls: OfflineCalls {
        shell: |command| {
            OfflineCall::new("bash", json!({ "command": command, "description": "probe" }))
        },
        file: |path, text| OfflineCall::new("create", json!({ "path": path, "file_text": text })),
        server: |input| OfflineCall::new("probe-make_file", input),
        subagent: Some(|prompt| {
            let input = json!({ "description": "a subagent", "prompt": prompt,
                "agent_type": "general-purpose", "name": "probe", "mode": "sync" });
            vec![OfflineCall::new("task", input)]
        }),
        typed: None,
        direct: None,
    },
    ends_at_deny: false,
};
