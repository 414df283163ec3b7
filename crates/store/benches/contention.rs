//! Throughput of many processes that commit to one store at once, as sessions do.
//!
//! An iteration is some CPU work and three commits, one of them synced to the disk of the temporary
//! folder. The benchmark reports iterations per second of all processes together, and CPU time per
//! iteration. `cargo bench -p hookwright-store --bench contention -- --before PATH` measures the
//! same benchmark of another version in the same run, alternately; numbers select how many
//! processes run.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hookwright_store::{
    Append, Commit, Durability, Expected, Fence, JournalKey, Kind, Put, RecordKey, SqliteStore,
    Store,
};
use rustix::time::{ClockId, clock_gettime};

/// Argument of the child processes that commit.
const COMMITS: &str = "--commits";
const BEFORE: &str = "--before";

/// The CPU work of one iteration: about 0.3 ms.
const STEPS_OF_WORK: u64 = 250_000;

const ROUNDS: usize = 3;

/// Iterations of all processes together.
const ITERATIONS: usize = 4_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let behind = |word: &str| {
        let at = arguments.iter().position(|argument| argument == word)?;
        arguments.get(at + 1..)
    };
    if let Some([folder, number, iterations, ..]) = behind(COMMITS) {
        let processor = iterate(Path::new(folder), number, iterations.parse().unwrap());
        println!("{}", processor.as_micros());
        return;
    }
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let (sizes, iterations, rounds): (&[usize], usize, usize) =
        if is_test { (&[1, 3], 12, 1) } else { (&[1, 10, 60, 100], ITERATIONS, ROUNDS) };
    let named: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if named.is_empty() { sizes } else { &named };
    let this = std::env::current_exe().unwrap();
    let before = behind(BEFORE).and_then(<[String]>::first).map(PathBuf::from);
    let programs: Vec<(&str, &Path)> = before
        .iter()
        .map(|path| ("before", path.as_path()))
        .chain([("now", this.as_path())])
        .collect();
    for size in sizes {
        let mut figures: Vec<Vec<Figures>> = vec![Vec::new(); programs.len()];
        for _ in 0..rounds {
            for ((_, program), figures) in programs.iter().zip(&mut figures) {
                figures.push(measure(program, *size, iterations / size));
            }
        }
        let medians: Vec<Figures> = figures.into_iter().map(median).collect();
        for ((name, _), figures) in programs.iter().zip(&medians) {
            println!(
                "{size} processes, {name}: {:.0} iterations a second, {:.2} ms of the processor each, the slowest process {:.2} x the mean",
                figures.per_second, figures.processor_ms, figures.slowest
            );
        }
        if let [before, now] = &medians[..] {
            println!("  {:.2} x the throughput", now.per_second / before.per_second);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Figures {
    per_second: f64,
    processor_ms: f64,
    /// Time of the slowest process, divided by the average.
    slowest: f64,
}

fn median(mut figures: Vec<Figures>) -> Figures {
    figures.sort_by(|one, other| one.per_second.total_cmp(&other.per_second));
    figures[figures.len() / 2]
}

fn measure(program: &Path, processes: usize, iterations: usize) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    let start = |number: usize| {
        let mut command = Command::new(program);
        let (number, iterations) = (number.to_string(), iterations.to_string());
        command.arg(COMMITS).arg(folder.path()).args([number, iterations]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<Child> = (0..processes).map(start).collect();
    for child in &mut children {
        // The child has opened the store.
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    }
    let began = Instant::now();
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let (mut processor, mut took) = (0.0, Vec::new());
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let mut numbers = text.split_whitespace().map(|number| number.parse::<f64>().unwrap());
        took.push(numbers.next().unwrap());
        processor += numbers.next().unwrap();
    }
    let done = (processes * iterations) as f64;
    let mean = took.iter().sum::<f64>() / took.len() as f64;
    Figures {
        per_second: done / began.elapsed().as_secs_f64(),
        processor_ms: processor / 1_000.0 / done,
        slowest: took.iter().copied().fold(0.0, f64::max) / mean,
    }
}

/// Runs this many iterations and returns their CPU time.
fn iterate(folder: &Path, number: &str, iterations: usize) -> Duration {
    let store = SqliteStore::open(folder).unwrap();
    let session = Session::new(&store, number);
    session.iterate(0);
    println!("ready");
    std::io::stdin().read_exact(&mut [0; 3]).unwrap();
    let (began, before) = (Instant::now(), processor_time());
    for iteration in 1..=iterations {
        session.iterate(iteration);
    }
    println!("{}", began.elapsed().as_micros());
    processor_time() - before
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

struct Session<'a> {
    store: &'a SqliteStore,
    journal: JournalKey,
    fence: Fence,
}

impl<'a> Session<'a> {
    fn new(store: &'a SqliteStore, number: &str) -> Self {
        let lease = format!("session/{number}");
        let hookwright_store::Acquired::Granted { token } =
            store.acquire(&lease, "benchmark", None).unwrap()
        else {
            panic!("its lease is taken");
        };
        let journal = JournalKey { project: "/project".into(), session: number.to_owned() };
        Self { store, journal, fence: Fence { lease, token } }
    }

    fn iterate(&self, iteration: usize) {
        let steps = 0..STEPS_OF_WORK;
        std::hint::black_box(steps.fold(1, |sum: u64, step| {
            std::hint::black_box((sum ^ step).wrapping_mul(0x0100_0000_01b3))
        }));
        let mut last = self.store.last(&self.journal).unwrap();
        for (commit, durability) in
            [Durability::Unsynced, Durability::Unsynced, Durability::Synced].into_iter().enumerate()
        {
            let entries = [format!("{iteration} {}", "x".repeat(400))];
            let put = Put {
                kind: Kind::Session,
                key: RecordKey {
                    project: self.journal.project.clone(),
                    name: self.journal.session.clone(),
                },
                expected: Expected::Any,
                value: format!("{iteration} {}", "y".repeat(700)),
                created_at_ms: 0,
                status: "active".into(),
                queued: None,
                moves: None,
            };
            let committed = self.store.commit(&Commit {
                durability,
                fence: Some(&self.fence),
                append: Some(Append { journal: &self.journal, expected: last, entries: &entries }),
                puts: if commit == 2 { vec![put] } else { Vec::new() },
                ..Commit::unsynced()
            });
            last = committed.unwrap().last;
        }
    }
}
