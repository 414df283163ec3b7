//! The fault campaign: sessions are killed at every point at which they write or start something,
//! and at random moments, and resumed until they are done. See `cargo xtask faults`.
//!
//! | part | what is killed |
//! |---|---|
//! | `whole` | a session with hooks of all kinds |
//! | `asking` | the same, around its questions to a person |
//! | `queue`, `queue-of-tasks`, `queue-at-once` | sessions that share a queue |
//! | `ends` | a session that is interrupted at each point, and killed between |
//! | `orphans` | agents that outlive their session and call `task done`, which a hook blocks |
//! | `agent` | a session of the built-in agent, which is continued |
//! | `agent-in-pipeline` | a loop with the built-in agent |
//!
//! ```text
//! cargo test -p hookwright --features faults --test faults -- --kills 500 --seed 1 --only queue
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to people")]

mod built_in;
mod built_in_checker;
mod checker;
mod defect;
mod ends;
mod essence;
mod ground;
mod life;
mod orphans;
mod person;
mod shared;
mod world;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use defect::Defect;
use life::{Kill, Life};

const BINARY: &str = env!("CARGO_BIN_EXE_hookwright");

/// Default number of kills: every point, and as many again elsewhere.
const KILLS: u64 = 2500;

/// The points around a question: before and after everything that is written or sent.
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
    let text = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).map(String::as_str)
    };
    let only = text("--only");
    let chosen = PARTS.iter().filter(|part| only.is_none_or(|only| only == part.name));
    let parts: Vec<&'static Part> = chosen.collect();
    let (Some(kills), Some(seed), false) =
        (number("--kills", KILLS), number("--seed", 1), parts.is_empty())
    else {
        let names = PARTS.map(|part| part.name).join(" | ");
        eprintln!("usage: faults [--kills N] [--seed S] [--binary PATH] [--only {names}]");
        return ExitCode::FAILURE;
    };
    let binary = PathBuf::from(text("--binary").unwrap_or(BINARY));
    let shares: u64 = parts.iter().map(|part| part.share).sum();
    let mut all = Sum::default();
    let mut is_whole = true;
    for part in parts {
        let kills = (kills * part.share).div_ceil(shares.max(1));
        let campaign = Campaign::new(part, binary.clone(), kills, seed);
        let (sum, has_all) = campaign.run();
        is_whole &= has_all;
        all.add(&sum);
    }
    println!("\nall parts");
    all.print();
    match all.defects.is_empty() && is_whole {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// A part of the campaign.
struct Part {
    name: &'static str,
    /// The share of the kills, in per cent.
    share: u64,
    lead: fn(&Path, &[Kill]) -> Life,
    plan: Plan,
}

/// How sessions of a part are killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// At each point and once more anywhere, then at random moments.
    Points,
    /// The same, but first at the points of each name, and some of the kills are kept for random moments:
    /// most points of the built-in agent are entries of its journal.
    Names,
    /// At the points around a question.
    Asking,
    /// Interrupted at each point, then interrupted or killed at any.
    Interrupts,
    /// Several at once, at random moments.
    Moments,
}

const PARTS: [Part; 9] = [
    Part { name: "whole", share: 30, lead: Life::lead, plan: Plan::Points },
    Part { name: "asking", share: 2, lead: Life::lead, plan: Plan::Asking },
    Part { name: "queue", share: 12, lead: shared::issues_in_turns, plan: Plan::Points },
    Part { name: "queue-of-tasks", share: 12, lead: shared::tasks_in_turns, plan: Plan::Points },
    Part { name: "queue-at-once", share: 6, lead: shared::at_once, plan: Plan::Moments },
    Part { name: "ends", share: 6, lead: ends::lead, plan: Plan::Interrupts },
    Part { name: "orphans", share: 10, lead: orphans::lead, plan: Plan::Points },
    Part { name: "agent", share: 14, lead: built_in::alone, plan: Plan::Names },
    Part { name: "agent-in-pipeline", share: 8, lead: built_in::in_loop, plan: Plan::Names },
];

/// One running part.
struct Campaign {
    part: &'static Part,
    binary: PathBuf,
    kills: u64,
    seed: u64,
    /// Points that a session without kills passes.
    points: u64,
    /// Kills at points with names, before all others.
    named: Vec<Kill>,
    /// Duration of such a session.
    length: Duration,
    sum: Mutex<Sum>,
    next_life: AtomicU64,
}

#[derive(Default)]
struct Sum {
    lives: u64,
    kills: u64,
    interrupts: u64,
    at_points: u64,
    /// Points at which a session was killed or interrupted, and the number of all points.
    covered: u64,
    points: u64,
    resumes: u64,
    took: Duration,
    defects: BTreeMap<Defect, u64>,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.lives += other.lives;
        self.kills += other.kills;
        self.interrupts += other.interrupts;
        self.at_points += other.at_points;
        self.covered += other.covered;
        self.points += other.points;
        self.resumes += other.resumes;
        self.took += other.took;
        for (defect, times) in &other.defects {
            *self.defects.entry(*defect).or_default() += times;
        }
    }

    fn print(&self) {
        println!("lives                {}", self.lives);
        println!("kills                {}", self.kills);
        println!("  at numbered points {}", self.at_points);
        println!("  from outside       {}", self.kills - self.at_points);
        println!("interrupts           {}", self.interrupts);
        println!("points covered       {} of {}", self.covered, self.points);
        println!("resumes              {}", self.resumes);
        println!("time                 {:.0?}", self.took);
        for (defect, words) in Defect::ALL {
            println!("{:6} {words}", self.defects.get(defect).copied().unwrap_or(0));
        }
    }
}

impl Campaign {
    fn new(part: &'static Part, binary: PathBuf, kills: u64, seed: u64) -> Self {
        println!("\n{}", part.name);
        let calm = (part.lead)(&binary, &[]);
        for (name, count) in &calm.points {
            println!("{count:6} {name}");
        }
        let points = match part.plan {
            Plan::Points | Plan::Names | Plan::Interrupts => calm.points.values().sum(),
            Plan::Asking | Plan::Moments => 0,
        };
        let named = match part.plan {
            Plan::Names => at_names(&calm.points),
            _ => Vec::new(),
        };
        println!("{points:6} points in a session of {:?} without faults", calm.first);
        let campaign = Self {
            part,
            binary,
            kills,
            seed,
            points,
            named,
            // Concurrent sessions have no first process.
            length: calm.first.max(Duration::from_millis(400)),
            sum: Mutex::default(),
            next_life: AtomicU64::new(1),
        };
        campaign.count("without faults", &[], &calm);
        campaign
    }

    /// Kills at each of the few points of a question, whatever the random kills do.
    fn die_while_asking(&self) {
        for name in ASKING {
            for time in 1..=3 {
                let kills = [Kill::AtName(name, time), Kill::AtName(name, 1)];
                let life = (self.part.lead)(&self.binary, &kills);
                assert!(life.kills > 0, "nothing died at `{name}`");
                self.count(&format!("asking, {name}"), &kills, &life);
            }
        }
    }

    /// The results, and whether everything was done.
    fn run(self) -> (Sum, bool) {
        let began = Instant::now();
        if self.part.plan == Plan::Asking {
            self.die_while_asking();
        } else {
            std::thread::scope(|scope| {
                for _ in 0..WORKERS {
                    scope.spawn(|| while self.one_more() {});
                }
            });
        }
        let every = self.every() - self.named();
        let mut sum = self.sum.into_inner().expect("no worker panicked");
        (sum.took, sum.points, sum.covered) = (began.elapsed(), self.points, every);
        println!("\n{}, seed {}", self.part.name, self.seed);
        sum.print();
        let has_all = self.part.plan == Plan::Asking || sum.kills + sum.interrupts >= self.kills;
        (sum, has_all)
    }

    /// The number of lives for the points: one for each, if the number of kills allows it.
    fn every(&self) -> u64 {
        match self.part.plan {
            // Such a life has one or two kills.
            Plan::Names => {
                self.named() + self.points.min(self.kills.saturating_sub(self.named()) / 3)
            }
            _ => self.points.min(self.kills),
        }
    }

    fn named(&self) -> u64 {
        self.named.len() as u64
    }

    /// Runs one more life; false when it is enough.
    fn one_more(&self) -> bool {
        let number = self.next_life.fetch_add(1, Ordering::SeqCst);
        let (killed, lives) = {
            let sum = self.sum.lock().expect("no worker panicked");
            (sum.kills + sum.interrupts, sum.lives)
        };
        // Stop also if sessions keep ending before their kill.
        let is_enough = killed >= self.kills || lives > self.every() + self.kills;
        if is_enough && number > self.every() {
            return false;
        }
        let kills = self.kills_of(number);
        let life = (self.part.lead)(&self.binary, &kills);
        self.count(&format!("{} {number}", self.part.name), &kills, &life);
        true
    }

    /// The first lives go through all points, each with a second kill anywhere; the others are
    /// killed at random moments several times.
    fn kills_of(&self, number: u64) -> Vec<Kill> {
        let mut random = Random((self.seed << 32) ^ number);
        let first = usize::try_from(number - 1).unwrap_or(usize::MAX);
        if let Some(kill) = self.named.get(first) {
            return vec![*kill, Kill::AtPoint(random.below(self.points) + 1)];
        }
        let (number, every) = (number - self.named(), self.every() - self.named());
        if number <= every {
            // Spread over all points if there are too few kills for each.
            let point = (number * self.points).div_ceil(every.max(1));
            let second = random.below(self.points) + 1;
            return match self.part.plan {
                Plan::Interrupts if number.is_multiple_of(2) => {
                    vec![Kill::InterruptAt(point), Kill::AtPoint(second)]
                }
                Plan::Interrupts => vec![Kill::InterruptAt(point), Kill::InterruptAt(second)],
                _ => vec![Kill::AtPoint(point), Kill::AtPoint(second)],
            };
        }
        if self.part.plan == Plan::Interrupts {
            let third = random.below(self.points / 2) + 1;
            let at = random.below(self.points) + 1;
            return vec![Kill::AtPoint(at), Kill::InterruptAt(third), Kill::InterruptAt(third)];
        }
        let most = u64::try_from(self.length.as_micros()).unwrap_or(u64::MAX);
        let some = match self.part.plan {
            Plan::Moments => 6,
            _ => random.below(4) + 1,
        };
        (0..some).map(|_| Kill::After(Duration::from_micros(random.below(most)))).collect()
    }

    fn count(&self, name: &str, kills: &[Kill], life: &Life) {
        let mut sum = self.sum.lock().expect("no worker panicked");
        sum.lives += 1;
        sum.kills += life.kills;
        sum.interrupts += life.interrupts;
        match kills.first() {
            Some(Kill::AtPoint(_) | Kill::AtName(..) | Kill::InterruptAt(_)) => {
                sum.at_points += life.kills;
            }
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

/// A kill when a point of each name is passed first, and one in the middle.
fn at_names(points: &BTreeMap<String, u64>) -> Vec<Kill> {
    let kills = points.iter().flat_map(|(name, times)| {
        // For the rest of the program, which is short: kills are copied.
        let name: &'static str = name.clone().leak();
        let middle = (*times > 1).then(|| Kill::AtName(name, times.div_ceil(2)));
        std::iter::once(Kill::AtName(name, 1)).chain(middle)
    });
    kills.collect()
}

/// Pseudorandom numbers, the same for the same seed.
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
