//! The fault campaign for several machines: servers, machines, networks and processes are killed,
//! stopped and lied to while sessions run in a shared store. See `cargo xtask machines`.
//!
//! | part | what happens |
//! |---|---|
//! | `server` | the server is killed again and again under sessions of two machines |
//! | `away` | the server is away for two minutes, and for ten |
//! | `deliveries` | requests are lost, answers are swallowed, and statements arrive late |
//! | `standstill` | a session, a machine, a network and the server are stopped, and continue |
//! | `silence` | under workers, these stand still for longer than a silent worker is waited for |
//! | `stopped-worker` | workers stand still, and their session processes go on |
//! | `takeover` | machines die at numbered points of a session, which the other one continues |
//! | `workers` | workers, their session processes and their machines die at numbered points |
//! | `remote` | the git remote refuses, or is gone, while sessions run on workers |
//! | `fenced` | holders stand still until they have an heir, and go on |
//! | `identities` | machines have equal names, equal ids, and wrong clocks |
//! | `databases` | a read-only or full server, another schema version, a pooler that restarts |
//!
//! ```text
//! cargo test -p hookwright --features faults --test machines -- --kills 50 --seed 1 --only server
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to people")]

mod audit;
mod carried_work;
mod databases;
mod death_point;
mod deliveries;
#[path = "../faults/essence.rs"]
mod essence;
mod fenced;
mod fleet;
mod identities;
mod random;
mod remote;
mod running_worker;
mod server;
mod silence;
mod standstill;
mod takeover;
mod workers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use audit::{Audit, Violation};

const BINARY: &str = env!("CARGO_BIN_EXE_hookwright");

/// What a part is given: the program, how many faults, and a number for pseudorandom choices.
pub(crate) struct Task<'a> {
    pub(crate) program: &'a Path,
    pub(crate) kills: u64,
    pub(crate) seed: u64,
    /// How much later than promised something may happen, on a busy machine.
    pub(crate) slack: Duration,
}

/// A part's name, how many faults it makes unless told otherwise, and what it does. A part without
/// a number makes each of its faults once, whatever it is told.
type Part = (&'static str, u64, fn(&Task<'_>) -> Audit);

const PARTS: &[Part] = &[
    ("server", 50, server::killed),
    ("away", 0, server::away),
    ("deliveries", 200, deliveries::late_and_lost),
    ("standstill", 50, standstill::stopped),
    ("silence", 50, silence::long_standstills),
    ("stopped-worker", 20, silence::stopped_workers),
    ("takeover", 300, takeover::machines_killed),
    ("workers", 300, workers::killed),
    ("remote", 12, remote::refusing_and_gone),
    ("fenced", 50, fenced::stopped_until_dead),
    ("identities", 0, identities::mistaken),
    ("databases", 0, databases::unusable),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).map(String::as_str)
    };
    let only = text("--only");
    let parts: Vec<&Part> =
        PARTS.iter().filter(|(name, ..)| only.is_none_or(|only| only == *name)).collect();
    let kills = text("--kills").map(str::parse::<u64>).transpose();
    let seed = text("--seed").map_or(Ok(1), str::parse::<u64>);
    let (Ok(kills), Ok(seed), false) = (kills, seed, parts.is_empty()) else {
        let names: Vec<&str> = PARTS.iter().map(|(name, ..)| *name).collect();
        let names = names.join(" | ");
        eprintln!("usage: machines [--kills N] [--seed S] [--binary PATH] [--only {names}]");
        return ExitCode::FAILURE;
    };
    let slack = Duration::ZERO;
    let program = PathBuf::from(text("--binary").unwrap_or(BINARY));
    let mut all = Audit::default();
    for (name, usual, part) in parts {
        println!("\n{name}, seed {seed}");
        let began = Instant::now();
        let kills = kills.unwrap_or(*usual);
        let audit = part(&Task { program: &program, kills, seed, slack });
        print(&audit);
        println!("time {:.0?}", began.elapsed());
        all.add(audit);
    }
    println!("\nall parts");
    print(&all);
    if all.found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The violations, in the words of the summary.
const WORDS: &[(Violation, &str)] = &[
    (Violation::EntryLost, "acknowledged entries lost"),
    (Violation::CompletionRepeated, "recorded completions repeated"),
    (Violation::WorkGivenTwice, "pieces of work given to two"),
    (Violation::RunWithoutRecord, "runs that were not recorded before they began"),
    (Violation::ProcessLeft, "processes left"),
    (Violation::DeclaredDead, "living machines whose session was taken"),
    (Violation::NotFenced, "sessions or agents that went on behind their heir"),
    (Violation::WorkLost, "pieces of work lost"),
    (Violation::NotFinished, "sessions that did not come to their end"),
    (Violation::WrongAnswer, "refusals that did not say what was wrong"),
];

fn print(audit: &Audit) {
    for (violation, what) in &audit.found {
        println!("{violation:?}: {what}");
    }
    for (fault, times) in &audit.faults {
        println!("{times:6} {fault}");
    }
    for note in &audit.notes {
        println!("       {note}");
    }
    println!("{:6} sessions", audit.sessions);
    println!("{:6} journal entries", audit.entries);
    for (violation, words) in WORDS {
        let times = audit.found.iter().filter(|(found, _)| found == violation).count();
        println!("{times:6} {words}");
    }
}
