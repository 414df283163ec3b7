//! Gemini CLI without its vendor.

use serde_json::json;

use crate::hosts::offline::{OfflineCall, OfflineCalls, OfflineFile, OfflineRun};

/// Measured with 0.61.0.
pub(super) static RUN: OfflineRun = OfflineRun {
    arguments: &[
        "--output-format",
        "stream-json",
        "--approval-mode",
        "yolo",
        "--skip-trust",
        "--model",
        "gemini-2.5-pro",
        "-p",
        "PROMPT",
    ],
    untrusted_home: &[],
    environment: &[
        ("GOOGLE_GEMINI_BASE_URL", "MODEL_URL"),
        ("GEMINI_API_KEY", "not-a-key"),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
    ],
    files: &[OfflineFile {
        path: ".gemini/settings.json",
        text: r#"{"privacy":{"usageStatisticsEnabled":false},
            "general":{"maxAttempts":2,"enableAutoUpdate":false},
            "security":{"auth":{"selectedType":"gemini-api-key"}}}"#,
    }],
    server: OfflineFile {
        path: ".gemini/settings.json",
        text: r#"{"mcpServers": {"probe": {"command": "SERVER_PROGRAM",
            "args": ["doctor", "--mcp-server"]}}}"#,
    },
    calls: OfflineCalls {
        shell: |command| {
            let input = json!({ "command": command, "description": "probe" });
            OfflineCall::new("run_shell_command", input)
        },
        file: |path, text| {
            OfflineCall::new("write_file", json!({ "file_path": path, "content": text }))
        },
        server: |input| OfflineCall::new("mcp_probe_make_file", input),
        subagent: Some(|prompt| {
            let input = json!({ "agent_name": "generalist", "prompt": prompt });
            vec![OfflineCall::new("invoke_agent", input)]
        }),
        typed: None,
        direct: None,
    },
    ends_at_deny: false,
};
