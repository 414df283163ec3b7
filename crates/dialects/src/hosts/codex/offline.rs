//! Codex without its vendor. Its default model calls tools from within JavaScript (`exec`), so the
//! calls here are nested ones.

use serde_json::{Value, json};

use crate::hosts::offline::{DirectCalls, OfflineCall, OfflineCalls, OfflineFile, OfflineRun};

/// Measured with 0.166.0.
pub(super) static RUN: OfflineRun = OfflineRun {
    arguments: &[
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "PROMPT",
    ],
    untrusted_home: &["--dangerously-bypass-hook-trust"],
    environment: &[("OPENAI_API_KEY", "sk-not-a-key")],
    files: &[OfflineFile {
        path: ".codex/config.toml",
        text: "model_provider = \"script\"\ncheck_for_update_on_startup = false\n\n\
               [analytics]\nenabled = false\n\n\
               [model_providers.script]\nname = \"script\"\nbase_url = \"MODEL_URL/v1\"\n\
               wire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 1\n\
               stream_max_retries = 1\n",
    }],
    server: OfflineFile {
        path: ".codex/config.toml",
        text: "[mcp_servers.probe]\ncommand = \"SERVER_PROGRAM\"\n\
               args = [\"doctor\", \"--mcp-server\"]\n",
    },
    calls: OfflineCalls {
        shell: |command| nested("exec_command", &json!({ "cmd": command })),
        file: |path, text| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let patch = format!("*** Begin Patch\n*** Add File: {name}\n+{text}\n*** End Patch");
            nested("apply_patch", &Value::from(patch))
        },
        server: |input| nested("mcp__probe__make_file", &input),
        subagent: Some(|prompt| {
            let input = json!({ "task_name": "probe", "message": prompt, "fork_turns": "none" });
            vec![
                OfflineCall::new("collaboration.spawn_agent", input),
                OfflineCall::new("collaboration.wait_agent", json!({ "timeout_ms": 10_000 })),
            ]
        }),
        typed: Some(|line| {
            let script = format!(
                "const shell = await tools.exec_command({{cmd: 'sh', tty: true, yield_time_ms: 500}}); \
                 for (const chars of [{}, 'exit\\n']) text(JSON.stringify(await tools.write_stdin(\
                 {{session_id: shell.session_id, chars, yield_time_ms: 1000}})))",
                Value::from(format!("{line}\n"))
            );
            OfflineCall::new("exec", Value::from(script))
        }),
        direct: Some(DirectCalls {
            arguments: &["--model", "gpt-5"],
            shell: |command| OfflineCall::new("exec_command", json!({ "cmd": command })),
        }),
    },
    ends_at_deny: false,
};

/// A call of a tool from within `exec`.
fn nested(tool: &str, input: &Value) -> OfflineCall {
    let script = format!(
        "try {{ text(JSON.stringify(await tools.{tool}({input}))) }} catch (error) {{ text(String(error)) }}"
    );
    OfflineCall::new("exec", Value::from(script))
}
