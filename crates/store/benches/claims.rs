//! Claims of queued pieces of work from a database: a hundred workers beside one, and among many
//! pieces beside among few.
//!
//! The benchmark reports claims per second, medians, their ratios, and how many pieces were given
//! twice. `cargo bench -p hookwright-store --bench claims`
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use hookwright_postgres_server::Cluster;
use hookwright_store::{
    ClaimLane, ClaimLease, ClaimRequest, Commit, Durability, Expected, Kind, PostgresAccess,
    PostgresAddress, PostgresStore, Put, Queued, RecordKey, Store,
};

/// Bytes of a piece's value: a usual one.
const VALUE_BYTES: usize = 500;

/// Pieces in one commit while the lists are filled.
const PUTS_PER_COMMIT: usize = 100;

const LANE: &str = "open/";

/// How much is measured.
struct Sizes {
    many: usize,
    few: usize,
    workers: usize,
    /// Claims of one worker in a round, and of each of many.
    alone: usize,
    each: usize,
    rounds: usize,
}

const FULL: Sizes =
    Sizes { many: 100_000, few: 1_000, workers: 100, alone: 200, each: 40, rounds: 5 };

/// `cargo test --benches` only checks that the benchmark runs.
const CHECK: Sizes = Sizes { many: 60, few: 40, workers: 3, alone: 4, each: 3, rounds: 2 };

fn main() {
    // `cargo test --benches` does not say `--bench`.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let sizes = if is_test { CHECK } else { FULL };
    let cluster = Cluster::shared();
    cluster.create_named("bench");
    let access = PostgresAccess::to(PostgresAddress::parse(&cluster.address("bench")).unwrap());
    PostgresStore::init(&access).unwrap();
    let store = PostgresStore::open(&access).unwrap();
    for (project, pieces) in [("many", sizes.many), ("few", sizes.few), ("other few", sizes.few)] {
        fill(&store, project, pieces);
    }
    cluster.sql("bench", "ANALYZE");
    let mut given = HashSet::new();
    let mut twice = 0;
    let mut count = |names: Vec<String>| {
        for name in names {
            twice += u64::from(!given.insert(name));
        }
    };

    let mut ratios = Vec::new();
    for _ in 0..sizes.rounds {
        let (alone, names) = rate(&access, 1, sizes.alone);
        count(names);
        let (together, names) = rate(&access, sizes.workers, sizes.each);
        count(names);
        println!("1 worker {alone:>6.0}/s  {} workers {together:>6.0}/s", sizes.workers);
        ratios.push(together / alone);
    }
    println!("{} workers beside 1: {:.1} x", sizes.workers, median(&mut ratios));
    println!("given twice: {twice}");

    // One worker, among many and twice among few, in rotating order.
    let order = ["few", "many", "other few"];
    let mut times = vec![Vec::new(); order.len()];
    for round in 0..sizes.few.min(300) / 2 {
        for step in 0..order.len() {
            let at = (round + step) % order.len();
            let began = Instant::now();
            claim(&store, order[at], "worker").expect("a piece is left");
            times[at].push(began.elapsed());
        }
    }
    let paired = |one: usize, other: usize| {
        let pairs = times[one].iter().zip(&times[other]);
        median(&mut pairs.map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect::<Vec<_>>())
    };
    println!(
        "among {} beside among {}: {:.2} (the same list twice: {:.2})",
        sizes.many,
        sizes.few,
        paired(1, 0),
        paired(2, 0)
    );
}

/// Claims per second of so many workers among many pieces, and the names of what they got.
fn rate(access: &PostgresAccess, workers: usize, each: usize) -> (f64, Vec<String>) {
    let start = Barrier::new(workers + 1);
    let (names, took): (Vec<String>, Duration) = thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|number| {
                let start = &start;
                scope.spawn(move || {
                    let store = PostgresStore::open(access).unwrap();
                    let holder = format!("worker {number}");
                    start.wait();
                    let claims = (0..each).map(|_| claim(&store, "many", &holder));
                    claims.map(|name| name.expect("a piece is left")).collect::<Vec<_>>()
                })
            })
            .collect();
        start.wait();
        let began = Instant::now();
        let names = running.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        (names, began.elapsed())
    });
    (names.len() as f64 / took.as_secs_f64(), names)
}

/// Takes the next piece of a list with its lease.
fn claim(store: &dyn Store, project: &str, holder: &str) -> Option<String> {
    let lanes = [ClaimLane { lane: LANE, only_while: None, aside: None }];
    let request = ClaimRequest {
        durability: Durability::Synced,
        fence: None,
        kind: Kind::Task,
        project,
        lanes: &lanes,
        done: "completed",
        offers: &[],
        skip: &[],
        status: "in_progress",
        to: None,
        note: holder,
        lease: Some(ClaimLease { prefix: "piece/", holder }),
    };
    let claimed = store.claim(&request).unwrap()?;
    Some(claimed.before.key.name)
}

fn fill(store: &dyn Store, project: &str, pieces: usize) {
    let numbers: Vec<usize> = (0..pieces).collect();
    for some in numbers.chunks(PUTS_PER_COMMIT) {
        let puts = some.iter().map(|number| Put {
            kind: Kind::Task,
            key: RecordKey { project: project.to_owned(), name: format!("{project} {number:06}") },
            expected: Expected::Absent,
            value: "x".repeat(VALUE_BYTES),
            created_at_ms: i64::try_from(*number).unwrap(),
            status: "open".to_owned(),
            queued: Some(Queued::at(LANE, i64::try_from(number % 5).unwrap())),
            moves: None,
        });
        store.commit(&Commit { puts: puts.collect(), ..Commit::synced() }).unwrap();
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
