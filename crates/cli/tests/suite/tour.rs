//! The tour: what a newcomer runs first, and what it leaves.

use std::fs;
use std::process::Command;

use crate::docs::copy;
use crate::support::{Sandbox, repository};

#[test]
fn the_tour_takes_an_agent_through_two_stages_and_leaves_what_it_made() {
    let sandbox = Sandbox::new();
    copy(&repository().join("examples/tour"), &sandbox.path("examples/tour"));
    let ran = sandbox.run(&["run", "examples/tour", "--session", "first"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let read = |path: &str| fs::read_to_string(sandbox.path("examples/tour").join(path)).unwrap();
    assert_eq!(
        read("playground/add.sh"),
        "add() { echo $(($1 + $2)); }\n",
        "the mistake is mended"
    );
    assert_eq!(read("playground/NOTES.md"), "add.sh adds two numbers.\n");
    assert_eq!(read("playground/diary.txt"), "iteration 2 of work\niteration 4 of work\n");
    let log = Command::new("git")
        .args(["log", "--format=%s", "--reverse"])
        .current_dir(sandbox.path("examples/tour/playground"))
        .output()
        .unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert_eq!(log.lines().collect::<Vec<_>>(), ["stage plan", "stage work", "last words"]);
    let session = ".hookwright/sessions/first";
    for (stage, iterations) in [("stage-00-plan", 1), ("stage-01-work", 4)] {
        for number in 1..=iterations {
            let folder = format!("{session}/{stage}/iterations/{number:03}");
            for file in ["context.json", "status.json", "output.md"] {
                assert!(!read(&format!("{folder}/{file}")).is_empty(), "{folder}/{file}");
            }
        }
    }
    // Nothing of it lies in the folder where it was started.
    let names: Vec<_> = fs::read_dir(sandbox.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["examples"]);
    // It can be run again, and its session has a name of its own.
    let again = sandbox.run(&["run", "examples/tour"]);
    assert_eq!(again.code, 0, "{}{}", again.stdout, again.stderr);
    assert!(again.stdout.starts_with("session session-"), "{}", again.stdout);
}
