//! Background hooks at one event: another hook costs the same however many there are.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::print;
use crate::project::Project;

const TARGET: &str = "at most 1.5 x a hook";

/// The end of every request's body.
const END: &[u8] = b"\"completed\"}";

pub(crate) fn webhooks(is_test: bool) {
    let port = receiver();
    let hook = format!("{{url: 'http://127.0.0.1:{port}/', body: {{text: '${{REASON}}'}}}}");
    measure("a webhook in the background, of", &hook, is_test);
}

pub(crate) fn shell_hooks(is_test: bool) {
    measure("a shell hook in the background, of", "{command: ':'}", is_test);
}

fn measure(what: &str, hook: &str, is_test: bool) {
    let sizes: &[usize] = if is_test { &[2, 4] } else { &[100, 300, 1_000, 3_000] };
    let cost = |size: usize| {
        let project = Project::new();
        let hooks = vec![format!("    - {hook}\n"); size].concat();
        project.write("hookwright.yaml", &format!("hooks:\n  session:end:\n{hooks}"));
        let data = r#"{"reason": "completed"}"#;
        let took = project.processor_time(&["fire", "session:end", "--data", data]);
        (size, took / size as f64)
    };
    let costs: Vec<(usize, f64)> = sizes.iter().map(|size| cost(*size)).collect();
    print(what, "ms", &costs, TARGET);
}

/// Answers every request on every connection, on its own thread; returns its port.
fn receiver() -> u16 {
    let (sender, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap().port()).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    });
    port.recv().unwrap()
}

async fn serve(mut stream: TcpStream) {
    let mut bytes = Vec::new();
    while stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
        while let Some(at) = bytes.windows(END.len()).position(|window| window == END) {
            bytes.drain(..at + END.len());
            let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            if stream.write_all(ok).await.is_err() {
                return;
            }
        }
    }
}
