//! `hookwright doctor --mcp-server`: the MCP server of the probe. Its only tool makes a file, by
//! which the probe sees that it was called.
//!
//! It speaks the part of the protocol that every client uses: one JSON object a line.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use hookwright_dialects::hosts::offline::SERVER_TOOL;
use serde_json::{Value, json};

/// Bytes of one message. Clients send a few hundred.
const MESSAGE_BYTES_MAX: u64 = 1024 * 1024;

/// Answers until the input ends.
pub(crate) fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut input = io::BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = input.by_ref().take(MESSAGE_BYTES_MAX);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        if let Some(answer) = answer(&message) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
}

/// The answer to a request; notifications have none.
fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let params = &message["params"];
    let result = match message["method"].as_str()? {
        "initialize" => {
            let version = params["protocolVersion"].as_str().unwrap_or("2025-06-18");
            json!({ "protocolVersion": version, "capabilities": { "tools": {} },
                "serverInfo": { "name": "hookwright-probe", "version": env!("CARGO_PKG_VERSION") } })
        }
        "tools/list" => {
            let schema = json!({ "type": "object", "required": ["path"],
                "properties": { "path": { "type": "string" }, "note": { "type": "string" } } });
            json!({ "tools": [{ "name": SERVER_TOOL, "description": "Makes an empty file.",
                "inputSchema": schema }] })
        }
        "tools/call" => called(&params["arguments"]),
        _ => json!({}),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn called(arguments: &Value) -> Value {
    let path = Path::new(arguments["path"].as_str().unwrap_or_default());
    // It makes new files only: another caller can change nothing.
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let (text, is_error) = match made {
        Ok(_) => ("made".to_owned(), false),
        Err(error) => (error.to_string(), true),
    };
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_finds_the_tool_and_calls_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("made");
        let messages = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
                "params": { "protocolVersion": "2025-03-26" } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
            json!({ "jsonrpc": "2.0", "id": "3", "method": "tools/call",
                "params": { "name": SERVER_TOOL, "arguments": { "path": path } } }),
        ];
        let sent: String = messages.iter().map(|message| format!("{message}\n")).collect();
        let mut output = Vec::new();
        serve(format!("no json\n{sent}").as_bytes(), &mut output).expect("written");
        let text = String::from_utf8(output).expect("text");
        let answers: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(answers.len(), 3, "{text}");
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
        assert_eq!(answers[1]["result"]["tools"][0]["name"], SERVER_TOOL);
        assert_eq!(answers[2]["id"], "3");
        assert!(path.is_file());
    }
}
