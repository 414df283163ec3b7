//! A thousand background webhooks to a receiver on this machine: how long until all have arrived,
//! and how much memory that takes.
//!
//! ```text
//! cargo bench -p hookwright-engine --bench webhooks
//! ```
//!
//! Expected: under 2 s, and memory that does not grow with the number of requests in flight.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "this program talks to people")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use hookwright_config::HookFiles;
use hookwright_engine::serde_json::json;
use hookwright_engine::{Engine, Event, Firing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const REQUESTS: usize = 1_000;
const ROUNDS: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (port, arrived) = receiver().await;
    let hooks = format!(
        "hooks: {{session:end: [{{url: 'http://127.0.0.1:{port}/', body: {{text: '${{REASON}}'}}}}]}}"
    );
    let hooks = HookFiles::in_project("/").text("bench", &hooks).load().unwrap().hooks;
    let engine = Engine::builder("/").hooks(hooks).build().unwrap();
    for round in 1..=ROUNDS {
        let before = arrived.load(Ordering::Relaxed);
        let began = Instant::now();
        for _ in 0..REQUESTS {
            let event = Event::named("session:end", json!({ "reason": "completed" })).unwrap();
            engine.fire(event, Firing::default()).await;
        }
        engine.settle().await;
        let took = began.elapsed();
        assert_eq!(arrived.load(Ordering::Relaxed) - before, REQUESTS);
        println!("round {round}: {REQUESTS} webhooks in {took:.2?}, most memory {}", memory());
    }
}

/// Answers every request on every connection.
async fn receiver() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let arrived = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&arrived);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&count)));
        }
    });
    (port, arrived)
}

async fn serve(mut stream: TcpStream, arrived: Arc<AtomicUsize>) {
    let mut bytes = Vec::new();
    while stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
        // All requests have the same body, and these are its last bytes.
        while let Some(end) = find(&bytes, b"\"completed\"}") {
            bytes.drain(..end);
            arrived.fetch_add(1, Ordering::Relaxed);
            let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            if stream.write_all(ok).await.is_err() {
                return;
            }
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what).map(|at| at + what.len())
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}
