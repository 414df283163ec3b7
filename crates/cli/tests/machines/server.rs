//! The server is killed while sessions run, or is away for long.

use std::thread::sleep;
use std::time::Duration;

use super::Task;
use super::audit::{Audit, Violation};
use super::fleet::{Fleet, RunningSession};
use super::random::Random;

/// Sessions at once. A quarter of them share a queue.
const SESSIONS: usize = 20;

/// Kills of the server in the life of these sessions.
const KILLS_PER_ROUND: u64 = 10;

/// Longest time between two kills.
const PAUSE_MAX_MS: u64 = 1_500;

/// How long the server is away, twice.
const AWAY: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(600)];

/// `kill -9` of the server, again and again.
pub(crate) fn killed(task: &Task<'_>) -> Audit {
    let mut audit = Audit::default();
    let mut random = Random(task.seed);
    let mut left = task.kills;
    while left > 0 {
        let kills = left.min(KILLS_PER_ROUND);
        left -= kills;
        let fleet = Fleet::new(task.program, &["a", "b"]);
        let running =
            start(&fleet, SESSIONS.min(2 * usize::try_from(task.kills).unwrap_or(SESSIONS)));
        for _ in 0..kills {
            // The moment is arbitrary on purpose; there is no event to wait for.
            sleep(Duration::from_millis(random.below(PAUSE_MAX_MS)));
            fleet.cluster.crash();
            sleep(Duration::from_millis(random.below(300)));
            fleet.cluster.start_again();
            audit.made("kills of the server");
        }
        finish(&fleet, running, &mut audit);
    }
    audit
}

/// The server is away for minutes while sessions run.
pub(crate) fn away(task: &Task<'_>) -> Audit {
    let mut audit = Audit::default();
    for away in AWAY {
        let fleet = Fleet::new(task.program, &["a", "b"]);
        let running = start(&fleet, 4);
        fleet.cluster.crash();
        sleep(away);
        fleet.cluster.start_again();
        audit.made("absences of the server");
        let running = running.into_iter().map(|session| resumed(&fleet, session, &mut audit));
        let running = running.collect();
        finish(&fleet, running, &mut audit);
    }
    audit
}

/// A session that was cut off because the server was away for longer than it waits is resumed.
fn resumed(fleet: &Fleet, mut session: RunningSession, audit: &mut Audit) -> RunningSession {
    if session.process.wait().success() {
        return session;
    }
    audit.made("sessions that did not wait so long and were resumed");
    fleet.resume(session.machine, &session.name)
}

/// Starts sessions on all machines in turn, and waits until the first agent works.
pub(crate) fn start(fleet: &Fleet, sessions: usize) -> Vec<RunningSession> {
    fleet.add_tasks(sessions * 2);
    let machines = fleet.machines.len();
    let running: Vec<RunningSession> = (0..sessions)
        .map(|number| {
            let file = if number % 4 == 3 { "queue.yaml" } else { "work.yaml" };
            fleet.run(number % machines, &format!("s{number}"), file)
        })
        .collect();
    fleet.wait_until_logged("start|turn");
    running
}

/// Waits until all sessions have ended, and looks at them.
pub(crate) fn finish(fleet: &Fleet, running: Vec<RunningSession>, audit: &mut Audit) {
    let mut names = Vec::new();
    for mut session in running {
        let status = session.process.wait();
        if !status.success() {
            let (name, host) = (&session.name, &fleet.machines[session.machine].identity().host);
            let complaints = session.complaints();
            let what = format!("{name} on {host} ended with {status}: {complaints}");
            audit.found(Violation::NotFinished, what);
        }
        names.push(session.name);
    }
    audit.look(fleet, &names);
}
