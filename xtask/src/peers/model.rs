//! [`Model`]: a server on this machine that speaks the Messages API in place of a model.
//!
//! It follows a script of turns: the answer to a request is the turn behind those that the request's
//! conversation has already. Everything it was asked is kept.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// Nothing that an agent sends is larger.
const REQUEST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How long a connection may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What the model says in one turn.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    /// A text, which ends its work.
    Text(&'static str),
    /// A command to run.
    Bash(&'static str),
}

/// The server.
pub(crate) struct Model {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    /// A model that follows this script, on a free port of the loopback address.
    pub(crate) fn start(script: Vec<Turn>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&asked);
        // The thread ends with the program; a scenario needs no more than that.
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (script, keep) = (script.clone(), Arc::clone(&keep));
                // Whoever goes away in the middle of a request has no use for an answer.
                thread::spawn(move || drop(serve(connection, &script, &keep)));
            }
        });
        Ok(Self { address, asked })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The conversations that it was asked to go on with, oldest first.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(connection: TcpStream, script: &[Turn], asked: &Mutex<Vec<Value>>) -> io::Result<()> {
    connection.set_read_timeout(Some(SILENCE_MAX))?;
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut writer = connection;
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = Vec::new();
    reader.take(length.min(REQUEST_BYTES_MAX)).read_to_end(&mut body)?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (kind, answer) = if path.starts_with("/v1/messages/count_tokens") {
        ("application/json", json!({ "input_tokens": 10 }).to_string())
    } else if path.starts_with("/v1/messages") {
        answer(&request, script, asked)
    } else {
        ("application/json", "{}".to_owned())
    };
    write!(
        writer,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n\
         {answer}",
        answer.len()
    )?;
    writer.flush()
}

fn answer(request: &Value, script: &[Turn], asked: &Mutex<Vec<Value>>) -> (&'static str, String) {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Titles, summaries and the like are asked for without tools.
    let is_work = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let turn = if is_work {
        let done = messages.iter().filter(|message| message["role"] == "assistant").count();
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(request["messages"].clone());
        script.get(done).cloned().unwrap_or(Turn::Text("done"))
    } else {
        Turn::Text("a title")
    };
    let (block, stop_reason) = match turn {
        Turn::Text(text) => (json!({ "type": "text", "text": text }), "end_turn"),
        Turn::Bash(command) => {
            let input = json!({ "command": command, "description": "as the script says" });
            let id = format!("toolu_{}", messages.len());
            (json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input }), "tool_use")
        }
    };
    let message = json!({
        "id": "msg_script", "type": "message", "role": "assistant", "model": request["model"],
        "content": [block], "stop_reason": stop_reason, "stop_sequence": null,
        "usage": { "input_tokens": 10, "output_tokens": 10 },
    });
    if request["stream"] == json!(true) {
        ("text/event-stream", streamed(message))
    } else {
        ("application/json", message.to_string())
    }
}

/// The same message in the pieces in which it is streamed.
fn streamed(mut message: Value) -> String {
    let mut block = message["content"][0].take();
    let (stop_reason, usage) = (message["stop_reason"].take(), message["usage"].clone());
    message["content"] = json!([]);
    let delta = match block["type"].as_str() {
        Some("tool_use") => {
            let input = std::mem::replace(&mut block["input"], json!({}));
            json!({ "type": "input_json_delta", "partial_json": input.to_string() })
        }
        _ => {
            let text = std::mem::replace(&mut block["text"], json!(""));
            json!({ "type": "text_delta", "text": text })
        }
    };
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "usage": usage,
            "delta": { "stop_reason": stop_reason, "stop_sequence": null } }),
        json!({ "type": "message_stop" }),
    ];
    let line = |event: &Value| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(line).collect()
}
