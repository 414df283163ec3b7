//! A network that loses requests, swallows answers, and delivers statements later than their
//! repetition.

use std::thread::sleep;
use std::time::Duration;

use super::Task;
use super::audit::Audit;
use super::fleet::{Fleet, RunningSession};
use super::random::Random;
use super::server::{finish, start};

/// Sessions at once, on two machines.
const SESSIONS: usize = 8;

/// How long a fault waits for a message.
const HELD_MAX: Duration = Duration::from_millis(500);

/// Each way of failing in turn, until there were enough.
pub(crate) fn late_and_lost(task: &Task<'_>) -> Audit {
    let mut audit = Audit::default();
    let mut random = Random(task.seed);
    let mut made = 0;
    while made < task.kills {
        let fleet = Fleet::new(task.program, &["a", "b"]);
        let mut running = start(&fleet, SESSIONS);
        while made < task.kills && running.iter_mut().any(is_running) {
            made += u64::from(fail_once(&fleet, &mut random, &mut audit));
        }
        finish(&fleet, running, &mut audit);
    }
    audit
}

/// One fault on the way of one machine. `false` if nothing was under way.
fn fail_once(fleet: &Fleet, random: &mut Random, audit: &mut Audit) -> bool {
    let relay = &fleet.relays[usize::try_from(random.below(2)).unwrap_or(0)];
    // The moment is arbitrary on purpose; there is no event to wait for.
    sleep(Duration::from_millis(random.below(40)));
    let kind = random.below(3);
    match kind {
        0 => relay.hold_answers(),
        _ => relay.hold_requests(),
    }
    let is_held = relay.wait_for_held(HELD_MAX);
    if !is_held {
        relay.release();
        return false;
    }
    match kind {
        0 => {
            relay.lose();
            audit.made("swallowed answers");
        }
        1 => {
            relay.lose();
            audit.made("lost requests");
        }
        _ => {
            relay.keep_back();
            // Its sender connects again and repeats it, before or after it arrives.
            sleep(Duration::from_millis(random.below(60)));
            relay.release();
            audit.made("late deliveries");
        }
    }
    true
}

fn is_running(session: &mut RunningSession) -> bool {
    session.process.ended().is_none()
}
