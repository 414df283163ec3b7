//! Machines die at every point of a session, and another one continues it.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Task;
use super::audit::{Audit, Violation};
use super::fenced::{BEAT, is_refused};
use super::fleet::Fleet;
use super::random::Random;

/// How long a session of a dead machine may be refused.
const REFUSED_MAX: Duration = Duration::from_secs(60);

/// Sessions of one fleet.
const SESSIONS_PER_FLEET: u64 = 15;

/// Fleets at once: they mostly wait.
const FLEETS: usize = 3;

/// Processes of one session at most.
const PROCESSES_MAX: u32 = 4;

/// Whole machines die at numbered points, and the other machine resumes the session.
pub(crate) fn machines_killed(task: &Task<'_>) -> Audit {
    let points = points(task);
    let next = AtomicU64::new(0);
    let all = Mutex::new(Audit::default());
    std::thread::scope(|scope| {
        for _ in 0..FLEETS {
            scope.spawn(|| {
                let mut audit = Audit::default();
                loop {
                    let first = next.fetch_add(SESSIONS_PER_FLEET, Ordering::SeqCst);
                    if first >= task.kills {
                        break;
                    }
                    let mut fleet = Fleet::with_beat(task.program, &["a", "b"], BEAT);
                    let last = task.kills.min(first + SESSIONS_PER_FLEET);
                    for number in first..last {
                        // Spread over all points.
                        let point = 1 + number * points / task.kills;
                        kill_and_resume(&mut fleet, task, number, [point, points], &mut audit);
                    }
                }
                all.lock().expect("no fleet panicked").add(audit);
            });
        }
    });
    let mut audit = all.into_inner().expect("no fleet panicked");
    audit.notes.push(format!("{points} points in a session without faults"));
    audit
}

/// The number of points that a session passes.
fn points(task: &Task<'_>) -> u64 {
    let fleet = Fleet::with_beat(task.program, &["a"], BEAT);
    let file = fleet.lab.shared_folder().join("points");
    let mut command = fleet.machines[0].command("hookwright", &["run", "short.yaml"]);
    command.env("HOOKWRIGHT_POINTS_FILE", &file);
    let ran = command.output().expect("it starts");
    assert!(ran.status.success(), "{ran:?}");
    points_in(&file)
}

/// The number of points that a program has passed, from the file that it has written.
pub(crate) fn points_in(file: &Path) -> u64 {
    let text = std::fs::read_to_string(file).expect("the program counts points");
    text.lines().filter_map(|line| line.split(' ').next()?.parse::<u64>().ok()).sum()
}

/// One session: its machine dies at a point, and often that of its heir, too.
fn kill_and_resume(
    fleet: &mut Fleet,
    task: &Task<'_>,
    number: u64,
    [point, points]: [u64; 2],
    audit: &mut Audit,
) {
    let mut random = Random((task.seed << 32) ^ number);
    let name = format!("s{number}");
    let mut point = Some(point);
    let mut life = 0;
    let began = Instant::now();
    while life < PROCESSES_MAX {
        let machine = usize::try_from((number + u64::from(life)) % 2).unwrap_or(0);
        let arguments: &[&str] = match fleet.journal(&name).is_empty() {
            true => &["run", "short.yaml", "--session", &name, "--json"],
            false => &["resume", &name, "--json"],
        };
        let mut session = fleet.start_to_die(machine, &name, arguments, point);
        let status = session.process.wait();
        let was_killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
        if was_killed {
            fleet.machines[machine].kill();
            fleet.machines[machine].start_again();
            audit.made("machines killed at a numbered point");
            life += 1;
            point = (life == 1 && random.below(2) == 0).then(|| 1 + random.below(points));
            continue;
        }
        if is_refused(&session) && began.elapsed() < REFUSED_MAX {
            // Its machine has been silent for too short a time.
            continue;
        }
        if !status.success() {
            let what = format!("{name} ended with {status}: {}", session.complaints());
            audit.found(Violation::NotFinished, what);
        }
        break;
    }
    audit.look(fleet, &[name]);
}

impl Audit {
    /// Adds what another one has found.
    pub(crate) fn add(&mut self, other: Self) {
        self.found.extend(other.found);
        for (fault, times) in other.faults {
            *self.faults.entry(fault).or_default() += times;
        }
        self.sessions += other.sessions;
        self.entries += other.entries;
    }
}
