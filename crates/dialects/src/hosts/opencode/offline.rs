//! opencode without its vendor.

use serde_json::json;

use crate::hosts::offline::{OfflineCall, OfflineCalls, OfflineFile, OfflineRun};

/// Measured with 1.18.33.
pub(super) static RUN: OfflineRun = OfflineRun {
    arguments: &["run", "--format", "json", "--auto", "--model", "script/model", "PROMPT"],
    untrusted_home: &[],
    environment: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("npm_config_fetch_retries", "0"),
    ],
    files: &[OfflineFile {
        path: ".config/opencode/opencode.json",
        text: r#"{"$schema":"https://opencode.ai/config.json","autoupdate":false,"share":"disabled",
            "provider":{"script":{"npm":"@ai-sdk/openai-compatible","name":"script",
              "options":{"baseURL":"MODEL_URL/v1","apiKey":"not-a-key"},
              "models":{"model":{"name":"model","cost":{"input":1.25,"output":10,"cache_read":0.125}}}}}}"#,
    }],
    server: OfflineFile {
        path: ".config/opencode/opencode.json",
        text: r#"{"mcp": {"probe": {"type": "local", "enabled": true,
            "command": ["SERVER_PROGRAM", "doctor", "--mcp-server"]}}}"#,
    },
    calls: OfflineCalls {
        shell: |command| {
            OfflineCall::new("bash", json!({ "command": command, "description": "probe" }))
        },
        file: |path, text| OfflineCall::new("write", json!({ "filePath": path, "content": text })),
        server: |input| OfflineCall::new("probe_make_file", input),
        subagent: Some(|prompt| {
            let input = json!({ "description": "a subagent", "prompt": prompt,
                "subagent_type": "general" });
            vec![OfflineCall::new("task", input)]
        }),
        typed: None,
        direct: None,
    },
    ends_at_deny: false,
};
