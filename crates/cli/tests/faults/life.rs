//! [`Life`]: one session, killed and resumed until it is done.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::checker::Checker;
use super::defect::Found;
use super::ground::Ground;
use super::world::World;

/// Maximum number of processes of a session.
pub(crate) const PROCESSES_MAX: usize = 40;

/// When a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kill {
    /// It kills itself at the point with this number. Needs the feature `faults`.
    AtPoint(u64),
    /// It kills itself at the point with this name, when it passes it for the nth time.
    AtName(&'static str, u64),
    /// It is killed from outside after this time.
    After(Duration),
    /// It interrupts itself at the point with this number, as Ctrl-C does. Needs the feature `faults`.
    InterruptAt(u64),
}

/// The results of a session.
#[derive(Default)]
pub(crate) struct Life {
    /// Processes that were killed.
    pub(crate) kills: u64,
    /// Processes that an interrupt ended.
    pub(crate) interrupts: u64,
    /// Processes that resumed the session.
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
        life.points = world.points();
        checker.look_at_end(&world);
        life.found = checker.found;
        life
    }
}

/// Runs one process; returns whether it was killed.
fn process(world: &World, binary: &Path, number: usize, kill: Option<Kill>) -> bool {
    let_run(&mut world.command(binary, number), kill)
}

/// Runs a process; returns whether it was killed.
pub(crate) fn let_run(command: &mut Command, kill: Option<Kill>) -> bool {
    prepare(command, kill);
    let mut child = command.spawn().expect("it starts");
    if let Some(Kill::After(time)) = kill {
        // The moment is arbitrary on purpose; there is no event to wait for.
        std::thread::sleep(time);
        let _ = child.kill();
    }
    was_killed(&mut child)
}

/// Waits for a process; returns whether it was killed.
pub(crate) fn was_killed(child: &mut Child) -> bool {
    child.wait().expect("it ends").signal() == Some(9)
}

/// Tells a process at which point to end itself.
pub(crate) fn prepare(command: &mut Command, kill: Option<Kill>) {
    match kill {
        Some(Kill::AtPoint(number)) => command.env("HOOKWRIGHT_DIE_AT", number.to_string()),
        Some(Kill::AtName(name, time)) => {
            command.env("HOOKWRIGHT_DIE_AT", format!("{time} {name}"))
        }
        Some(Kill::InterruptAt(number)) => {
            command.env("HOOKWRIGHT_INTERRUPT_AT", number.to_string())
        }
        Some(Kill::After(_)) | None => command,
    };
}

/// Whether the session has begun.
pub(crate) fn is_known(ground: &Ground, session: &str) -> bool {
    !ground.journal(session).is_empty()
}
