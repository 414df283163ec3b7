//! A small receiver in place of a chat or paging service: a real socket, in a thread.

pub(crate) mod tls;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::interrupts::until;

pub(crate) struct Receiver {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    got: Vec<Received>,
    reply: String,
    /// Connections that are kept open without an answer.
    held: Vec<TcpStream>,
    holds: bool,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Received {
    /// The same for all attempts.
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) body: Value,
}

impl Receiver {
    /// Answers with status 200 and `ok`.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State { reply: "ok".into(), ..State::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { port, state }
    }

    /// Answers with this body.
    pub(crate) fn saying(self, reply: &str) -> Self {
        self.state.lock().unwrap().reply = reply.into();
        self
    }

    /// Starts or stops leaving requests unanswered.
    pub(crate) fn hold(&self, holds: bool) {
        self.state.lock().unwrap().holds = holds;
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in", self.port)
    }

    /// Everything that has arrived.
    pub(crate) fn got(&self) -> Vec<Received> {
        self.state.lock().unwrap().got.clone()
    }

    /// Waits until this many have arrived, and returns the last.
    pub(crate) fn wait_for(&self, number: usize) -> Received {
        until("the request has arrived", || self.got().len() >= number);
        self.got()[number - 1].clone()
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    let (head, body) = read(&mut stream)?;
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let received = Received {
        id: header("webhook-id"),
        path: head.split(' ').nth(1).unwrap_or_default().to_owned(),
        body: serde_json::from_str(&body).unwrap_or_default(),
    };
    let mut state = state.lock().unwrap();
    state.got.push(received);
    if state.holds {
        state.held.push(stream);
        return Some(());
    }
    let (length, reply) = (state.reply.len(), &state.reply);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{reply}"
    )
    .ok()
}

/// Head and body of a request.
fn read(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_lowercase();
            let length = lower.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
            let length: usize = length.map_or(0, |value| value.trim().parse().unwrap());
            if body.len() >= length {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut chunk).ok()? {
            0 => return None,
            number => bytes.extend_from_slice(&chunk[..number]),
        }
    }
}

/// Answers at a callback's address, as a chat would, and returns the status.
pub(crate) fn post(url: &str, body: &str) -> u16 {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\n{kind}\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}
