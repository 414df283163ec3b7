//! [`Model`]: a local server that replaces the models of four vendors.
//!
//! It follows a script of turns: the answer to a request is the turn after those in the request's
//! conversation. Or it refuses everything, in the format of the requested vendor. It keeps all
//! requests. `model/vendor.rs` has the vendors' formats, `model/refusal.rs` their refusals.

mod refusal;
mod vendor;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use refusal::Refusal;
use serde_json::Value;
use vendor::Vendor;

/// No agent sends a larger request.
const REQUEST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How long a connection may be idle.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The model's output in one turn.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    /// A text, which ends its work.
    Text(&'static str),
    /// A command to run.
    Bash(&'static str),
}

/// How a model answers.
#[derive(Debug, Clone)]
pub(crate) enum Manner {
    /// One turn after the other.
    Script(Vec<Turn>),
    /// Refuses everything.
    Refuse(Refusal),
    /// Refuses until this long after the first request, then follows the script.
    RefuseAtFirst(Refusal, Duration, Vec<Turn>),
}

/// The server.
pub(crate) struct Model {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
}

/// A response.
struct Answer {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn json(body: &Value) -> Self {
        let kind = "application/json";
        Self { status: "200 OK", headers: Vec::new(), kind, body: body.to_string() }
    }

    /// Server-sent events.
    fn stream(body: String) -> Self {
        Self { status: "200 OK", headers: Vec::new(), kind: "text/event-stream", body }
    }
}

impl Model {
    /// A model that follows this script, on a free port of the loopback address.
    pub(crate) fn start(script: Vec<Turn>) -> io::Result<Self> {
        Self::with_manner(Manner::Script(script))
    }

    /// A model that answers in this manner.
    pub(crate) fn with_manner(manner: Manner) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&asked);
        let first_asked = Arc::new(OnceLock::new());
        // The thread ends with the program, which is enough for a scenario.
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (manner, keep) = (manner.clone(), Arc::clone(&keep));
                let first_asked = Arc::clone(&first_asked);
                // A client that closes in the middle of a request needs no answer.
                thread::spawn(move || drop(serve(connection, &manner, &first_asked, &keep)));
            }
        });
        Ok(Self { address, asked })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The conversations of all requests, oldest first.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(
    connection: TcpStream,
    manner: &Manner,
    first_asked: &OnceLock<Instant>,
    asked: &Mutex<Vec<Value>>,
) -> io::Result<()> {
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
    let answer = answer(&path, &request, manner, first_asked, asked);
    write!(writer, "HTTP/1.1 {}\r\ncontent-type: {}\r\n", answer.status, answer.kind)?;
    for (name, value) in &answer.headers {
        write!(writer, "{name}: {value}\r\n")?;
    }
    let length = answer.body.len();
    write!(writer, "content-length: {length}\r\nconnection: close\r\n\r\n{}", answer.body)?;
    writer.flush()
}

fn answer(
    path: &str,
    request: &Value,
    manner: &Manner,
    first_asked: &OnceLock<Instant>,
    asked: &Mutex<Vec<Value>>,
) -> Answer {
    let Some(vendor) = Vendor::of_path(path) else { return Answer::json(&vendor::aside(path)) };
    let script = match manner {
        Manner::Refuse(refusal) => return refusal.answer(vendor),
        Manner::RefuseAtFirst(refusal, time, script) => {
            if first_asked.get_or_init(Instant::now).elapsed() < *time {
                return refusal.answer(vendor);
            }
            script
        }
        Manner::Script(script) => script,
    };
    // Requests for titles, summaries and the like have no tools.
    let tools = vendor.tools(request);
    let turn = if tools.is_empty() {
        Turn::Text("a title")
    } else {
        let done = vendor.turns_done(request);
        asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(vendor.conversation(request).clone());
        script.get(done).cloned().unwrap_or(Turn::Text("done"))
    };
    vendor.says(&turn, path, request, &tools)
}
