//! Just enough HTTP/1.1 for a test's server: reads one request, writes one [`ServerAnswer`].

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::gate::StreamGate;

/// No agent sends a larger request.
const REQUEST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes of the head of a request.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// How long a connection may be idle, and how long an event may be held back.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(60);

/// One request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its headers in their order, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body; null if it is not JSON.
    pub body: Value,
}

impl ReceivedRequest {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A response.
pub(crate) struct ServerAnswer {
    pub(crate) status: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) kind: String,
    pub(crate) body: SentBody,
}

/// What follows the head of an answer.
pub(crate) enum SentBody {
    /// The whole body.
    Whole(String),
    /// The events, one after the other.
    SentEvents(SentEvents),
}

pub(crate) struct SentEvents {
    pub(crate) events: Vec<String>,
    pub(crate) byte_by_byte: bool,
    pub(crate) end: EventsEnd,
}

/// How the events end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventsEnd {
    /// The normal end.
    Complete,
    /// This many bytes, and then the connection breaks.
    Cut(usize),
    /// This many bytes, and then the normal end.
    Short(usize),
    /// This many bytes, and then nothing.
    Silence(usize),
}

impl ServerAnswer {
    pub(crate) fn json(body: &Value) -> Self {
        Self::whole("200 OK", Vec::new(), "application/json", body.to_string())
    }

    /// Server-sent events, all at once.
    pub(crate) fn stream(body: String) -> Self {
        Self::whole("200 OK", Vec::new(), "text/event-stream", body)
    }

    pub(crate) fn whole(
        status: &str,
        headers: Vec<(&'static str, String)>,
        kind: &str,
        body: String,
    ) -> Self {
        let (status, kind) = (status.to_owned(), kind.to_owned());
        Self { status, headers, kind, body: SentBody::Whole(body) }
    }

    /// Writes it. Returns whether the connection can be used for another request.
    pub(crate) fn write(&self, writer: &mut TcpStream, gate: &StreamGate) -> io::Result<bool> {
        let mut head = format!("HTTP/1.1 {}\r\ncontent-type: {}\r\n", self.status, self.kind);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        match &self.body {
            SentBody::Whole(body) => {
                let length = body.len();
                head += &format!("content-length: {length}\r\nconnection: close\r\n\r\n{body}");
                writer.write_all(head.as_bytes())?;
                Ok(false)
            }
            SentBody::SentEvents(events) => {
                writer.write_all((head + "transfer-encoding: chunked\r\n\r\n").as_bytes())?;
                events.write(writer, gate)
            }
        }
    }
}

impl SentEvents {
    fn write(&self, writer: &mut TcpStream, gate: &StreamGate) -> io::Result<bool> {
        let mut room = match self.end {
            EventsEnd::Complete => usize::MAX,
            EventsEnd::Cut(bytes) | EventsEnd::Short(bytes) | EventsEnd::Silence(bytes) => bytes,
        };
        for event in &self.events {
            let bytes = &event.as_bytes()[..event.len().min(room)];
            if bytes.is_empty() {
                break;
            }
            room -= bytes.len();
            if !gate.pass() {
                writer.shutdown(Shutdown::Both)?;
                return Ok(false);
            }
            for piece in bytes.chunks(if self.byte_by_byte { 1 } else { bytes.len() }) {
                let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
                chunk.extend_from_slice(piece);
                chunk.extend_from_slice(b"\r\n");
                writer.write_all(&chunk)?;
            }
        }
        match self.end {
            EventsEnd::Complete | EventsEnd::Short(_) => {
                writer.write_all(b"0\r\n\r\n")?;
                Ok(true)
            }
            EventsEnd::Cut(_) => {
                writer.shutdown(Shutdown::Both)?;
                Ok(false)
            }
            EventsEnd::Silence(_) => {
                // Until the client leaves.
                let _ = writer.read(&mut [0]);
                Ok(false)
            }
        }
    }
}

/// The next request of a connection; `None` if the client has closed it.
pub(crate) fn read_request(
    reader: &mut impl BufRead,
    connection: usize,
) -> io::Result<Option<ReceivedRequest>> {
    let mut head = Vec::new();
    let mut limited = reader.by_ref().take(HEAD_BYTES_MAX);
    loop {
        let before = head.len();
        limited.read_until(b'\n', &mut head)?;
        match &head[before..] {
            [] => return Ok(None),
            b"\r\n" | b"\n" => break,
            _ => {}
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0_u64);
    let mut body = Vec::new();
    reader.take(length.min(REQUEST_BYTES_MAX)).read_to_end(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(ReceivedRequest { connection, method, path, headers, body }))
}
