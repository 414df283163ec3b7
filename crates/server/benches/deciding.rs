//! The time from a person's decision to the waiting task: by a POST over a socket, and by another
//! process with the same store; and a thousand waits at once, decided in any order.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_config::CallbackAddress;
use hookwright_engine::ports::{NewWait, WaitKey, Waits};
use hookwright_server::{Approvals, AskingProcess, AskingProject, Origin, PersonsAnswer, WaitDesk};
use hookwright_store::{AllButOneLive, SqliteStore};

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let (rounds, many) = if is_bench { (200, 1000) } else { (3, 10) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        let desk = desk(folder.path());
        let posted = one_by_one(&desk, rounds, "post", |_, url| post(url)).await;
        told("from the POST to the runner going on", posted);
        let approvals = Arc::new(approvals(folder.path()));
        let said = one_by_one(&desk, rounds, "say", move |id, _| say(&approvals, id)).await;
        told("from another process's decision to the runner going on", said);
        at_once(Arc::new(desk), folder.path(), many).await;
    });
}

fn approvals(folder: &Path) -> Approvals {
    let store = Arc::new(SqliteStore::open(folder).unwrap());
    Approvals::of_folder(folder, store, Arc::new(AllButOneLive::default())).unwrap()
}

fn desk(folder: &Path) -> WaitDesk {
    let address = CallbackAddress { port: Some(0), ..CallbackAddress::default() };
    let folder = folder.to_owned();
    let about = AskingProcess { pipeline: None, address, default_port: 0 };
    WaitDesk::new(about, move || {
        Ok((approvals(&folder), AskingProject { name: "/project".to_owned(), root: None }))
    })
}

fn wait(session: &str, number: usize) -> NewWait {
    let [session, hook, digest] = [session, "hook", "digest"].map(str::to_owned);
    let key = WaitKey { session, firing: number.to_string(), hook, digest };
    NewWait { key: Some(key), timeout: Duration::from_secs(3600), ..NewWait::default() }
}

/// The times from just before a decision until the waiting task has it, sorted.
async fn one_by_one(
    desk: &WaitDesk,
    rounds: usize,
    session: &str,
    decide: impl Fn(&str, &str) + Send + Sync + 'static,
) -> Vec<Duration> {
    let decide = Arc::new(decide);
    let mut times = Vec::new();
    for number in 0..rounds {
        let open = desk.open(wait(session, number)).await.unwrap();
        let (decide, id, url) = (Arc::clone(&decide), open.id.clone(), open.callback_url);
        let deciding = tokio::task::spawn_blocking(move || {
            let began = Instant::now();
            decide(&id, &url);
            began
        });
        desk.decided(&open.id).await.unwrap();
        let ended = Instant::now();
        times.push(ended.saturating_duration_since(deciding.await.unwrap()));
    }
    times.sort();
    times
}

fn post(url: &str) {
    let (authority, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(authority).unwrap();
    let request = format!(
        "POST /{path}?action=approve HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

fn say(approvals: &Approvals, id: &str) {
    let action = "approve".to_owned();
    approvals
        .answer(
            id,
            PersonsAnswer {
                action,
                message: None,
                by: "x".into(),
                origin: Origin::Elsewhere,
                whole: None,
            },
        )
        .unwrap();
}

async fn at_once(desk: Arc<WaitDesk>, folder: &Path, many: usize) {
    let mut waiting = tokio::task::JoinSet::new();
    let mut ids = Vec::new();
    let began = Instant::now();
    for number in 0..many {
        let open = desk.open(wait("many", number)).await.unwrap();
        ids.push(open.id.clone());
        let desk = Arc::clone(&desk);
        waiting.spawn(async move { desk.decided(&open.id).await.unwrap() });
    }
    println!("{many} waits opened in {:.2} s", began.elapsed().as_secs_f64());
    let approvals = approvals(folder);
    let began = Instant::now();
    let deciding = tokio::task::spawn_blocking(move || {
        for turn in 0..ids.len() {
            say(&approvals, &ids[turn * 619 % ids.len()]);
        }
        began.elapsed()
    });
    let decided = waiting.join_all().await.len();
    let (all, said) = (began.elapsed().as_secs_f64(), deciding.await.unwrap().as_secs_f64());
    println!("{decided} waits at once decided in {said:.2} s, and all had it after {all:.2} s");
}

fn told(what: &str, times: Vec<Duration>) {
    let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1000.0;
    println!("{what}: median {:.2} ms, 99 % within {:.2} ms (target: 50 ms)", at(50), at(99));
}
