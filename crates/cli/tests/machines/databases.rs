//! Servers that refuse: read-only, with a full disk, with another version of the schema, behind a
//! pooler that restarts. Whatever happened, the session continues once the server is well.

use std::thread::sleep;
use std::time::Duration;

use super::Task;
use super::audit::{Audit, Violation};
use super::fleet::Fleet;
use super::server::{finish, start};

/// Restarts of the pooler.
const RESTARTS: u64 = 5;

/// Each kind once, and several restarts of the pooler.
pub(crate) fn unusable(task: &Task<'_>) -> Audit {
    let mut audit = Audit::default();
    restarting_pooler(task, &mut audit);
    full_disk(task, &mut audit);
    for (fault, begin, end, expected) in [
        (
            "servers that became read-only",
            "ALTER DATABASE @ SET default_transaction_read_only = on",
            "ALTER DATABASE @ RESET ALL",
            "read-only",
        ),
        (
            "schemas that another version has changed",
            "UPDATE hookwright.schema_version SET version = version + 1000",
            "UPDATE hookwright.schema_version SET version = version - 1000",
            "version",
        ),
    ] {
        refusing(task, fault, [begin, end], expected, &mut audit);
    }
    audit
}

/// The server's disk runs full under sessions, and has space again.
fn full_disk(task: &Task<'_>, audit: &mut Audit) {
    let Some(fleet) = Fleet::on_small_disk(task.program, &["a", "b"]) else {
        audit.notes.push("skipped: a full server; only root may mount a small disk".to_owned());
        return;
    };
    let running = start(&fleet, 4);
    for number in 0..running.len() {
        fleet.wait_until_logged(&format!("start|turn|s{number}|"));
    }
    fleet.cluster.fill_disk();
    audit.made("servers whose disk ran full");
    let (mut ended, mut cut_off) = (Vec::new(), Vec::new());
    for mut session in running {
        if session.process.wait().success() {
            // There was room for its last entries.
            ended.push(session);
            continue;
        }
        let said = session.complaints();
        if !said.contains("no space left")
            || !said.contains("space on the disk of the database server")
        {
            audit.found(Violation::WrongAnswer, format!("the disk is full: {said}"));
        }
        cut_off.push(session);
    }
    audit.look_at_processes(&fleet);
    audit.notes.push(format!("{} of 4 sessions were cut off by a full disk", cut_off.len()));
    fleet.cluster.free_disk();
    ended.extend(cut_off.iter().map(|session| fleet.resume(session.machine, &session.name)));
    finish(&fleet, ended, audit);
}

fn restarting_pooler(task: &Task<'_>, audit: &mut Audit) {
    let fleet = Fleet::new(task.program, &["a", "b"]);
    let pooler = fleet.cluster.pooler_port();
    let address = fleet.cluster.address(&fleet.database);
    let pooled = address.replace(&format!(":{}/", fleet.cluster.port()), &format!(":{pooler}/"));
    fleet.machines.iter().for_each(|machine| machine.use_store(&pooled));
    let running = start(&fleet, 6);
    for _ in 0..RESTARTS {
        sleep(Duration::from_millis(200));
        fleet.cluster.restart_pooler();
        audit.made("restarts of the pooler");
    }
    finish(&fleet, running, audit);
}

/// A session meets a server that refuses, says so and ends with its agent; a new command says what
/// is wrong; and once the server is well, the session is resumed.
fn refusing(
    task: &Task<'_>,
    fault: &'static str,
    [begin, end]: [&str; 2],
    expected: &str,
    audit: &mut Audit,
) {
    let fleet = Fleet::new(task.program, &["a"]);
    let sql = |statement: &str| {
        // Settings of a database are changed in another one, where they do not count.
        let database = if statement.contains('@') { "postgres" } else { &fleet.database };
        fleet.cluster.sql(database, &statement.replace('@', &fleet.database));
    };
    let mut session = fleet.run(0, "s", "long.yaml");
    fleet.wait_until_logged("start|turn|s|agent|2");
    sql(begin);
    // Settings count for new connections.
    fleet.relays[0].cut();
    audit.made(fault);
    std::fs::write(fleet.lab.shared_folder().join("go-s"), "").expect("a file");
    let status = session.process.wait();
    let said = session.complaints();
    if status.success() || !said.contains(expected) || !said.contains("help: ") {
        audit.found(Violation::WrongAnswer, format!("{fault}: the session: {status}: {said}"));
    }
    audit.look_at_processes(&fleet);
    let tried = fleet.machines[0].hookwright(&["task", "add", "more"]);
    let said = String::from_utf8_lossy(&tried.stderr).into_owned();
    if tried.status.success() || !said.contains(expected) || !said.contains("help: ") {
        audit.found(Violation::WrongAnswer, format!("{fault}: a command: {said}"));
    }
    sql(end);
    finish(&fleet, vec![fleet.resume(0, "s")], audit);
}
