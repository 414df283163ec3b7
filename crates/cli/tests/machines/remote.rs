//! The git remote refuses what sessions on workers send, or is gone. Whatever happened, nothing
//! counts as ended that another machine could not continue, and a session says what it waits for.

use std::thread::sleep;
use std::time::Duration;

use hookwright_events::{RunEvent, RunEventKind, SessionEvent, TurnEvent};

use super::Task;
use super::audit::{Audit, Violation};
use super::fenced::BEAT;
use super::fleet::{Fleet, RunningSession};
use super::running_worker::{RunningWorker, SUBMITTER, wait_until};

/// Sessions of one fleet.
const SESSIONS_PER_FLEET: u64 = 6;

/// What happens to the remote.
const KINDS: u64 = 3;

/// How long it is gone after the session has said so.
const GONE: Duration = Duration::from_secs(2);

/// Each kind in turn.
pub(crate) fn refusing_and_gone(task: &Task<'_>) -> Audit {
    let mut audit = Audit::default();
    let mut number = 0;
    while number < task.kills {
        let mut fleet = Fleet::with_beat(task.program, &["a", "b", "c"], BEAT);
        let mut workers = [0, 1].map(|machine| RunningWorker::start(&fleet, machine));
        let last = task.kills.min(number + SESSIONS_PER_FLEET);
        let mut names = Vec::new();
        while number < last {
            let name = format!("s{number}");
            let follower = fleet.submit(&name, "carried-long.yaml");
            let is_at_work = format!("start|turn|{name}|agent|2||1");
            if wait_until(|| fleet.has_logged(&is_at_work)) {
                match number % KINDS {
                    0 => refuse(&fleet, follower, &mut audit),
                    1 => disappear(&fleet, follower, &mut audit),
                    _ => disappear_with_a_machine(&mut fleet, &mut workers, follower, &mut audit),
                }
            } else {
                let what = format!("{name} has no second turn: {}", fleet.status());
                audit.found(Violation::NotFinished, what);
            }
            names.push(name);
            number += 1;
        }
        workers.iter_mut().for_each(RunningWorker::end);
        audit.look(&fleet, &names);
        names.iter().for_each(|name| audit.look_at_work(&fleet, name, 3));
    }
    audit
}

/// The session is paused with what the remote said, and goes on once a person resumes it.
fn refuse(fleet: &Fleet, mut follower: RunningSession, audit: &mut Audit) {
    let name = follower.name.clone();
    fleet.lab.remote().refuse();
    audit.made("remotes that refused");
    go_on(fleet, &name);
    fleet.wait_for_end(&mut follower, audit);
    look_for_reason(fleet, &name, "no pushes today", audit);
    look_for_ends(fleet, &name, "the remote refused", audit);
    fleet.lab.remote().admit();
    let resumed = fleet.machines[SUBMITTER].hookwright(&["resume", &name]);
    if !resumed.status.success() {
        audit.found(Violation::NotFinished, format!("{name}: {resumed:?}"));
    }
    wait_for_completion(fleet, &name, audit);
}

/// The session says so, waits, and goes on by itself.
fn disappear(fleet: &Fleet, mut follower: RunningSession, audit: &mut Audit) {
    let name = follower.name.clone();
    fleet.lab.remote().disappear();
    audit.made("remotes that were gone");
    go_on(fleet, &name);
    wait_until(|| has_noted(fleet, &name, "is unreachable"));
    look_for_ends(fleet, &name, "the remote was gone", audit);
    sleep(GONE);
    look_for_ends(fleet, &name, "the remote was gone", audit);
    fleet.lab.remote().appear();
    fleet.wait_for_end(&mut follower, audit);
    for words in ["is unreachable", "is reachable again"] {
        if !has_noted(fleet, &name, words) {
            audit.found(Violation::WrongAnswer, format!("{name} has not said {words:?}"));
        }
    }
}

/// The machine of the session dies while the remote is gone: another one continues it once the
/// remote is back.
fn disappear_with_a_machine(
    fleet: &mut Fleet,
    workers: &mut [RunningWorker; 2],
    mut follower: RunningSession,
    audit: &mut Audit,
) {
    let name = follower.name.clone();
    let is_on = |fleet: &Fleet, host: &str| {
        fleet.log().iter().any(|line| line.session == name && line.host == host)
    };
    let holder = usize::from(!is_on(fleet, "a"));
    fleet.lab.remote().disappear();
    go_on(fleet, &name);
    fleet.machines[holder].kill();
    audit.made("remotes that were gone while a machine died");
    let is_taken = || {
        let journal = fleet.journal(&name);
        let noted = notes(&journal).filter(|note| note.contains("the worker on")).count();
        noted > 0
    };
    wait_until(is_taken);
    sleep(GONE);
    look_for_ends(fleet, &name, "the remote was gone", audit);
    fleet.lab.remote().appear();
    fleet.machines[holder].start_again();
    workers[holder] = RunningWorker::start(fleet, holder);
    fleet.wait_for_end(&mut follower, audit);
}

/// Lets the long turn of a session end.
fn go_on(fleet: &Fleet, name: &str) {
    std::fs::write(fleet.lab.shared_folder().join(format!("go-{name}")), "").expect("a file");
}

fn wait_for_completion(fleet: &Fleet, name: &str, audit: &mut Audit) {
    if !wait_until(|| fleet.is_completed(name)) {
        audit.found(Violation::NotFinished, format!("{name}: {}", fleet.status()));
    }
}

/// The second turn has no end that the remote does not know.
fn look_for_ends(fleet: &Fleet, name: &str, when: &str, audit: &mut Audit) {
    let has_ended = fleet.journal(name).iter().any(|event| match &event.kind {
        RunEventKind::Turn(TurnEvent::TurnEnded { turn, .. }) => turn.iteration == 2,
        _ => false,
    });
    if has_ended {
        audit.found(Violation::WorkLost, format!("{name}: a turn ended although {when}"));
    }
}

/// The session is paused, and says why.
fn look_for_reason(fleet: &Fleet, name: &str, words: &str, audit: &mut Audit) {
    let journal = fleet.journal(name);
    let reason = journal.iter().rev().find_map(|event| match &event.kind {
        RunEventKind::Session(SessionEvent::SessionEnded { reason, .. }) => Some(reason.as_str()),
        _ => None,
    });
    if !reason.is_some_and(|reason| reason.contains(words)) {
        audit.found(Violation::WrongAnswer, format!("{name} was paused because of {reason:?}"));
    }
}

fn has_noted(fleet: &Fleet, name: &str, words: &str) -> bool {
    notes(&fleet.journal(name)).any(|note| note.contains(words))
}

fn notes(journal: &[RunEvent]) -> impl Iterator<Item = &str> {
    journal.iter().filter_map(|event| match &event.kind {
        RunEventKind::Session(SessionEvent::Noted { note }) => Some(note.as_str()),
        _ => None,
    })
}
