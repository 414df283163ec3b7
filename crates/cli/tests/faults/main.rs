//! The fault campaign: a session with hooks of all kinds is killed at every point at which it writes
//! something or starts something, and at random moments, and resumed until it is done. See
//! `cargo xtask faults`.
//!
//! ```text
//! cargo test -p hookwright --features faults --test faults -- --kills 500 --seed 1
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to people")]

mod checker;
mod life;
mod person;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use checker::Defect;
use life::{Kill, Life};

const BINARY: &str = env!("CARGO_BIN_EXE_hookwright");

/// So many kills unless asked otherwise: every point, and as many again elsewhere.
const KILLS: u64 = 2500;

/// The points around a question: before and behind each thing that is written or sent.
const ASKING: &[&str] = &[
    "wait is stored",
    "wait stored",
    "request arrived",
    "request known to have arrived",
    "decision known",
];

/// Sessions at once.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        let value = at.and_then(|at| arguments.get(at + 1));
        value.map_or(Some(default), |value| value.parse().ok())
    };
    let (Some(kills), Some(seed)) = (number("--kills", KILLS), number("--seed", 1)) else {
        eprintln!("usage: faults [--kills N] [--seed S] [--binary PATH]");
        return ExitCode::FAILURE;
    };
    let binary = arguments.iter().position(|argument| argument == "--binary");
    let binary = binary.and_then(|at| arguments.get(at + 1)).map_or(BINARY, |path| path);
    Campaign::new(PathBuf::from(binary), kills, seed).run()
}

struct Campaign {
    binary: PathBuf,
    kills: u64,
    seed: u64,
    /// Points that a session without faults passes.
    points: u64,
    /// How long such a session takes.
    length: Duration,
    sum: Mutex<Sum>,
    next_life: AtomicU64,
}

#[derive(Default)]
struct Sum {
    lives: u64,
    kills: u64,
    at_points: u64,
    while_asking: u64,
    resumes: u64,
    defects: BTreeMap<Defect, u64>,
}

impl Campaign {
    fn new(binary: PathBuf, kills: u64, seed: u64) -> Self {
        let calm = Life::lead(&binary, &[]);
        for (name, count) in &calm.points {
            println!("{count:6} {name}");
        }
        let points = calm.points.values().sum();
        println!("{points:6} points in a session of {:?} without faults", calm.first);
        let campaign = Self {
            binary,
            kills,
            seed,
            points,
            length: calm.first,
            sum: Mutex::default(),
            next_life: AtomicU64::new(1),
        };
        campaign.count("without faults", &[], &calm);
        campaign
    }

    /// Asking a person has few points among many, so each is died at, whatever chance does.
    fn die_while_asking(&self) {
        for name in ASKING {
            for time in 1..=3 {
                let kills = [Kill::AtName(name, time), Kill::AtName(name, 1)];
                let life = Life::lead(&self.binary, &kills);
                assert!(life.kills > 0, "nothing died at `{name}`");
                self.count(&format!("asking, {name}"), &kills, &life);
            }
        }
    }

    fn run(self) -> ExitCode {
        let began = Instant::now();
        self.die_while_asking();
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| while self.one_more() {});
            }
        });
        let sum = self.sum.into_inner().expect("no worker panicked");
        println!("\nseed                 {}", self.seed);
        println!("sessions             {}", sum.lives);
        println!("kills                {}", sum.kills);
        println!("  at numbered points {} (points: {})", sum.at_points, self.points);
        println!("  while asking       {}", sum.while_asking);
        println!("  from outside       {}", sum.kills - sum.at_points - sum.while_asking);
        println!("resumes              {}", sum.resumes);
        println!("time                 {:.0?}", began.elapsed());
        for (defect, words) in Defect::ALL {
            println!("{:6} {words}", sum.defects.get(defect).copied().unwrap_or(0));
        }
        let has_all = sum.at_points >= self.points.min(self.kills / 2);
        match sum.defects.is_empty() && sum.kills >= self.kills && has_all {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }

    /// Leads one more life; false when it is enough.
    fn one_more(&self) -> bool {
        let number = self.next_life.fetch_add(1, Ordering::SeqCst);
        let killed = self.sum.lock().expect("no worker panicked").kills;
        if killed >= self.kills && number > self.points.min(self.kills / 2) {
            return false;
        }
        let kills = self.kills_of(number);
        let life = Life::lead(&self.binary, &kills);
        self.count(&format!("life {number}"), &kills, &life);
        true
    }

    /// The first lives go through all points, each with a second kill anywhere; the others are
    /// killed at random moments several times.
    fn kills_of(&self, number: u64) -> Vec<Kill> {
        let mut random = Random((self.seed << 32) ^ number);
        let every = self.points.min(self.kills / 2);
        if number <= every {
            // Spread over all points if there is no time for each.
            let point = (number * self.points).div_ceil(every.max(1));
            let second = random.below(self.points) + 1;
            return vec![Kill::AtPoint(point), Kill::AtPoint(second)];
        }
        let most = u64::try_from(self.length.as_micros()).unwrap_or(u64::MAX);
        let some = random.below(4) + 1;
        (0..some).map(|_| Kill::After(Duration::from_micros(random.below(most)))).collect()
    }

    fn count(&self, name: &str, kills: &[Kill], life: &Life) {
        let mut sum = self.sum.lock().expect("no worker panicked");
        sum.lives += 1;
        sum.kills += life.kills;
        match kills.first() {
            Some(Kill::AtPoint(_)) => sum.at_points += life.kills,
            Some(Kill::AtName(..)) => sum.while_asking += life.kills,
            Some(Kill::After(_)) | None => {}
        }
        sum.resumes += life.resumes;
        for (defect, what) in &life.found {
            *sum.defects.entry(*defect).or_default() += 1;
            println!("{name} {kills:?}: {defect:?}: {what}");
        }
        if sum.lives.is_multiple_of(25) {
            println!("{} sessions, {} kills", sum.lives, sum.kills);
        }
    }
}

/// Random enough, and the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % most.max(1)
    }
}
