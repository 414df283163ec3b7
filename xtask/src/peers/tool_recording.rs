//! `cargo xtask peers --record-tools`: records what Claude Code's tools tell its hooks, as data for the
//! tests of the built-in tools.
//!
//! The file of recordings is also the list of calls: a new line needs the version, the tool and its
//! input, and gets its response here. Every version plays all calls in the order of the file, because a
//! call depends on those before it. A tool that a version lacks is an error there, and changes nothing.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hookwright_model_server::{ModelBehaviour, ModelServer, ModelTurn};
use serde_json::{Value, json};

use super::recording::ended;

/// The recordings.
const FILE: &str = "crates/agent/tests/recordings/tools/session.jsonl";

/// The files that the calls find.
const PROJECT: &str = "crates/agent/tests/recordings/tools/project";

/// The project's folder in the recordings.
const RECORDED_ROOT: &str = "/home/user/project";

/// The versions that are recorded, and their packages. The later one has no Glob and no Grep.
const VERSIONS: &[(&str, &str)] = &[
    ("2.1.325", "@anthropic-ai/claude-agent-sdk@0.3.325"),
    ("2.0.76", "@anthropic-ai/claude-code@2.0.76"),
];

/// Records every call again.
pub(super) fn record(target: &Path) -> Result<(), String> {
    let text = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
    let parsed: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    let mut calls = parsed.map_err(|error| format!("{FILE}: {error}"))?;
    for (version, package) in VERSIONS {
        let program = super::installed(&target.join("peers").join(version), package)?;
        let responses = play(&program, &calls)?;
        for (number, call) in calls.iter_mut().enumerate() {
            if call["version"] == *version {
                let response = responses.get(&format!("toolu_{number}"));
                let missing = || format!("{version} has no response to call {number}: {call}");
                call["tool_response"] = response.ok_or_else(missing)?.clone();
            }
        }
        eprintln!("{version:<9} {} responses", responses.len());
    }
    let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
    fs::write(FILE, lines).map_err(|error| format!("{FILE}: {error}"))
}

/// Lets the program make all calls; gives the responses by the calls' ids.
fn play(program: &Path, calls: &[Value]) -> Result<HashMap<String, Value>, String> {
    let said = |error: std::io::Error| error.to_string();
    let home = tempfile::tempdir().map_err(said)?;
    let home = fs::canonicalize(home.path()).map_err(said)?;
    let project = home.join("project");
    crate::run("cp", &["-r", PROJECT, &project.to_string_lossy()])?;
    let root = project.to_string_lossy().into_owned();
    let turn = |call: &Value| {
        let input = call["tool_input"].to_string().replace(RECORDED_ROOT, &root);
        let input = serde_json::from_str(&input).map_err(|error| error.to_string())?;
        let tool = call["tool_name"].as_str().unwrap_or_default().to_owned();
        Ok(ModelTurn::Call { tool, input })
    };
    let turns: Result<Vec<ModelTurn>, String> = calls.iter().map(turn).collect();
    let model = ModelServer::start(ModelBehaviour::Turns(turns?)).map_err(said)?;
    let seen = home.join("seen");
    let command = format!("cat >> '{0}'; echo >> '{0}'", seen.display());
    let hook = json!([{ "matcher": "", "hooks": [{ "type": "command", "command": command }] }]);
    fs::create_dir(project.join(".claude")).map_err(said)?;
    let settings = json!({ "hooks": { "PostToolUse": hook } }).to_string();
    fs::write(project.join(".claude/settings.json"), settings).map_err(said)?;
    let claude = super::program::ALL.iter().find(|program| program.name == "claude");
    let environment = claude.ok_or("no preset")?.point_at(&model.url(), &home)?;
    let mut command = Command::new(program);
    command
        .args(["-p", "--dangerously-skip-permissions", "--model", "claude-opus-4-5", "go"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .envs(environment)
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("NO_PROXY", "127.0.0.1,localhost")
        .current_dir(&project)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let code = ended(&mut command)?;
    let seen = fs::read_to_string(seen).map_err(|error| format!("exit {code}: {error}"))?;
    let seen = seen.replace(&root, RECORDED_ROOT);
    let events = seen.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let by_id = events.filter_map(|event| {
        Some((event["tool_use_id"].as_str()?.to_owned(), event["tool_response"].clone()))
    });
    Ok(by_id.collect())
}
