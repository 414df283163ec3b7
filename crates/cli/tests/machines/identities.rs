//! Machines that take each other for themselves, and clocks that are wrong.

use std::thread::sleep;
use std::time::{Duration, Instant};

use hookwright_machine_lab::MachineIdentity;

use super::Task;
use super::audit::{Audit, Violation};
use super::fleet::{Fleet, RunningSession};
use super::server::finish;

/// How long a refusal may take on a busy machine.
const REFUSAL_MAX: Duration = Duration::from_secs(30);

/// An equal host name, a copy of a machine, and machines whose clocks differ by two hours.
pub(crate) fn mistaken(task: &Task<'_>) -> Audit {
    let mut audit = Audit::default();
    equal_names(task, &mut audit);
    wrong_clocks(task, &mut audit);
    audit
}

fn equal_names(task: &Task<'_>, audit: &mut Audit) {
    let mut fleet = Fleet::new(task.program, &["a"]);
    fleet.add("twin", MachineIdentity::of_host("a"));
    audit.made("machines with the name of another one");
    let first = fleet.machines[0].identity().clone();
    // Another boot, since a copy of a disk boots by itself.
    let boot_id = MachineIdentity::of_host("a").boot_id;
    fleet.add("copy", MachineIdentity { boot_id, ..first });
    audit.made("copies of a machine");
    let session = fleet.run(0, "s", "long.yaml");
    wait_for_the_second_turn(&fleet);
    for other in [1, 2] {
        keep_out(&fleet, other, audit);
    }
    let others = [fleet.run(1, "of-twin", "work.yaml"), fleet.run(2, "of-copy", "work.yaml")];
    go_on(&fleet);
    let running: Vec<RunningSession> = std::iter::once(session).chain(others).collect();
    finish(&fleet, running, audit);
}

fn wrong_clocks(task: &Task<'_>, audit: &mut Audit) {
    let mut fleet = Fleet::new(task.program, &["early", "late"]);
    fleet.machines[0].set_clock("-1h");
    fleet.machines[1].set_clock("+1h");
    audit.made("pairs of machines whose clocks differ by two hours");
    let session = fleet.run(0, "s", "long.yaml");
    wait_for_the_second_turn(&fleet);
    let begun = fleet.journal("s").first().map(|event| event.at.clone()).unwrap_or_default();
    let now = String::from_utf8(fleet.machines[1].shell("date -u +%FT%T").stdout);
    let hours = |time: &str| time.get(..13).map(str::to_owned);
    if hours(&begun) == now.ok().as_deref().and_then(hours) {
        let what = format!(
            "the program's clock is not wrong ({begun}); build it with \
             HOOKWRIGHT_LINK=dynamic"
        );
        audit.found(Violation::NotFinished, what);
    }
    keep_out(&fleet, 1, audit);
    let others = [fleet.run(1, "of-late", "work.yaml"), fleet.run(0, "of-early", "work.yaml")];
    go_on(&fleet);
    let running: Vec<RunningSession> = std::iter::once(session).chain(others).collect();
    finish(&fleet, running, audit);
}

/// Another machine must not get the session that runs.
fn keep_out(fleet: &Fleet, other: usize, audit: &mut Audit) {
    let mut tried = fleet.resume(other, "s");
    let began = Instant::now();
    while tried.process.ended().is_none() && began.elapsed() < REFUSAL_MAX {
        sleep(Duration::from_millis(5));
    }
    let status = tried.process.ended();
    tried.process.kill();
    let said = tried.complaints();
    if !said.contains("is running session `s`") {
        let host = &fleet.machines[other].identity();
        let what = format!("{host:?} resumed it: {status:?}: {said}");
        audit.found(Violation::DeclaredDead, what);
    }
}

fn wait_for_the_second_turn(fleet: &Fleet) {
    fleet.wait_until_logged("start|turn|s|agent|2");
}

/// Lets the long session end.
fn go_on(fleet: &Fleet) {
    std::fs::write(fleet.lab.shared_folder().join("go-s"), "").expect("a file");
}
