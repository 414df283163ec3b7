//! Droid without its vendor. Its subagents need a daemon that does not start there.

use serde_json::json;

use crate::hosts::offline::{OfflineCall, OfflineCalls, OfflineFile, OfflineRun};

/// Measured with `droid exec` 0.215.0.
pub(super) static RUN: OfflineRun = OfflineRun {
    arguments: &["exec", "--skip-permissions-unsafe", "-m", "custom:mock-model", "PROMPT"],
    untrusted_home: &[],
    environment: &[("FACTORY_API_KEY", "fk-not-a-key")],
    files: &[OfflineFile {
        path: ".factory/settings.json",
        text: r#"{"customModels": [{"model": "mock-model", "displayName": "mock",
            "baseUrl": "MODEL_URL/v1", "apiKey": "not-a-key",
            "provider": "generic-chat-completion-api", "maxOutputTokens": 4096}]}"#,
    }],
    server: OfflineFile {
        path: ".factory/mcp.json",
        text: r#"{"mcpServers": {"probe": {"type": "stdio", "command": "SERVER_PROGRAM",
            "args": ["doctor", "--mcp-server"]}}}"#,
    },
    calls: OfflineCalls {
        shell: |command| {
            let input = json!({ "command": command, "summary": "probe", "riskLevel": "low",
                "riskLevelReason": "probe" });
            OfflineCall::new("Execute", input)
        },
        file: |path, text| {
            OfflineCall::new("Create", json!({ "file_path": path, "content": text }))
        },
        server: |input| OfflineCall::new("probe___make_file", input),
        subagent: None,
        typed: None,
        direct: None,
    },
    ends_at_deny: false,
};
