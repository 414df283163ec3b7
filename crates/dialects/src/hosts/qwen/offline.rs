//! Qwen Code without its vendor.

use serde_json::json;

use crate::hosts::offline::{OfflineCall, OfflineCalls, OfflineFile, OfflineRun};

/// Measured with 0.24.4.
pub(super) static RUN: OfflineRun = OfflineRun {
    arguments: &[
        "--yolo",
        "--model",
        "mock-model",
        "--output-format",
        "stream-json",
        "-p",
        "PROMPT",
    ],
    untrusted_home: &[],
    environment: &[
        ("OPENAI_API_KEY", "not-a-key"),
        ("OPENAI_BASE_URL", "MODEL_URL/v1"),
        ("OPENAI_MODEL", "mock-model"),
        ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1"),
    ],
    files: &[OfflineFile {
        path: ".qwen/settings.json",
        text: r#"{"privacy":{"usageStatisticsEnabled":false},
            "general":{"enableAutoUpdate":false,"disableAutoUpdate":true},
            "security":{"auth":{"selectedType":"openai"}}}"#,
    }],
    server: OfflineFile {
        path: ".qwen/settings.json",
        text: r#"{"mcpServers": {"probe": {"command": "SERVER_PROGRAM",
            "args": ["doctor", "--mcp-server"]}}}"#,
    },
    calls: OfflineCalls {
        shell: |command| {
            let input =
                json!({ "command": command, "description": "probe", "is_background": false });
            OfflineCall::new("run_shell_command", input)
        },
        file: |path, text| {
            OfflineCall::new("write_file", json!({ "file_path": path, "content": text }))
        },
        server: |input| OfflineCall::new("mcp__probe__make_file", input),
        subagent: Some(|prompt| {
            let input = json!({ "description": "a subagent", "prompt": prompt,
                "subagent_type": "general-purpose" });
            vec![OfflineCall::new("agent", input)]
        }),
        typed: None,
        direct: None,
    },
    ends_at_deny: false,
};
