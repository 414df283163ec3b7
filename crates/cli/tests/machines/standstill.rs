//! What stands still for a while and goes on is not dead, and nothing of it is lost.

use std::thread::sleep;
use std::time::Duration;

use super::Task;
use super::audit::{Audit, Violation};
use super::fleet::{Fleet, RunningSession};
use super::random::Random;
use super::server::{finish, start};

/// Sessions at once, on two machines.
const SESSIONS: usize = 6;

/// Longest standstill.
const STANDSTILL_MAX_MS: u64 = 2_000;

/// What stands still.
const KINDS: u64 = 4;

/// Each kind in turn, until there were enough.
pub(crate) fn stopped(task: &Task<'_>) -> Audit {
    let mut audit = Audit::default();
    let mut random = Random(task.seed);
    let mut made = 0;
    while made < task.kills {
        let fleet = Fleet::new(task.program, &["a", "b"]);
        let mut running = start(&fleet, SESSIONS);
        while made < task.kills && running.iter_mut().any(|it| it.process.ended().is_none()) {
            stand_still(&fleet, &running, made % KINDS, &mut random, &mut audit);
            made += 1;
        }
        finish(&fleet, running, &mut audit);
    }
    audit
}

/// Something stands still for a while; meanwhile no other machine gets its sessions.
fn stand_still(
    fleet: &Fleet,
    running: &[RunningSession],
    kind: u64,
    random: &mut Random,
    audit: &mut Audit,
) {
    let pause = Duration::from_millis(random.below(STANDSTILL_MAX_MS));
    let chosen =
        |random: &mut Random, many: usize| usize::try_from(random.below(many as u64)).unwrap_or(0);
    match kind {
        0 => {
            let session = &running[chosen(random, running.len())];
            session.process.stop();
            sleep(pause);
            look_for_thieves(fleet, session, audit);
            session.process.resume();
            audit.made("standstills of a session's process");
        }
        1 => {
            let number = chosen(random, fleet.machines.len());
            let machine = &fleet.machines[number];
            machine.stop();
            sleep(pause);
            let session = running.iter().find(|session| session.machine == number);
            session.into_iter().for_each(|session| look_for_thieves(fleet, session, audit));
            machine.resume();
            audit.made("standstills of a machine");
        }
        2 => {
            let relay = &fleet.relays[chosen(random, fleet.relays.len())];
            relay.stop();
            sleep(pause);
            relay.release();
            audit.made("standstills of a network");
        }
        _ => {
            fleet.cluster.pause();
            sleep(pause);
            fleet.cluster.resume();
            audit.made("standstills of the server");
        }
    }
}

/// Another machine tries to resume the session.
fn look_for_thieves(fleet: &Fleet, session: &RunningSession, audit: &mut Audit) {
    let journal = fleet.journal(&session.name);
    if journal.is_empty() {
        // It stands still before it has recorded its session, so there is nothing to take.
        return;
    }
    let is_over = journal.iter().any(|event| {
        use hookwright_events::{RunEventKind, SessionEvent};
        matches!(event.kind, RunEventKind::Session(SessionEvent::SessionEnded { .. }))
    });
    let other = &fleet.machines[(session.machine + 1) % fleet.machines.len()];
    let tried = other.hookwright(&["resume", &session.name]);
    let said = String::from_utf8_lossy(&tried.stderr).into_owned();
    if !is_over && !said.contains("is running session") {
        let name = &session.name;
        audit.found(Violation::DeclaredDead, format!("{name} was resumed: {said}"));
    }
}
