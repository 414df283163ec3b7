//! Ports and connections, over real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};

use hookwright_config::CallbackAddress;
use hookwright_engine::ports::{NewWait, Waits};
use hookwright_server::listeners::PORT;

use crate::client::{self, Came, answer, parts, post_text, send};
use crate::desk::{desk, desk_at, new_wait};
use crate::situation::Situation;

fn address(port: u16) -> CallbackAddress {
    CallbackAddress { port: Some(port), ..CallbackAddress::default() }
}

/// A port that is free and stays so: the system never assigns these on its own, and no other test
/// gets the same one.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // The same tests may run elsewhere on the machine.
    let first = 20_000 + (std::process::id() % 1_000) as u16 * 10;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn port_of(url: &str) -> u16 {
    parts(url).0.port()
}

#[tokio::test]
async fn a_port_of_another_hookwright_process_is_shared_and_taken_over_when_that_process_ends() {
    let situation = Situation::new();
    let port = free_port();
    let first = desk_at(&situation, address(port), 0);
    let second = desk_at(&situation, address(port), 0);
    let of_first = first.open(new_wait("1")).await.unwrap();
    let of_second = second.open(new_wait("2")).await.unwrap();
    assert_eq!((port_of(&of_first.callback_url), of_first.notes), (port, vec![]));
    assert_eq!((port_of(&of_second.callback_url), of_second.notes), (port, vec![]));
    // Every listener answers for every wait.
    assert_eq!(client::get(&of_second.callback_url).unwrap().status, 200);
    drop(first);
    let url = of_second.callback_url.clone();
    let shown = tokio::task::spawn_blocking(move || {
        loop {
            match client::get(&url) {
                Ok(came) => break came.status,
                Err(_) => std::thread::yield_now(),
            }
        }
    });
    assert_eq!(shown.await.unwrap(), 200);
    assert_eq!(client::post(&of_second.callback_url, "{\"action\":\"ok\"}").unwrap().status, 200);
}

#[tokio::test]
async fn a_default_port_that_a_stranger_has_moves_with_a_note_and_a_named_one_is_a_fault() {
    let situation = Situation::new();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = stranger.local_addr().unwrap().port();
    // It reads the request and closes, as an unrelated program might.
    std::thread::spawn(move || {
        for stream in stranger.incoming().flatten() {
            let mut stream: TcpStream = stream;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello");
        }
    });
    let default = desk_at(&situation, CallbackAddress::default(), taken);
    let moved = default.open(new_wait("1")).await.unwrap();
    let port = port_of(&moved.callback_url);
    assert_ne!(port, taken);
    let note = format!("another program is using port {taken}, so answers go to port {port}");
    assert_eq!(moved.notes, [note]);
    // The note comes once; the next wait uses the same port.
    let next = default.open(new_wait("2")).await.unwrap();
    assert_eq!((port_of(&next.callback_url), next.notes), (port, vec![]));
    let named = desk_at(&situation, address(taken), 0);
    let refused = named.open(new_wait("3")).await.unwrap_err().to_string();
    let expected = format!("another program is using the port for answers, 127.0.0.1:{taken}");
    assert_eq!(refused, expected);
    let of_hook = desk(&situation);
    let own_port = NewWait { port: Some(taken), ..new_wait("4") };
    assert_eq!(of_hook.open(own_port).await.unwrap_err().to_string(), expected);
    // A hook that names the default port insists on it, even if other questions have moved.
    for desk in [&default, &desk_at(&situation, CallbackAddress::default(), taken)] {
        let own_port = NewWait { port: Some(taken), ..new_wait("5") };
        assert_eq!(desk.open(own_port).await.unwrap_err().to_string(), expected);
    }
    assert_eq!(
        situation.approvals.waiting().unwrap().len(),
        2,
        "without a listener no person is asked"
    );
}

#[tokio::test]
async fn a_hookwright_with_another_store_is_a_stranger() {
    let (ours, theirs) = (Situation::new(), Situation::new());
    let port = free_port();
    let first = desk_at(&theirs, address(port), 0);
    first.open(new_wait("1")).await.unwrap();
    let second = desk_at(&ours, address(port), 0);
    let refused = second.open(new_wait("1")).await.unwrap_err().to_string();
    assert_eq!(refused, format!("another program is using the port for answers, 127.0.0.1:{port}"));
}

// Conformance: agent-pipelines-029, agent-pipelines-085
#[tokio::test]
async fn answers_are_received_on_port_8765_of_this_machine_unless_configured_otherwise() {
    assert_eq!(PORT, 8765);
    let situation = Situation::new();
    let everywhere = CallbackAddress { bind: Some([0, 0, 0, 0].into()), ..Default::default() };
    for (configured, is_open) in [(CallbackAddress::default(), false), (everywhere, true)] {
        // The default port itself may be in use on this machine.
        let port = free_port();
        let desk = desk_at(&situation, configured, port);
        let open = desk.open(new_wait(&port.to_string())).await.unwrap();
        assert_eq!(port_of(&open.callback_url), port);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        // Another address of the same machine.
        assert_eq!(TcpStream::connect(("127.0.0.2", port)).is_ok(), is_open);
    }
}

// Conformance: agent-pipelines-030
#[tokio::test]
async fn a_hook_may_have_its_own_port() {
    let situation = Situation::new();
    let desk = desk_at(&situation, address(0), 0);
    let usual = desk.open(new_wait("1")).await.unwrap();
    let again = desk.open(new_wait("2")).await.unwrap();
    assert_eq!(port_of(&usual.callback_url), port_of(&again.callback_url), "any free one, but one");
    let own = free_port();
    let other = desk.open(NewWait { port: Some(own), ..new_wait("3") }).await.unwrap();
    assert_eq!(port_of(&other.callback_url), own);
    // Every listener answers for every wait.
    let (_, path) = parts(&usual.callback_url);
    let there: SocketAddr = ([127, 0, 0, 1], own).into();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {there}\r\n\r\n");
    assert_eq!(send(there, &request).unwrap().status, 200);
}

#[tokio::test]
async fn links_begin_with_the_public_url() {
    let situation = Situation::new();
    let port = free_port();
    let public_url = Some("https://hooks.example.org/x".to_owned());
    let desk = desk_at(&situation, CallbackAddress { public_url, ..address(port) }, 0);
    let open = desk.open(new_wait("1")).await.unwrap();
    let path = open.callback_url.strip_prefix("https://hooks.example.org/x").unwrap();
    let here: SocketAddr = ([127, 0, 0, 1], port).into();
    for (host, status) in
        [("hooks.example.org", 200), ("localhost", 200), ("evil.example.org", 421)]
    {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(send(here, &request).unwrap().status, status, "{host}");
    }
    let own = desk.open(NewWait { port: Some(free_port()), ..new_wait("2") }).await.unwrap();
    assert!(own.callback_url.starts_with("https://hooks.example.org/x/callback/"));
}

#[tokio::test]
async fn an_earlier_wait_whose_port_another_program_uses_continues_and_shows_how_to_answer() {
    let situation = Situation::new();
    let first = desk(&situation);
    let before = first.open(new_wait("1")).await.unwrap();
    drop(first);
    let stranger = TcpListener::bind(parts(&before.callback_url).0).unwrap();
    let second = desk(&situation);
    let asked = tokio::spawn(async move {
        let key = new_wait("1").key.unwrap();
        (second.find(&key).await.unwrap().unwrap(), second)
    });
    // The other program closes the connection without a proof.
    let hanging_up = tokio::task::spawn_blocking(move || drop(stranger.accept()));
    let (after, _second) = asked.await.unwrap();
    hanging_up.await.unwrap();
    let port = port_of(&before.callback_url);
    let note = format!(
        "the address that was sent points to 127.0.0.1:{port}, which another program \
         is using now; answer with `hookwright approve` or `hookwright reject`"
    );
    assert_eq!((after.callback_url, after.notes), (before.callback_url, vec![note]));
}

#[tokio::test]
async fn a_proof_is_given_for_the_own_port_only() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let open = desk.open(new_wait("1")).await.unwrap();
    let (here, _) = parts(&open.callback_url);
    let request =
        format!("GET /.well-known/hookwright?challenge=abc HTTP/1.1\r\nHost: {here}\r\n\r\n");
    let proof = send(here, &request).unwrap();
    let key = hookwright_server::signing_key::SigningKey::of_folder(situation.folder.path());
    let expected = key.unwrap().proof(here.port(), "abc");
    assert_eq!(proof, Came { status: 200, body: expected });
    let silent = format!("GET /.well-known/hookwright HTTP/1.1\r\nHost: {here}\r\n\r\n");
    assert_eq!(send(here, &silent).unwrap().status, 404);
}

#[tokio::test]
async fn a_thousand_connections_held_open_keep_no_other_client_out() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let open = desk.open(new_wait("1")).await.unwrap();
    let (here, path) = parts(&open.callback_url);
    more_files();
    let answered = tokio::task::spawn_blocking(move || {
        let mut held: Vec<TcpStream> = Vec::new();
        for number in 0..1000 {
            let mut stream = TcpStream::connect(here).unwrap();
            if number % 2 == 0 {
                // Half of a request; the connection may have been closed already.
                let _ = stream.write_all(b"POST /callback/x HTTP/1.1\r\nHost: ");
            }
            held.push(stream);
        }
        let came = send(here, &post_text(&path, here, "{\"action\":\"ok\"}")).unwrap();
        // The oldest connection had to make room: it was closed or reset.
        let mut oldest = held.swap_remove(0);
        let end = oldest.read(&mut [0; 1]);
        assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
        came
    });
    assert_eq!(answered.await.unwrap().status, 200);
}

/// A thousand connections with both ends need more files than a process can usually open.
pub(crate) fn more_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[tokio::test]
async fn a_huge_body_is_refused_without_being_read() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let open = desk.open(new_wait("1")).await.unwrap();
    let (here, path) = parts(&open.callback_url);
    let answers = tokio::task::spawn_blocking(move || {
        let huge = 100 * 1024 * 1024;
        let head = |more: &str| {
            format!(
                "POST {path} HTTP/1.1\r\nHost: {here}\r\nContent-Type: application/json\r\n{more}\r\n"
            )
        };
        // The length is announced, so nothing of the body has to be sent.
        let announced = send(here, &head(&format!("Content-Length: {huge}\r\n"))).unwrap();
        // The length is not announced: at the limit the response comes, and the connection ends.
        let mut stream = TcpStream::connect(here).unwrap();
        stream.write_all(head("Transfer-Encoding: chunked\r\n").as_bytes()).unwrap();
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        let mut sent = 0;
        while sent < huge && stream.write_all(chunk.as_bytes()).is_ok() {
            sent += 0x10000;
        }
        (announced, sent, answer(&mut stream).map(|came| came.status))
    });
    let (announced, sent, chunked) = answers.await.unwrap();
    assert_eq!(announced.status, 413);
    assert!(sent < 100 * 1024 * 1024, "all of it was taken");
    assert!(matches!(chunked, Ok(413) | Err(_)), "{chunked:?}");
    assert_eq!(client::get(&open.callback_url).unwrap().status, 200);
}

#[tokio::test]
async fn headers_are_bounded() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let open = desk.open(new_wait("1")).await.unwrap();
    let (here, path) = parts(&open.callback_url);
    let many: String = (0..100).map(|number| format!("X-{number}: 1\r\n")).collect();
    let long = format!("X: {}\r\n", "x".repeat(64 * 1024));
    for headers in [many, long] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {here}\r\n{headers}\r\n");
        let came = send(here, &request).map(|came| came.status);
        assert!(matches!(came, Ok(431) | Err(_)), "{came:?}");
    }
    assert_eq!(client::get(&open.callback_url).unwrap().status, 200);
}
