//! The built-in agent with an MCP server that others wrote: it is installed from npm, and the model is a
//! script that calls its tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// The server's package.
const PACKAGE: &str = "@modelcontextprotocol/server-everything";

/// Where its program is, below the folder into which it is installed.
const PROGRAM: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// Plays one session and says what came of it.
pub(super) fn play(target: &Path) -> Result<String, String> {
    let program = installed(&target.join("peers/mcp"))?;
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let project = home.path().join("project");
    fs::create_dir(&project).map_err(|error| error.to_string())?;
    let write = |name: &str, text: String| {
        fs::write(project.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    let server = json!({ "command": "node", "args": [program, "stdio"] });
    write(".mcp.json", json!({ "mcpServers": { "everything": server } }).to_string())?;
    let call = |tool: &str, input: Value| json!({ "content": [{ "type": "tool_use", "name": tool, "input": input }] });
    let turns = [
        call("mcp__everything__echo", json!({ "message": "a message for the peer" })),
        call("mcp__everything__get-sum", json!({ "a": 2, "b": 40 })),
        json!({ "content": [{ "type": "text", "text": "done" }] }),
    ];
    write("model.yaml", json!({ "turns": turns }).to_string())?;
    let hookwright = |args: &[&str]| {
        let mut command = Command::new(target.join("debug/hookwright"));
        command.args(args).current_dir(&project).env("HOME", home.path());
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "ANTHROPIC_API_KEY"] {
            command.env_remove(name);
        }
        command.output().map_err(|error| error.to_string())
    };
    hookwright(&["trust", "--yes"])?;
    let mut args = vec!["agent", "-p", "go", "--model", "scripted:model.yaml"];
    args.extend(["--permission-mode", "bypassPermissions", "--output-format", "stream-json"]);
    let output = hookwright(&args)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Value> =
        stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let said = || format!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let init = lines.first().ok_or_else(said)?;
    let connected = json!([{ "name": "everything", "status": "connected" }]);
    let answered = |text: &str| {
        lines.iter().any(|line| line["type"] == "user" && line.to_string().contains(text))
    };
    let tools = init["tools"].as_array().map_or(0, Vec::len);
    if init["mcp_servers"] == connected
        && answered("a message for the peer")
        && answered("42")
        && output.status.success()
    {
        return Ok(format!("{tools} tools, two of the server called"));
    }
    Err(said())
}

fn installed(folder: &Path) -> Result<PathBuf, String> {
    let program = folder.join(PROGRAM);
    if !program.is_file() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let prefix = folder.to_string_lossy();
        let options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
        let mut args = vec!["install", "--prefix", &prefix];
        args.extend(options);
        args.push(PACKAGE);
        crate::run("npm", &args)?;
    }
    match program.is_file() {
        true => Ok(program),
        false => Err(format!("{PACKAGE} has no {PROGRAM}")),
    }
}
