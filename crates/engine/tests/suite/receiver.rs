//! A receiver for webhooks on a real socket: sends prepared replies, and keeps the requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub(crate) struct Receiver {
    pub(crate) port: u16,
    requests: UnboundedReceiver<Received>,
    most_at_once: Arc<Mutex<(usize, usize)>>,
}

/// One request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// What the receiver does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// The whole reply.
    Raw(String),
    /// This, and then more without end.
    Endless(&'static str),
    /// `ok`, once there is a permit.
    Held(Arc<Semaphore>),
    /// This, and then nothing more, with the connection open.
    Stuck(&'static str),
    /// It keeps the connection open and sends nothing.
    Silent,
}

impl Reply {
    pub(crate) fn of(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Reply::Raw(format!(
            "HTTP/1.1 {status} Any\r\n{headers}content-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        ))
    }

    pub(crate) fn ok(body: &str) -> Self {
        Self::of(200, "", body)
    }
}

impl Receiver {
    /// Sends these replies in order, and then `200` and `ok`.
    pub(crate) async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (sender, requests) = unbounded_channel();
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let most_at_once = Arc::new(Mutex::new((0, 0)));
        let counts = Arc::clone(&most_at_once);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (replies, sender) = (Arc::clone(&replies), sender.clone());
                let counts = Arc::clone(&counts);
                tokio::spawn(async move { serve(stream, &replies, &sender, &counts).await });
            }
        });
        Self { port, requests, most_at_once }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Received {
        self.requests.recv().await.expect("the receiver runs as long as the test")
    }

    /// Whether there is no unread request.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.requests.try_recv().is_err()
    }

    /// The most requests at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.lock().expect("one test").1
    }
}

async fn serve(
    mut stream: TcpStream,
    replies: &Mutex<VecDeque<Reply>>,
    sender: &UnboundedSender<Received>,
    counts: &Mutex<(usize, usize)>,
) {
    let Some(request) = read(&mut stream).await else { return };
    {
        let mut counts = counts.lock().expect("one test");
        counts.0 += 1;
        counts.1 = counts.1.max(counts.0);
    }
    let reply = replies.lock().expect("one test").pop_front().unwrap_or_else(|| Reply::ok("ok"));
    let _ = sender.send(request);
    if let Reply::Held(gate) = &reply {
        gate.acquire().await.expect("never closed").forget();
    }
    // Before the answer: its receiver may send the next request at once.
    counts.lock().expect("one test").0 -= 1;
    match reply {
        Reply::Raw(text) => say(&mut stream, &text).await,
        Reply::Held(_) => {
            let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
            say(&mut stream, ok).await;
        }
        Reply::Endless(head) => {
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(&[b'x'; 64 * 1024]).await.is_ok() {}
        }
        Reply::Stuck(head) => {
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.read(&mut [0; 1]).await;
        }
        Reply::Silent => {
            // Until the other side closes the connection.
            let _ = stream.read(&mut [0; 1]).await;
        }
    }
}

async fn say(stream: &mut TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().expect("a number"));
    while bytes.len() < head_end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8_lossy(&bytes[head_end + 4..]).into_owned();
    Some(Received { method, path, headers, body })
}
