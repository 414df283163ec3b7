//! Under workers, something stands still for longer than a silent worker is waited for: the server,
//! the network of all machines, a watcher, a holder. Only what stands still itself may be declared
//! dead, and of what is cut off no agent may be left.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hookwright_pipeline::limits::BEATS_UNTIL_DEATH;

use super::Task;
use super::audit::{Audit, Violation};
use super::fleet::{Fleet, RunningSession};
use super::random::Random;
use super::running_worker::{RunningWorker, wait_until};

/// The beat of these machines.
const BEAT: Duration = Duration::from_millis(100);

/// Beats that something stands still more than a silent worker is waited for.
const MORE_BEATS: u32 = 12;

/// Sessions of one fleet.
const SESSIONS_PER_FLEET: u64 = 8;

/// Fleets at once: they mostly wait.
const FLEETS: usize = 2;

/// How long a holder that was fenced may have an agent, from its next beat on.
const FENCED_MAX: Duration = Duration::from_secs(1);

/// The iteration in which `carried-long.yaml` waits.
const LONG: &str = "2";

/// What stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Still {
    Server,
    Network,
    Watcher,
    Holder,
    /// The worker alone; the process of its session goes on.
    HoldingWorker,
}

const KINDS: &[Still] = &[Still::Server, Still::Network, Still::Watcher, Still::Holder];

/// Each kind in turn.
pub(crate) fn long_standstills(task: &Task<'_>) -> Audit {
    on_fleets(task, KINDS)
}

/// Workers stand still alone.
pub(crate) fn stopped_workers(task: &Task<'_>) -> Audit {
    on_fleets(task, &[Still::HoldingWorker])
}

fn on_fleets(task: &Task<'_>, kinds: &[Still]) -> Audit {
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
                    let numbers = first..task.kills.min(first + SESSIONS_PER_FLEET);
                    let audit = Standstills::begin(task, numbers.start).all(numbers, kinds);
                    let slowest = audit.slowest_fence;
                    let mut all = all.lock().expect("no fleet panicked");
                    all.slowest_fence = all.slowest_fence.max(slowest);
                    all.add(audit);
                }
            });
        }
    });
    let mut audit = all.into_inner().expect("no fleet panicked");
    let slowest = audit.slowest_fence;
    audit.notes.push(format!("slowest end of a fenced session's agent: {slowest:.0?}"));
    audit
}

/// A fleet whose first two machines have a worker each.
struct Standstills {
    fleet: Fleet,
    workers: [RunningWorker; 2],
    random: Random,
    slack: Duration,
    audit: Audit,
}

impl Standstills {
    fn begin(task: &Task<'_>, first: u64) -> Self {
        let fleet = Fleet::with_beat(task.program, &["a", "b", "c"], BEAT);
        let workers = [0, 1].map(|machine| RunningWorker::start(&fleet, machine));
        let random = Random((task.seed << 32) ^ first);
        Self { fleet, workers, random, slack: task.slack, audit: Audit::default() }
    }

    fn all(mut self, numbers: std::ops::Range<u64>, kinds: &[Still]) -> Audit {
        let mut names = Vec::new();
        for number in numbers {
            let kind = kinds[usize::try_from(number).unwrap_or(0) % kinds.len()];
            let name = format!("s{number}");
            let mut follower = self.fleet.submit(&name, "carried-long.yaml");
            if let Some(holder) = self.holder(&name) {
                self.stand_still(kind, &name, holder);
            }
            std::fs::write(self.fleet.lab.shared_folder().join(format!("go-{name}")), "")
                .expect("a file");
            self.wait_for_end(&mut follower);
            names.push(name);
        }
        let Self { fleet, mut workers, mut audit, .. } = self;
        workers.iter_mut().for_each(RunningWorker::end);
        audit.look(&fleet, &names);
        names.iter().for_each(|name| audit.look_at_work(&fleet, name, 3));
        audit
    }

    fn wait_for_end(&mut self, follower: &mut RunningSession) {
        self.fleet.wait_for_end(follower, &mut self.audit);
    }

    /// The machine on which the agent of the session works, once its long turn has begun.
    fn holder(&mut self, name: &str) -> Option<usize> {
        let of_turn = || self.turn(name, 1);
        if !wait_until(|| of_turn().is_some()) {
            let what = format!("{name} has no second turn: {}", self.fleet.status());
            self.audit.found(Violation::NotFinished, what);
            return None;
        }
        of_turn()
    }

    /// The machine on which this attempt at the long turn has begun.
    fn turn(&self, name: &str, attempt: u32) -> Option<usize> {
        let log = self.fleet.log();
        let line = log.iter().find(|line| {
            let is_turn = line.what == "start" && line.kind == "turn" && line.session == name;
            is_turn && line.iteration == LONG && line.attempt >= attempt
        })?;
        let machines = &self.fleet.machines;
        machines.iter().position(|machine| machine.identity().host == line.host)
    }

    fn stand_still(&mut self, kind: Still, name: &str, holder: usize) {
        let dead = self.dead();
        let more = u32::try_from(self.random.below(u64::from(MORE_BEATS))).unwrap_or(0);
        let pause = BEAT * (BEATS_UNTIL_DEATH + MORE_BEATS + more);
        let watcher = 1 - holder;
        let (fault, may_die) = match kind {
            Still::Server => {
                self.fleet.cluster.pause();
                sleep(pause);
                self.look_for_agents(holder, "the server stood still");
                self.fleet.cluster.resume();
                ("long standstills of the server", None)
            }
            Still::Network => {
                self.fleet.relays.iter().for_each(|relay| relay.stop());
                sleep(pause);
                self.look_for_agents(holder, "the network stood still");
                self.fleet.relays.iter().for_each(|relay| relay.release());
                ("long standstills of the network", None)
            }
            Still::Watcher => {
                let id = self.workers[watcher].id();
                self.fleet.machines[watcher].stop();
                sleep(pause);
                self.fleet.machines[watcher].resume();
                ("long standstills of a watcher", id)
            }
            Still::Holder => {
                let id = self.workers[holder].id();
                self.fleet.machines[holder].stop();
                self.wait_for_heir(name);
                self.fleet.machines[holder].resume();
                self.look_for_fence(holder);
                ("long standstills of a holder's machine", id)
            }
            Still::HoldingWorker => {
                let id = self.workers[holder].id();
                self.workers[holder].process.stop();
                self.wait_for_heir(name);
                self.look_for_agents(holder, "its worker stood still, and the session has an heir");
                self.workers[holder].process.resume();
                ("long standstills of a worker alone", id)
            }
        };
        self.audit.made(fault);
        self.wait_for_beats();
        let mut died = self.dead();
        died.retain(|id| !dead.contains(id) && may_die.as_ref() != Some(id));
        if !died.is_empty() {
            let what = format!("{fault}: {died:?} were declared dead");
            self.audit.found(Violation::DeclaredDead, what);
        }
    }

    /// A machine without a sign of life has no agent left.
    fn look_for_agents(&mut self, machine: usize, when: &str) {
        let left = agents(&self.fleet, machine);
        if !left.is_empty() {
            self.audit.found(Violation::NotFenced, format!("{when}: {left:?}"));
        }
    }

    /// Its agents end with the next beat of a holder that goes on.
    fn look_for_fence(&mut self, machine: usize) {
        let began = Instant::now();
        wait_until_soon(|| agents(&self.fleet, machine).is_empty());
        let took = began.elapsed();
        self.audit.slowest_fence = self.audit.slowest_fence.max(took);
        if took > BEAT + FENCED_MAX + self.slack {
            let what = format!("its agent ended after {took:?}");
            self.audit.found(Violation::NotFenced, what);
        }
    }

    /// Waits until another worker repeats the turn that was cut off.
    fn wait_for_heir(&mut self, name: &str) {
        if !wait_until(|| self.turn(name, 2).is_some()) {
            let what = format!("{name} has no heir: {}", self.fleet.status());
            self.audit.found(Violation::NotFinished, what);
        }
    }

    /// Waits until each worker has sent more beats than would declare another one dead.
    fn wait_for_beats(&mut self) {
        let beats = |fleet: &Fleet| -> BTreeSet<(String, u64)> {
            let all = "SELECT encode(id, 'hex'), number FROM hookwright.workers WHERE died IS NULL";
            let read = fleet.cluster.sql(&fleet.database, all);
            let rows = read.lines().filter_map(|line| line.split_once('|'));
            rows.map(|(id, number)| (id.to_owned(), number.parse().expect("a number"))).collect()
        };
        let first = beats(&self.fleet);
        let more = u64::from(BEATS_UNTIL_DEATH + MORE_BEATS);
        let has_more = || {
            let now = beats(&self.fleet);
            let is_ahead = |id: &String, number: u64| {
                let before = first.iter().find(|(known, _)| known == id);
                number >= before.map_or(0, |(_, number)| *number) + more
            };
            now.iter().filter(|(id, number)| is_ahead(id, *number)).count() >= self.workers.len()
        };
        if !wait_until(has_more) {
            self.audit.found(Violation::DeclaredDead, "no beats arrive any more");
        }
    }

    /// The workers that were declared dead.
    fn dead(&self) -> BTreeSet<String> {
        let dead = "SELECT encode(id, 'hex') FROM hookwright.workers WHERE died IS NOT NULL";
        let read = self.fleet.cluster.sql(&self.fleet.database, dead);
        read.lines().map(str::to_owned).collect()
    }
}

/// The agents that work on a machine.
fn agents(fleet: &Fleet, machine: usize) -> Vec<String> {
    let processes = fleet.machines[machine].processes();
    processes.into_iter().filter(|line| line.contains("bash ./agent")).collect()
}

/// As [`wait_until`], for what takes milliseconds.
fn wait_until_soon(holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() && began.elapsed() < FENCED_MAX * 10 {
        sleep(Duration::from_millis(2));
    }
}
