//! Workers, their session processes and their machines die while sessions run that were submitted
//! to workers.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hookwright_events::{RunEventKind, SessionEvent};
use hookwright_machine_lab::MachineProcess;
use rustix::process::Signal;

use super::Task;
use super::audit::{Audit, Violation};
use super::fenced::BEAT;
use super::fleet::Fleet;
use super::random::Random;

/// Sessions of one fleet.
const SESSIONS_PER_FLEET: u64 = 15;

/// Fleets at once: they mostly wait.
const FLEETS: usize = 2;

/// The machine from which sessions are submitted.
const SUBMITTER: usize = 2;

/// How long a session may take on a busy machine, with its takeover.
const SESSION_MAX: Duration = Duration::from_secs(120);

/// A point that no session process passes.
const NEVER: u64 = u64::MAX;

/// Each session meets one death: of its process, of the worker, or of the machine, in turn.
pub(crate) fn killed(task: &Task<'_>) -> Audit {
    let next = AtomicU64::new(0);
    let all = Mutex::new(Audit::default());
    std::thread::scope(|scope| {
        for _ in 0..FLEETS {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(SESSIONS_PER_FLEET, Ordering::SeqCst);
                    if first >= task.kills {
                        return;
                    }
                    let mut audit = Audit::default();
                    let mut fleet = Fleet::with_beat(task.program, &["a", "b", "c"], BEAT);
                    for number in first..task.kills.min(first + SESSIONS_PER_FLEET) {
                        one_death(&mut fleet, task, number, &mut audit);
                    }
                    all.lock().expect("no fleet panicked").add(audit);
                }
            });
        }
    });
    all.into_inner().expect("no fleet panicked")
}

/// A session whose first worker meets its death, and which then ends on some worker.
fn one_death(fleet: &mut Fleet, task: &Task<'_>, number: u64, audit: &mut Audit) {
    let mut random = Random((task.seed << 32) ^ number);
    let name = format!("s{number}");
    let is_at_point = !number.is_multiple_of(3);
    // A session process passes some 170 points.
    let point = if is_at_point { 1 + random.below(170) } else { NEVER };
    let mut first = RunningWorker::start(fleet, 0, point);
    let submitter = &fleet.machines[SUBMITTER];
    let submit = ["run", "short.yaml", "--on", "workers", "--session", &name];
    let submitted = submitter.hookwright(&submit);
    assert!(submitted.status.success(), "{submitted:?}");
    let began = Instant::now();
    if is_at_point {
        let died =
            || fleet.is_over(&name) || first.has_said("lost") || first.process.ended().is_some();
        wait_until(died, began);
        if first.process.ended().is_some() {
            audit.made("workers killed at a numbered point");
        } else if first.has_said("lost") {
            audit.made("session processes killed at a numbered point");
        }
    } else {
        // The moment is arbitrary on purpose; there is no event to wait for.
        sleep(Duration::from_millis(random.below(1_500)));
    }
    if number % 3 == 2 {
        fleet.machines[0].kill();
        fleet.machines[0].start_again();
        audit.made("machines killed");
    } else {
        first.process.kill();
        audit.made("workers killed from outside");
    }
    let mut others = [0, 1].map(|machine| RunningWorker::start(fleet, machine, NEVER));
    wait_until(|| fleet.is_over(&name), began);
    if !fleet.is_over(&name) {
        let status = submitter_status(fleet);
        audit.found(Violation::NotFinished, format!("{name}: {status}"));
    }
    for other in &mut others {
        other.process.signal(Signal::TERM);
        let _ = other.process.wait();
    }
    audit.look(fleet, &[name]);
}

/// A worker on a machine, and what it prints.
struct RunningWorker {
    process: MachineProcess,
    output: PathBuf,
}

impl RunningWorker {
    /// Starts one and waits until it has joined. Its session processes die at this point, and it
    /// does if it passes so many.
    fn start(fleet: &Fleet, machine: usize, point: u64) -> Self {
        let shared = fleet.lab.shared_folder();
        let number = fs::read_dir(&shared).expect("a folder").count();
        let output = shared.join(format!("worker-{number}"));
        let mut command = fleet.machines[machine].command("hookwright", &["worker", "--json"]);
        if point != NEVER {
            command.env("HOOKWRIGHT_DIE_AT", point.to_string());
        }
        command.stdout(File::create(&output).expect("a file"));
        command.stderr(File::create(output.with_extension("errors")).expect("a file"));
        let process = fleet.machines[machine].spawn(command);
        let mut worker = Self { process, output };
        let began = Instant::now();
        wait_until(|| worker.has_said("joined") || worker.process.ended().is_some(), began);
        worker
    }

    fn has_said(&self, event: &str) -> bool {
        let said = fs::read_to_string(&self.output).unwrap_or_default();
        said.contains(&format!("\"event\":\"{event}\""))
    }
}

fn wait_until(mut holds: impl FnMut() -> bool, began: Instant) {
    while !holds() && began.elapsed() < SESSION_MAX {
        sleep(Duration::from_millis(10));
    }
}

fn submitter_status(fleet: &Fleet) -> String {
    let status = fleet.machines[SUBMITTER].hookwright(&["status"]);
    String::from_utf8_lossy(&status.stdout).into_owned()
}

impl Fleet {
    /// Whether a session has ended.
    fn is_over(&self, session: &str) -> bool {
        self.journal(session).iter().any(|event| {
            matches!(event.kind, RunEventKind::Session(SessionEvent::SessionEnded { .. }))
        })
    }
}
