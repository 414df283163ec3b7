//! [`Visitor`]: makes a browser's requests to a board over a real socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use hookwright_server::board::serving::{Serving, serve};
use hookwright_server::{Approvals, Board};
use hookwright_store::{SqliteStore, Store};
use serde_json::Value;

use crate::played::PROJECT;
use crate::situation::{Situation, living};

/// A signed-in visitor.
pub(crate) struct Visitor {
    pub(crate) address: SocketAddr,
    pub(crate) cookie: String,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) status: u16,
    /// The lines between the status and the body, without the date.
    pub(crate) head: Vec<String>,
    pub(crate) body: String,
}

/// An open stream of events.
pub(crate) struct Stream(BufReader<TcpStream>);

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) order: Value,
    pub(crate) html: String,
}

/// A board as in another process with the same state folder.
pub(crate) fn board(situation: &Situation, project: Option<&str>) -> Serving {
    let store = Arc::new(SqliteStore::open(situation.folder.path()).unwrap());
    board_of(store, situation, project)
}

/// The board of the test sessions' project, over this store.
pub(crate) fn board_over(store: Arc<dyn Store>, situation: &Situation) -> Serving {
    board_of(store, situation, Some(PROJECT))
}

fn board_of(store: Arc<dyn Store>, situation: &Situation, project: Option<&str>) -> Serving {
    let approvals = Approvals::of_folder(situation.folder.path(), store.clone(), living()).unwrap();
    let board = Board::new(store, approvals, project.map(str::to_owned));
    serve(board, [127, 0, 0, 1].into(), Some(0)).unwrap()
}

/// The board of the test sessions' project.
pub(crate) fn board_of_project(situation: &Situation) -> Serving {
    board(situation, Some(PROJECT))
}

impl Visitor {
    /// Opens the address that signs in.
    pub(crate) fn of(serving: &Serving) -> Self {
        let (address, path) = crate::client::parts(&serving.url);
        let opened = ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
        assert_eq!(opened.status, 303);
        let cookie = opened.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { address, cookie }
    }

    pub(crate) fn get(&self, path: &str) -> Shown {
        ask(self.address, &self.request("GET", path, "", ""))
    }

    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> Shown {
        let form = "Content-Type: application/x-www-form-urlencoded\r\n";
        ask(self.address, &self.request("POST", path, &format!("{form}{headers}"), body))
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let Self { address, cookie } = self;
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// Requests a stream, with the state that the page shows.
    pub(crate) fn stream(&self, path: &str, last: Option<&str>) -> Result<Stream, u16> {
        let Self { address, cookie } = self;
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let mut stream = TcpStream::connect(address).unwrap();
        // HTTP 1.0, which has no chunks.
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nCookie: {cookie}\r\n{last}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let status: u16 = line.split(' ').nth(1).unwrap().parse().unwrap();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
        }
        if status == 200 { Ok(Stream(stream)) } else { Err(status) }
    }
}

impl Stream {
    /// Waits until the server has compared the page's state.
    pub(crate) fn greeted(&mut self) {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        assert_eq!(line, "retry: 1000\n");
    }

    /// The next event; `None` at the end.
    pub(crate) fn event(&mut self) -> Option<Event> {
        let (mut id, mut name, mut data) = (None, String::new(), None);
        let mut signs_of_life = 0;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => id = Some(value.to_owned()),
                Some(("event", value)) => value.clone_into(&mut name),
                Some(("data", value)) => data = serde_json::from_str::<Value>(value).ok(),
                _ if line == "\n" => {
                    if let Some(data) = data.take() {
                        let html = data["html"].as_str().unwrap_or_default().to_owned();
                        return Some(Event { id, name, order: data["order"].clone(), html });
                    }
                }
                _ => {
                    signs_of_life += usize::from(line == ":\n");
                    assert!(signs_of_life < 4, "nothing has come for a minute");
                }
            }
        }
    }

    /// The events up to the next one with an id, which completes an update.
    pub(crate) fn whole(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.event() {
            let is_last = event.id.is_some();
            events.push(event);
            if is_last {
                break;
            }
        }
        events
    }
}

impl Shown {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&String| line.to_lowercase().starts_with(&format!("{name}: "));
        self.head.iter().find(named).and_then(|line| line.split_once(": ")).map(|(_, value)| value)
    }
}

/// Sends these bytes and reads until the other end closes.
pub(crate) fn ask(address: SocketAddr, request: &str) -> Shown {
    try_ask(address, request).unwrap()
}

pub(crate) fn try_ask(address: SocketAddr, request: &str) -> std::io::Result<Shown> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let broken = || std::io::Error::other(format!("no answer: {text:?}"));
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).ok_or_else(broken)?;
    let mut head: Vec<String> = lines.map(str::to_owned).collect();
    head.retain(|line| !line.to_lowercase().starts_with("date: "));
    Ok(Shown { status: status.parse().map_err(|_| broken())?, head, body: body.to_owned() })
}
