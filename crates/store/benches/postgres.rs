//! Synced commits behind a fence: a file and a database on the same disk, in one run.
//!
//! One session, then a hundred, each with a store of its own, as processes have. The benchmark
//! reports commits per second, the median and the 99th percentile of both stores, their ratios, and
//! the round trips of a commit to the database, counted by a relay.
//! `cargo bench -p hookwright-store --bench postgres`
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use hookwright_postgres_server::{Cluster, Relay};
use hookwright_store::{
    Acquired, Append, Commit, Fence, JournalKey, PostgresAccess, PostgresAddress, PostgresStore,
    SqliteStore, Store,
};

/// Bytes of an entry: a usual one.
const ENTRY_BYTES: usize = 500;

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (sizes, commits): (&[usize], usize) =
        if is_test { (&[1, 3], 10) } else { (&[1, 100], 3_000) };
    let cluster = Cluster::shared();
    cluster.create_named("bench");
    let direct = access(&cluster.address("bench"));
    PostgresStore::init(&direct).unwrap();
    for size in sizes {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = measured(*size, commits, "sqlite", |_| sqlite(folder.path()));
        let postgres = measured(*size, commits, "postgres", |_| postgres(&direct));
        println!(
            "{size:>4} sessions  postgres beside sqlite: throughput {:.2}, median {:.2}, p99 {:.2}",
            postgres.per_second / sqlite.per_second,
            postgres.median.as_secs_f64() / sqlite.median.as_secs_f64(),
            postgres.p99.as_secs_f64() / sqlite.p99.as_secs_f64(),
        );
    }
    let relay = Relay::to(cluster.port());
    let store = postgres(&access(&relay.address("bench")));
    let fence = fence(&*store, "relayed");
    let before = relay.round_trips();
    let entries = [String::from("entry")];
    for expected in 0..100 {
        append(&*store, &fence, "relayed", expected, &entries);
    }
    let round_trips = relay.round_trips() - before;
    println!("round trips per commit: {:.2}", round_trips as f64 / 100.0);
}

struct Figures {
    per_second: f64,
    median: Duration,
    p99: Duration,
}

/// Commits of this many sessions at once, `commits` in all.
fn measured(
    sessions: usize,
    commits: usize,
    name: &str,
    open: impl Fn(usize) -> Box<dyn Store> + Sync,
) -> Figures {
    let start = Barrier::new(sessions + 1);
    let entries = ["x".repeat(ENTRY_BYTES)];
    let (mut times, took) = thread::scope(|scope| {
        let running: Vec<_> = (0..sessions)
            .map(|number| {
                let (open, start, entries) = (&open, &start, &entries);
                scope.spawn(move || {
                    let (store, session) = (open(number), format!("{name} {sessions} {number}"));
                    let fence = fence(&*store, &session);
                    start.wait();
                    let commit = |expected| {
                        let began = Instant::now();
                        append(&*store, &fence, &session, expected, entries);
                        began.elapsed()
                    };
                    (0..(commits / sessions) as u64).map(commit).collect::<Vec<_>>()
                })
            })
            .collect();
        start.wait();
        let began = Instant::now();
        let times: Vec<Duration> =
            running.into_iter().flat_map(|session| session.join().unwrap()).collect();
        (times, began.elapsed())
    });
    times.sort();
    let figures = Figures {
        per_second: times.len() as f64 / took.as_secs_f64(),
        median: times[times.len() / 2],
        p99: times[times.len() * 99 / 100],
    };
    println!(
        "{sessions:>4} sessions  {name:<9} {:>6.0}/s  median {:.1?}  p99 {:.1?}",
        figures.per_second, figures.median, figures.p99
    );
    figures
}

fn access(address: &str) -> PostgresAccess {
    PostgresAccess::to(PostgresAddress::parse(address).unwrap())
}

fn sqlite(folder: &Path) -> Box<dyn Store> {
    Box::new(SqliteStore::open(folder).unwrap())
}

fn postgres(access: &PostgresAccess) -> Box<dyn Store> {
    Box::new(PostgresStore::open(access).unwrap())
}

fn fence(store: &dyn Store, session: &str) -> Fence {
    match store.acquire(session, "bench", None).unwrap() {
        Acquired::Granted { token } => Fence { lease: session.to_owned(), token },
        Acquired::Held(held) => panic!("{held:?}"),
    }
}

fn append(store: &dyn Store, fence: &Fence, session: &str, expected: u64, entries: &[String]) {
    let journal = JournalKey { project: "/bench".to_owned(), session: session.to_owned() };
    let append = Append { journal: &journal, expected, entries };
    let commit = Commit { fence: Some(fence), append: Some(append), ..Commit::synced() };
    store.commit(&commit).unwrap();
}
