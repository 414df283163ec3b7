//! A short run of the fault campaign for several machines, `cargo xtask machines`.

#[path = "../machines/audit.rs"]
mod audit;
#[path = "../machines/databases.rs"]
mod databases;
#[path = "../machines/deliveries.rs"]
mod deliveries;
#[path = "../machines/fenced.rs"]
mod fenced;
#[path = "../machines/fleet.rs"]
mod fleet;
#[path = "../machines/random.rs"]
mod random;
#[expect(dead_code, reason = "minutes without a server are for the whole campaign")]
#[path = "../machines/server.rs"]
mod server;
#[path = "../machines/standstill.rs"]
mod standstill;

use std::path::Path;
use std::time::Duration;

use hookwright_events::RunEvent;

use self::audit::{Audit, Violation};
use crate::faults::essence;

/// How late a busy machine may be.
const SLACK: Duration = Duration::from_secs(8);

/// What a part is given.
struct Task<'a> {
    program: &'a Path,
    kills: u64,
    seed: u64,
    slack: Duration,
}

/// Runs a part with this number of faults; nothing that must not be is found.
fn holds(part: fn(&Task<'_>) -> Audit, kills: u64) {
    let program = Path::new(env!("CARGO_BIN_EXE_hookwright"));
    let audit = part(&Task { program, kills, seed: 1, slack: SLACK });
    assert_eq!(audit.found, [], "{:?}", audit.notes);
    assert!(audit.faults.values().sum::<u64>() >= kills, "{:?}", audit.faults);
    assert!(audit.entries > 0, "nothing was looked at");
}

#[test]
fn nothing_is_lost_or_done_twice_when_the_server_is_killed_under_sessions() {
    holds(server::killed, 2);
}

#[test]
fn nothing_is_lost_or_done_twice_when_messages_are_lost_or_arrive_late() {
    holds(deliveries::late_and_lost, 6);
}

#[test]
fn nothing_is_taken_from_what_stands_still_and_goes_on() {
    holds(standstill::stopped, 4);
}

#[test]
fn what_stands_still_until_it_has_an_heir_is_fenced_and_loses_its_agent_at_once() {
    holds(fenced::stopped_until_dead, 2);
}

#[test]
fn sessions_go_on_after_a_server_has_refused_them() {
    holds(databases::unusable, 0);
}

/// A turn that ended is repeated, an attempt is missing, and what was printed is not there.
#[test]
fn the_audit_finds_what_must_not_be() {
    let starting = |attempt: u32| {
        format!(
            r#"{{"version":1,"firing":0,"at":"","session":"s","kind":"turn_starting","turn":{{"stage":1,"iteration":1}},"attempt":{attempt},"agent":"a","prompt":"p","run_id":"r{attempt}"}}"#
        )
    };
    let ended = r#"{"version":1,"firing":0,"at":"","session":"s","kind":"turn_ended","turn":{"stage":1,"iteration":1},"attempt":1,"result":{"decision":"continue"},"duration_ms":1.0}"#;
    let event = |line: &str| RunEvent::from_json(line).expect(line);
    let found = |journal: &[RunEvent], printed: &[RunEvent]| {
        let mut audit = Audit::default();
        audit.look_at_runs("s", journal);
        audit.look_at_printed(printed, "s", journal);
        audit.found.into_iter().map(|(violation, _)| violation).collect::<Vec<_>>()
    };
    let (first, second, third) = (event(&starting(1)), event(&starting(2)), event(&starting(3)));
    let end = event(ended);
    let not_finished = [Violation::NotFinished];
    assert_eq!(found(&[first.clone(), end.clone()], &[]), not_finished);
    assert_eq!(found(&[first.clone(), second.clone(), end.clone()], &[]), not_finished);
    let repeated = found(&[first.clone(), end.clone(), second], &[]);
    assert_eq!(repeated, [Violation::CompletionRepeated, Violation::NotFinished]);
    let skipped = found(&[first.clone(), third], &[]);
    assert_eq!(skipped, [Violation::EntryLost, Violation::NotFinished]);
    let lost = found(&[first], &[end]);
    assert_eq!(lost, [Violation::NotFinished, Violation::EntryLost]);
}
