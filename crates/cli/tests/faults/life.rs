//! [`Life`]: one session, killed and resumed until it is done.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::checker::{Checker, Found};
use super::world::World;

/// A session is resumed so often at most.
const PROCESSES_MAX: usize = 40;

/// When a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kill {
    /// It kills itself at the point with this number. Needs the feature `faults`.
    AtPoint(u64),
    /// It kills itself at a point with this name, when it is passed for the so-manyth time.
    AtName(&'static str, u64),
    /// It is killed from outside, after this time.
    After(Duration),
}

/// What came of a session.
#[derive(Default)]
pub(crate) struct Life {
    /// Processes that were killed.
    pub(crate) kills: u64,
    /// Processes that took the session up again.
    pub(crate) resumes: u64,
    pub(crate) found: Found,
    /// Points that the last process passed, by name.
    pub(crate) points: BTreeMap<String, u64>,
    /// How long the first process lived.
    pub(crate) first: Duration,
}

impl Life {
    /// Runs a session; its processes are killed like this, one after the other, and then no more.
    pub(crate) fn lead(binary: &Path, kills: &[Kill]) -> Self {
        let world = World::new();
        let mut life = Self::default();
        let mut checker = Checker::default();
        let mut kills = kills.iter().copied();
        for number in 0..PROCESSES_MAX {
            let is_resume = !world.journal().is_empty();
            let began = Instant::now();
            let was_killed = process(&world, binary, number, kills.next());
            if number == 0 {
                life.first = began.elapsed();
            }
            life.kills += u64::from(was_killed);
            life.resumes += u64::from(is_resume);
            checker.look(&world);
            if !was_killed {
                break;
            }
        }
        life.points = points(&world);
        checker.look_at_end(&world);
        life.found = checker.found;
        life
    }
}

/// One process; whether it was killed.
fn process(world: &World, binary: &Path, number: usize, kill: Option<Kill>) -> bool {
    let mut command = world.command(binary, number);
    if let Some(Kill::AtPoint(number)) = kill {
        command.env("HOOKWRIGHT_DIE_AT", number.to_string());
    }
    if let Some(Kill::AtName(name, time)) = kill {
        command.env("HOOKWRIGHT_DIE_AT", format!("{time} {name}"));
    }
    let mut child = command.spawn().expect("it starts");
    if let Some(Kill::After(time)) = kill {
        // The moment is meant to be any; nothing is waited for here.
        std::thread::sleep(time);
        let _ = child.kill();
    }
    child.wait().expect("it ends").signal() == Some(9)
}

fn points(world: &World) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(world.points()).unwrap_or_default();
    let read = |line: &str| {
        let (count, name) = line.split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    text.lines().filter_map(read).collect()
}
