//! A holder that stood still finds out that it has an heir.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Task;
use super::audit::{Audit, Violation};
use super::fleet::{Fleet, RunningSession};

/// The beat of these machines. One that is silent is declared dead after 36.
pub(crate) const BEAT: Duration = Duration::from_millis(50);

/// How long a holder that was fenced may have an agent, from its next beat on.
const FENCED_MAX: Duration = Duration::from_secs(1);

/// Holders and machines stand still until they are taken for dead, and go on.
pub(crate) fn stopped_until_dead(task: &Task<'_>) -> Audit {
    let mut audit = Audit::default();
    for number in 0..task.kills {
        let fleet = Fleet::with_beat(task.program, &["a", "b"], BEAT);
        let mut session = fleet.run(0, "s", "long.yaml");
        fleet.wait_until_logged("start|turn|s|agent|2||1");
        let is_machine = number % 2 == 0;
        match is_machine {
            true => fleet.machines[0].stop(),
            false => session.process.stop(),
        }
        let mut heir = fleet.resume(1, "s");
        while !fleet.has_logged("start|turn|s|agent|2||2") {
            if heir.process.ended().is_some() {
                assert!(is_refused(&heir), "the heir has ended: {}", heir.complaints());
                heir = fleet.resume(1, "s");
            }
            sleep(Duration::from_millis(5));
        }
        audit.made(match is_machine {
            true => "machines that stood still until they had an heir",
            false => "sessions that stood still until they had an heir",
        });
        let began = Instant::now();
        match is_machine {
            true => fleet.machines[0].resume(),
            false => session.process.resume(),
        }
        while !fleet.machines[0].processes().is_empty() && began.elapsed() < FENCED_MAX * 10 {
            sleep(Duration::from_millis(2));
        }
        let took = began.elapsed();
        audit.slowest_fence = audit.slowest_fence.max(took);
        if took > BEAT + FENCED_MAX + task.slack {
            let left = fleet.machines[0].processes();
            audit.found(Violation::NotFenced, format!("after {took:?}: {left:?}"));
        }
        if session.process.wait().success() {
            audit.found(Violation::NotFenced, "the session ended well behind its heir");
        }
        end(&fleet, heir, &mut audit);
    }
    audit
        .notes
        .push(format!("slowest end of a fenced session's agent: {:.0?}", audit.slowest_fence));
    audit
}

/// Whether a session was not resumed because its holder may be alive.
pub(crate) fn is_refused(session: &RunningSession) -> bool {
    session.complaints().contains("is running session")
}

/// Lets the long session end, and looks at it.
fn end(fleet: &Fleet, mut session: RunningSession, audit: &mut Audit) {
    std::fs::write(fleet.lab.shared_folder().join("go-s"), "").expect("a file");
    let status = session.process.wait();
    if !status.success() {
        let what = format!("the heir ended with {status}: {}", session.complaints());
        audit.found(Violation::NotFinished, what);
    }
    audit.look(fleet, &["s".to_owned()]);
}
