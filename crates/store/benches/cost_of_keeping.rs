//! Cost of commits, lists and opening a store: medians, on the disk of the temporary folder.
//!
//! Synced commits alternate with their lower bound: appending the same number of bytes to a plain
//! file and syncing it. If the two measurements of that bound differ by more than 3 %, the run is
//! repeated, up to five times, and then reported as void.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use hookwright_store::{
    Append, Commit, Durability, Expected, Fence, Filter, JournalKey, Kind, Put, RecordKey,
    SqliteStore, Store, entries, records,
};

const TRIES_MAX: usize = 5;
const SESSIONS: usize = 10_000;

/// Argument of the child process that is measured from outside.
const OPEN_ONLY: &str = "--open-only";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == OPEN_ONLY) {
        return tell_opening(Path::new(&args[at + 1]));
    }
    // `cargo test --benches` only checks that the benchmark runs.
    let rounds = if args.iter().any(|arg| arg == "--test") { 3 } else { 2_000 };
    commits(rounds);
    sessions(if rounds == 3 { 30 } else { SESSIONS });
    opening(rounds.min(200));
}

fn commits(rounds: usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store")).unwrap();
    let writer = JournalWriter::new(&store, Durability::Unsynced);
    let append = median_of(rounds * 5, || writer.append());
    let iteration = median_of(rounds * 5, || writer.iteration());
    println!("commits that are not synced");
    println!("  an entry of 500 bytes: {:.1} µs (target: well under 50 µs)", us(append));
    println!("  three entries and a record behind a fence: {:.1} µs", us(iteration));
    let writer = JournalWriter { durability: Durability::Synced, ..writer };
    let floor = Floor::new(folder.path());
    println!("synced commits, beside 500 bytes to the end of a plain file and a sync");
    let rounds = rounds / 4 + 1;
    compare(rounds, || floor.write(), || writer.append()).print("an entry of 500 bytes");
    compare(rounds, || floor.write(), || writer.iteration())
        .print("three entries and a record behind a fence");
    let memory = SqliteStore::in_memory().expect("memory");
    let writer = JournalWriter::new(&memory, Durability::Unsynced);
    let append = median_of(rounds * 5, || writer.append());
    println!("an entry of 500 bytes in memory: {:.1} µs", us(append));
}

fn sessions(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let puts: Vec<Put> = (0..count).map(session).collect();
    for puts in puts.chunks(1_000) {
        store.commit(&Commit { puts: puts.to_vec(), ..Commit::unsynced() }).unwrap();
    }
    let project = Some("/home/somebody/projects/3".to_owned());
    let statuses = vec!["running".to_owned()];
    let name_prefix = Some("session-99".to_owned());
    println!("a list of {count} sessions of 700 bytes");
    for (what, filter, target) in [
        ("the newest 10", Filter::newest(10), "under 5 ms"),
        (
            "10 of one project",
            Filter { project: project.clone(), ..Filter::newest(10) },
            "under 5 ms",
        ),
        (
            "10 that run, 1 % of them",
            Filter { statuses: statuses.clone(), ..Filter::newest(10) },
            "under 5 ms",
        ),
        (
            "10 of a project that run, which none does",
            Filter { project, statuses, ..Filter::newest(10) },
            "under 5 ms",
        ),
        (
            "10 by the beginning of their name",
            Filter { name_prefix, ..Filter::newest(10) },
            "under 5 ms",
        ),
        ("all of them", Filter::newest(count), "under 100 ms"),
    ] {
        let took = median_of(30, || {
            std::hint::black_box(store.list(Kind::Session, &filter).unwrap());
        });
        println!("  {what}: {:.3} ms (target: {target})", ms(took));
    }
    let took = median_of(30, || {
        let all = records(&store, Kind::Session, Filter::newest(1_000));
        assert_eq!(all.map(Result::unwrap).count(), count);
    });
    println!("  all of them in pages of 1,000: {:.3} ms", ms(took));
    let writer = JournalWriter::new(&store, Durability::Unsynced);
    for _ in 0..count {
        writer.append();
    }
    let took = median_of(30, || {
        assert_eq!(entries(&store, &writer.journal, 0).map(Result::unwrap).count(), count);
    });
    println!("  a journal of {count} entries of 500 bytes: {:.3} ms", ms(took));
}

/// Measured in separate processes, because a process's first connection takes longest.
fn opening(rounds: usize) {
    let folder = tempfile::tempdir().unwrap();
    for (what, appends) in [
        ("an empty log", 0),
        ("a log of 100 commits", 100),
        // Just below the length at which a commit would shorten the log.
        ("a log that is nearly full", 325),
    ] {
        let path = folder.path().join(appends.to_string());
        let store = SqliteStore::open(&path).unwrap();
        let writer = JournalWriter::new(&store, Durability::Unsynced);
        for _ in 0..appends {
            writer.append();
        }
        drop(store);
        let log = std::fs::metadata(path.join("store.sqlite3-wal")).map_or(0, |file| file.len());
        let (mut opened, mut read): (Vec<f64>, Vec<f64>) = (0..rounds)
            .map(|_| {
                let me = std::env::current_exe().unwrap();
                let output = Command::new(me).arg(OPEN_ONLY).arg(&path).output().unwrap();
                let text = String::from_utf8(output.stdout).unwrap();
                let (opened, read) = text.trim().split_once(' ').unwrap();
                (opened.parse::<f64>().unwrap(), read.parse::<f64>().unwrap())
            })
            .unzip();
        println!("opening a store with {what} ({} KiB) in a new process", log / 1024);
        println!(
            "  {:.3} ms (target: under 2 ms), and {:.3} ms for the first list",
            median(&mut opened),
            median(&mut read)
        );
    }
    let took = Cell::new(0);
    let created = median_of(rounds.min(20), || {
        took.set(took.get() + 1);
        SqliteStore::open(&folder.path().join(format!("new-{}", took.get()))).unwrap();
    });
    println!("making a new store: {:.3} ms", ms(created));
}

fn tell_opening(path: &Path) {
    let start = Instant::now();
    let store = SqliteStore::open(path).unwrap();
    let opened = start.elapsed();
    let start = Instant::now();
    store.list(Kind::Session, &Filter::newest(10)).unwrap();
    println!("{} {}", ms(opened), ms(start.elapsed()));
}

/// Appends to one journal, as a session does.
struct JournalWriter<'a> {
    store: &'a dyn Store,
    durability: Durability,
    journal: JournalKey,
    fence: Fence,
    entries: [String; 3],
    last: Cell<u64>,
}

impl<'a> JournalWriter<'a> {
    fn new(store: &'a dyn Store, durability: Durability) -> Self {
        let journal =
            JournalKey { project: "/home/somebody/projects/0".into(), session: "s".into() };
        let acquired = store.acquire("run", "me", None).unwrap();
        let hookwright_store::Acquired::Granted { token } = acquired else {
            unreachable!("a lease of its own")
        };
        let fence = Fence { lease: "run".into(), token };
        let entries = [(); 3].map(|()| "x".repeat(500));
        Self { store, durability, journal, fence, entries, last: Cell::new(0) }
    }

    fn append(&self) {
        let entries = &self.entries[..1];
        let append = Append { journal: &self.journal, expected: self.last.get(), entries };
        let empty = Commit::unsynced();
        let commit = Commit { durability: self.durability, append: Some(append), ..empty };
        self.last.set(self.store.commit(&commit).unwrap().last);
    }

    fn iteration(&self) {
        let (expected, entries) = (self.last.get(), &self.entries);
        let put = Put { expected: Expected::Any, ..session(0) };
        let commit = Commit {
            durability: self.durability,
            fence: Some(&self.fence),
            append: Some(Append { journal: &self.journal, expected, entries }),
            puts: vec![put],
            ..Commit::unsynced()
        };
        self.last.set(self.store.commit(&commit).unwrap().last);
    }
}

fn session(number: usize) -> Put {
    Put {
        kind: Kind::Session,
        key: RecordKey {
            project: format!("/home/somebody/projects/{}", number % 7),
            name: format!("session-{number}-abcdef"),
        },
        expected: Expected::Absent,
        value: format!("{{\"name\": {number}, \"text\": \"{}\"}}", "x".repeat(670)),
        created_at_ms: 1_700_000_000_000 + number as i64,
        status: if number % 100 == 5 && number % 7 != 3 { "running" } else { "completed" }.into(),
        queued: None,
        moves: None,
    }
}

/// Appends the same number of bytes to a plain file and syncs it.
struct Floor {
    file: File,
}

impl Floor {
    fn new(folder: &Path) -> Self {
        let mut options = OpenOptions::new();
        Self { file: options.create(true).append(true).open(folder.join("floor")).unwrap() }
    }

    fn write(&self) {
        (&self.file).write_all(&[b'x'; 500]).unwrap();
        self.file.sync_data().unwrap();
    }
}

struct Compared {
    ratio: f64,
    thing: f64,
    floor: f64,
    floors: f64,
    is_void: bool,
}

impl Compared {
    fn print(&self, what: &str) {
        let void = if self.is_void { "VOID: " } else { "" };
        println!(
            "  {what}: {void}ratio {:.2}, {:.3} ms over a floor of {:.3} ms; A/A' {:.3}",
            self.ratio,
            self.thing * 1e3,
            self.floor * 1e3,
            self.floors
        );
    }
}

fn compare(rounds: usize, floor: impl Fn(), thing: impl Fn()) -> Compared {
    let mut last = None;
    for _ in 0..TRIES_MAX {
        let compared = compare_once(rounds, &floor, &thing);
        if !compared.is_void {
            return compared;
        }
        last = Some(compared);
    }
    last.unwrap()
}

fn compare_once(rounds: usize, floor: &impl Fn(), thing: &impl Fn()) -> Compared {
    let time = |deed: &dyn Fn()| {
        let start = Instant::now();
        deed();
        start.elapsed().as_secs_f64()
    };
    let (mut ratios, mut things, mut firsts, mut floors) = (vec![], vec![], vec![], vec![]);
    for round in 0..rounds {
        // Every other round is mirrored, so that both runs of the floor follow the thing equally often.
        let order = if round % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] };
        let mut times = [0.0; 3];
        for which in order {
            times[which] = if which == 1 { time(thing) } else { time(floor) };
        }
        let [a, b, second] = times;
        ratios.push(b / f64::midpoint(a, second));
        things.push(b);
        firsts.push(a);
        floors.push(a / second);
    }
    let floors = median(&mut floors);
    let (thing, floor) = (median(&mut things), median(&mut firsts));
    let ratio = median(&mut ratios);
    Compared { ratio, thing, floor, floors, is_void: !(0.97..=1.03).contains(&floors) }
}

fn median_of(times: usize, deed: impl Fn()) -> Duration {
    let mut took: Vec<f64> = (0..times)
        .map(|_| {
            let start = Instant::now();
            deed();
            start.elapsed().as_secs_f64()
        })
        .collect();
    Duration::from_secs_f64(median(&mut took))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn us(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
