//! [`Person`]: gets questions over a real socket and answers yes at the question's address, and
//! retries while no process listens there.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// Pause between two attempts: about as long as resuming a dead process takes.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Person {
    port: u16,
    life: Arc<Life>,
}

#[derive(Default)]
struct Life {
    is_over: AtomicBool,
    asked: Mutex<Vec<Question>>,
    /// Links whose answer counted.
    answered: Mutex<Vec<String>>,
}

/// A question as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// The message's id, the same for all attempts to send it.
    pub(crate) id: String,
    pub(crate) body: Value,
}

impl Person {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let life = Arc::new(Life::default());
        let shared = Arc::clone(&life);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.hear(stream));
            }
        });
        Self { port, life }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The questions, oldest first.
    pub(crate) fn asked(&self) -> Vec<Question> {
        self.life.asked.lock().expect("no panic holds it").clone()
    }

    /// The addresses at which a yes was confirmed.
    pub(crate) fn answered(&self) -> Vec<String> {
        self.life.answered.lock().expect("no panic holds it").clone()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.life.is_over.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Life {
    /// Reads a question, and answers it until the answer counts or is rejected for good.
    fn hear(&self, mut stream: TcpStream) {
        let Some(text) = read(&mut stream) else { return };
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let id = head.lines().find_map(|line| line.strip_prefix("webhook-id: "));
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let link = body["link"].as_str().unwrap_or_default().to_owned();
        let question = Question { id: id.unwrap_or_default().to_owned(), body };
        self.asked.lock().expect("no panic holds it").push(question);
        let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
        let _ = stream.write_all(ok.as_bytes());
        drop(stream);
        while !self.is_over.load(Ordering::SeqCst) {
            match say_yes(&link) {
                Some(200) => {
                    return self.answered.lock().expect("no panic holds it").push(link);
                }
                // Decided by an earlier attempt whose response was lost with its process, or too
                // late.
                Some(404 | 409 | 410) => return,
                _ => std::thread::sleep(PAUSE),
            }
        }
    }
}

fn say_yes(link: &str) -> Option<u16> {
    let (host, path) = link.strip_prefix("http://")?.split_once('/')?;
    let mut stream = TcpStream::connect(host).ok()?;
    let body = r#"{"action": "approve"}"#;
    let length = body.len();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.ends_with('}')) {
            return Some(text);
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).ok()? {
            0 => return None,
            number => bytes.extend_from_slice(&chunk[..number]),
        }
    }
}
