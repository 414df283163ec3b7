//! Workers, their session processes and their machines die while sessions run that were submitted
//! to workers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use hookwright_store::{Filter, Kind, headings};
use rustix::process::Signal;

use super::Task;
use super::audit::{Audit, Violation};
use super::death_point::{Death, DeathPoint, PointCounts};
use super::fenced::BEAT;
use super::fleet::{Fleet, PROJECT};
use super::random::Random;
use super::running_worker::{RunningWorker, wait_until};

/// Sessions of one fleet.
const SESSIONS_PER_FLEET: u64 = 15;

/// Fleets at once: they mostly wait.
const FLEETS: usize = 3;

/// One session in so many loses its second worker as well, at any moment.
const SECOND_DEATH: u64 = 4;

/// One session in so many does tasks, with a child session for each.
const FAMILY: u64 = 5;

/// Tasks of such a session.
const TASKS: usize = 2;

/// Each session meets one death at a numbered point: of its process, of the worker, or of the
/// machine, in turn.
pub(crate) fn killed(task: &Task<'_>) -> Audit {
    let points = PointCounts::count(task, BEAT);
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
                        let point = DeathPoint::new(&fleet, number, task.kills, points);
                        one_death(&mut fleet, task, number, &point, &mut audit);
                    }
                    all.lock().expect("no fleet panicked").add(audit);
                }
            });
        }
    });
    let mut audit = all.into_inner().expect("no fleet panicked");
    let PointCounts { session_process, worker } = points;
    audit.notes.push(format!(
        "{session_process} points in a session process and {worker} in a worker without faults"
    ));
    audit
}

/// A session whose first worker meets its death, and which then ends on some worker.
fn one_death(
    fleet: &mut Fleet,
    task: &Task<'_>,
    number: u64,
    point: &DeathPoint,
    audit: &mut Audit,
) {
    let mut random = Random((task.seed << 32) ^ number);
    let name = format!("s{number}");
    let mut first = RunningWorker::start_to_die(fleet, 0, |command| point.prepare(command));
    let is_family = number % FAMILY == FAMILY - 1;
    if is_family {
        fleet.add_tasks(TASKS);
    }
    let file = if is_family { "family.yaml" } else { "carried.yaml" };
    let mut follower = fleet.submit(&name, file);
    wait_until(|| point.is_reached() || fleet.is_over(&name));
    if !point.is_reached() {
        // It may be one that a worker passes at its end.
        first.process.signal(Signal::TERM);
        wait_until(|| point.is_reached() || first.process.ended().is_some());
    }
    audit.made(match point.is_reached() {
        true => point.death.in_words(),
        false => "points that were not reached",
    });
    match point.death {
        Death::MachineOfSession | Death::MachineOfWorker => {
            fleet.machines[0].kill();
            fleet.machines[0].start_again();
        }
        Death::Worker => first.process.kill(),
        // Its worker goes on.
        Death::SessionProcess => {}
    }
    let mut others = vec![RunningWorker::start(fleet, 1)];
    if first.process.ended().is_some() {
        others.push(RunningWorker::start(fleet, 0));
    } else {
        others.push(first);
    }
    if random.below(SECOND_DEATH) == 0 {
        // The moment is arbitrary on purpose; there is no event to wait for.
        sleep(Duration::from_millis(random.below(1_500)));
        others[0].process.kill();
        audit.made("second workers killed at any moment");
        others.push(RunningWorker::start(fleet, 1));
    }
    fleet.wait_for_end(&mut follower, audit);
    others.iter_mut().for_each(RunningWorker::end);
    let children = children(fleet, &name);
    if is_family && children.len() != TASKS {
        let what = format!("{name} has the child sessions {children:?}");
        audit.found(Violation::WorkLost, what);
    }
    let all: Vec<String> = std::iter::once(name.clone()).chain(children).collect();
    audit.look(fleet, &all);
    audit.look_at_work(fleet, &name, 2);
}

/// The names of the sessions that hooks of this one have started.
fn children(fleet: &Fleet, session: &str) -> Vec<String> {
    let store = fleet.store();
    let filter = Filter {
        project: Some(PROJECT.to_owned()),
        name_prefix: Some(format!("{session}--")),
        ..Filter::newest(100)
    };
    let found = headings(&*store, Kind::Session, filter);
    found.map(|heading| heading.expect("read").name).collect()
}
