//! `hookwright workers`: who is shown, and what of them.

use hookwright_postgres_server::Cluster;
use serde_json::json;

use super::{LOOP, committed, hears, session, submit, worker};
use crate::interrupts::{Left, until};
use crate::shared_store::{at, empty};
use crate::support::{Ran, Sandbox};

#[test]
fn workers_are_listed_with_what_they_offer_and_run_and_dead_ones_until_others_have_it() {
    let database = empty();
    let sandbox = at(committed(LOOP), &Cluster::shared().address(&database));
    assert_eq!(sandbox.run(&["store", "init"]).code, 0);
    let none = "no worker runs; start one with `hookwright worker`\n";
    assert_eq!(sandbox.run(&["workers"]), Ran::new(0, "", none));
    let (_, list) = sandbox.json(&["workers", "--json"]);
    assert_eq!(list, json!({ "version": 1, "workers": [] }));

    let agent = Left::by(&sandbox, "pid");
    let labels = ["--json", "--at-once", "2", "--label", "gpu", "--label", "big"];
    let mut first = worker(&sandbox, "a", &labels);
    hears(&mut first, "joined");
    submit(&sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    let root = sandbox.path("").canonicalize().unwrap();
    let process = session(&sandbox, "s")["process"]["host"].clone();
    let (_, list) = sandbox.json(&["workers", "--json"]);
    let [listed] = list["workers"].as_array().unwrap().as_slice() else { panic!("{list}") };
    let root = root.to_string_lossy();
    assert_eq!(listed["host"], process, "{list}");
    assert_eq!(listed["labels"], json!(["gpu", "big"]));
    assert_eq!(listed["projects"], json!([root]));
    assert_eq!((&listed["atOnce"], &listed["isDead"]), (&json!(2), &json!(false)));
    assert_eq!(listed["sessions"], json!([{ "project": root, "name": "s" }]));
    assert!(listed["silentForMs"].as_u64().unwrap() < 60_000, "{list}");
    let id = listed["id"].as_str().unwrap();
    let table = sandbox.run(&["workers"]);
    let [headings, row] = table.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{table:?}") };
    let headings: Vec<_> = headings.split("  ").filter(|word| !word.is_empty()).collect();
    assert_eq!(headings.len(), 8, "{table:?}");
    assert!(row.starts_with(&id[..8]) && row.contains("  seen "), "{row}");
    assert!(row.contains("  gpu, big  ") && row.ends_with("  s"), "{row}");

    // It dies, as other machines see it. No other worker takes its session.
    first.kill();
    let died = "UPDATE hookwright.workers SET died = now()";
    Cluster::shared().sql(&database, died);
    let (_, list) = sandbox.json(&["workers", "--json"]);
    assert_eq!(
        (&list["workers"][0]["id"], &list["workers"][0]["isDead"]),
        (&id.into(), &true.into())
    );
    let table = sandbox.run(&["workers"]).stdout;
    assert!(table.contains("  dead  "), "{table}");
    std::fs::write(sandbox.path("go"), "").unwrap();
    let mut second = worker(&sandbox, "b", &["--json"]);
    hears(&mut second, "recovered");
    let (_, list) = sandbox.json(&["workers", "--json"]);
    let [heir] = list["workers"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_ne!(heir["id"], id);
}

#[test]
fn a_store_on_one_machine_has_no_workers() {
    let ran = Sandbox::new().run(&["workers"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("error: workers need a Postgres store"), "{}", ran.stderr);
}
