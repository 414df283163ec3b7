//! Deadlines, order and retention follow the clock of the database's server, which is an hour off
//! from that of the machine.

use hookwright_postgres_server::Cluster;
use jiff::{Timestamp, ToSpan};
use serde_json::Value;

use crate::interrupts::{Left, start, until};
use crate::shared_store::{at, empty_in};
use crate::support::Sandbox;
use crate::workers::committed;

/// A server with its own clock, and a project whose store is there.
fn apart(sandbox: Sandbox) -> (Cluster, Sandbox) {
    let cluster = Cluster::with_own_clock();
    let sandbox = at(sandbox, &cluster.address(&empty_in(&cluster)));
    assert_eq!(sandbox.run(&["store", "init"]).code, 0);
    (cluster, sandbox)
}

#[test]
fn the_deadline_of_a_question_follows_the_clock_of_the_server() {
    let (cluster, sandbox) = apart(Sandbox::new().file("hookwright.yaml", "callback: {port: 0}\n").file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'true'}\ntermination: {type: fixed, iterations: 1}\nhooks: {session:start: [{id: gate, type: webhook, await: true, timeout: 1800, body: {text: 'Go on?'}}]}\n",
    ));
    let waiting = || sandbox.json(&["approvals", "--json"]).1[0].clone();
    for (server, later) in [("+1h", "+2h"), ("-1h", "+0")] {
        cluster.set_clock(server);
        let session = start(&sandbox, &["run", "loop.yaml"]);
        until("somebody is asked", || waiting()["id"].is_string());
        let question = waiting();
        let ends: Timestamp = question["until"].as_str().unwrap().parse().unwrap();
        let hours = if server == "+1h" { 1 } else { -1 };
        let expected = Timestamp::now() + hours.hours() + 30.minutes();
        let off = expected.duration_since(ends).abs();
        assert!(off.as_secs() < 120, "{server}: it ends at {ends}, expected {expected}");
        let shown = sandbox.run(&["approvals"]).stdout;
        assert!(shown.contains("29 min") || shown.contains("30 min"), "{server}: {shown}");
        // An hour later it is over.
        cluster.set_clock(later);
        assert!(waiting().is_null(), "{server}: {}", waiting());
        let late = sandbox.run(&["approve", question["id"].as_str().unwrap()]);
        assert!(late.stderr.contains("ran out"), "{server}: {late:?}");
        cluster.set_clock(server);
        let said = sandbox.run(&["approve", question["id"].as_str().unwrap()]);
        assert_eq!(said.code, 0, "{server}: {said:?}");
        let ran = session.ran();
        assert_eq!(ran.code, 0, "{server}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn lists_and_pruning_follow_the_clock_of_the_server() {
    let (cluster, sandbox) = apart(Sandbox::new().file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'true'}\ntermination: {type: fixed, iterations: 1}\n",
    ));
    let names = |arguments: &[&str]| -> Vec<String> {
        let (_, list) = sandbox.json(arguments);
        let sessions = list["sessions"].as_array().unwrap().iter();
        sessions.map(|session| session["name"].as_str().unwrap().to_owned()).collect()
    };
    let pruned = || names(&["sessions", "prune", "--older-than", "30m", "--json"]);
    for (server, name) in [("+1h", "ahead"), ("+0", "now")] {
        cluster.set_clock(server);
        let ran = sandbox.run(&["run", "loop.yaml", "--session", name]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }
    assert_eq!(names(&["sessions", "list", "--json"]), ["ahead", "now"]);
    assert_eq!(pruned(), Vec::<String>::new());
    cluster.set_clock("+1h");
    assert_eq!(pruned(), ["now"]);
    cluster.set_clock("+2h");
    assert_eq!(pruned(), ["ahead", "now"]);
}

#[test]
fn what_is_stored_of_sessions_on_workers_follows_the_clock_of_the_server() {
    let (cluster, sandbox) = apart(committed(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo $$ > $CHECKOUT/pid; exec sleep 1000'}\n",
    ));
    cluster.set_clock("+1h");
    let database = cluster.sql(
        "postgres",
        "SELECT datname FROM pg_database WHERE datname LIKE 'test_%' ORDER BY oid DESC LIMIT 1",
    );
    let stored = |what: &str| -> Value {
        let text =
            cluster.sql(&database, &format!("SELECT convert_from(value, 'UTF8') FROM {what}"));
        serde_json::from_str(&text).unwrap()
    };
    let is_ahead = |time: &Value, what: &str| {
        let time: Timestamp = time.as_str().unwrap().parse().unwrap();
        let ahead = time.duration_since(Timestamp::now()).as_secs();
        assert!((1_800..5_400).contains(&ahead), "{what}: {time}");
    };
    let last_entry = || stored("hookwright.entries ORDER BY sequence DESC LIMIT 1");
    let submit = ["run", "loop.yaml", "--on", "workers", "--session", "s"];
    assert_eq!(sandbox.run(&submit).code, 0);
    assert_eq!(last_entry()["kind"], "session_submitted");
    is_ahead(&last_entry()["at"], "submitted");
    let agent = Left::by(&sandbox, "pid");
    let mut worker = start(&sandbox, &["worker", "--json"]);
    until("the agent works", || agent.has_run());
    let (_, list) = sandbox.json(&["workers", "--json"]);
    is_ahead(&list["workers"][0]["since"], "joined");
    worker.signal("-TERM");
    worker.wait_for_words("\"event\":\"given_back\"");
    assert_eq!(last_entry()["kind"], "noted");
    is_ahead(&last_entry()["at"], "given back");
    assert_eq!(sandbox.run(&["stop", "s"]).code, 0);
    let record = stored("hookwright.records WHERE kind = 'session'");
    assert_eq!(record["status"], "interrupted");
    is_ahead(&record["endTime"], "withdrawn");
}
