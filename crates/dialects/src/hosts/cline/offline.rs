//! Cline without its vendor.

use serde_json::json;

use crate::hosts::offline::{OfflineCall, OfflineCalls, OfflineFile, OfflineRun};

/// Measured with 3.0.65.
pub(super) static RUN: OfflineRun = OfflineRun {
    arguments: &["--json", "PROMPT"],
    untrusted_home: &[],
    environment: &[("CLINE_NO_AUTO_UPDATE", "1")],
    files: &[OfflineFile {
        path: ".cline/data/settings/providers.json",
        text: r#"{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {},
            "providers": {"openai-compatible": {"tokenSource": "manual",
              "updatedAt": "2026-01-01T00:00:00.000Z",
              "settings": {"provider": "openai-compatible", "apiKey": "not-a-key",
                "model": "mock-model", "baseUrl": "MODEL_URL/v1"}}}}"#,
    }],
    server: OfflineFile {
        path: ".cline/data/settings/cline_mcp_settings.json",
        text: r#"{"mcpServers": {"probe": {"transport": {"type": "stdio",
            "command": "SERVER_PROGRAM", "args": ["doctor", "--mcp-server"]}}}}"#,
    },
    calls: OfflineCalls {
        shell: |command| OfflineCall::new("run_commands", json!({ "commands": [command] })),
        file: |path, text| OfflineCall::new("editor", json!({ "path": path, "new_text": text })),
        server: |input| OfflineCall::new("probe__make_file", input),
        subagent: Some(|prompt| {
            let input = json!({ "systemPrompt": "You are a subagent.", "task": prompt });
            vec![OfflineCall::new("spawn_agent", input)]
        }),
        typed: None,
        direct: None,
    },
    ends_at_deny: true,
};
