//! The tour: what a newcomer runs first, and what it leaves behind.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::Value;

use crate::docs::copy;
use crate::interrupts::{Started, start, until};
use crate::support::{Sandbox, repository};

#[test]
fn the_tour_takes_an_agent_through_three_stages_and_leaves_what_it_made() {
    let sandbox = Sandbox::new();
    copy(&repository().join("examples/tour"), &sandbox.path("examples/tour"));
    let ran = sandbox.run(&["run", "examples/tour", "--session", "first"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let read = |path: &str| fs::read_to_string(sandbox.path("examples/tour").join(path)).unwrap();
    assert_eq!(
        read("playground/add.sh"),
        "add() { echo $(($1 + $2)); }\nsub() { echo $(($1 - $2)); }\n",
        "the mistake is fixed, and the issue is done"
    );
    assert_eq!(read("playground/NOTES.md"), "add.sh adds and subtracts two numbers.\n");
    assert_eq!(read("playground/diary.txt"), "iteration 2 of work\niteration 2 of issues\n");
    let log = Command::new("git")
        .args(["log", "--format=%s", "--reverse"])
        .current_dir(sandbox.path("examples/tour/playground"))
        .output()
        .unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        ["stage plan", "stage work", "stage issues", "after the last stage"]
    );
    let session = ".hookwright/sessions/first";
    for (stage, iterations) in [("stage-00-plan", 1), ("stage-01-work", 3), ("stage-02-issues", 2)]
    {
        for number in 1..=iterations {
            let folder = format!("{session}/{stage}/iterations/{number:03}");
            for file in ["context.json", "status.json", "output.md"] {
                assert!(!read(&format!("{folder}/{file}")).is_empty(), "{folder}/{file}");
            }
        }
    }
    // It leaves nothing in the folder where it was started.
    let names: Vec<_> = fs::read_dir(sandbox.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["examples"]);
    let review = "children/stage_complete-1";
    assert!(read(&format!("{session}/{review}/output.json")).contains("fit to be released"));
}

/// The tour, started in a project, and its question.
fn asking(sandbox: &Sandbox, session: &str) -> (Started, Value) {
    copy(&repository().join("examples/tour"), &sandbox.path("examples/tour"));
    // A long timeout, since the test answers in its own time.
    let file = sandbox.path("examples/tour/pipeline.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("timeout: 10s", "timeout: 1h");
    fs::write(&file, text).unwrap();
    let started = start(sandbox, &["run", "examples/tour", "--session", session]);
    let question = || sandbox.json(&["approvals", "--json"]).1.get(0).cloned();
    until("somebody is asked", || question().is_some());
    (started, question().unwrap())
}

#[test]
fn its_question_is_answered_in_the_terminal_and_it_can_be_taken_again() {
    let sandbox = Sandbox::new();
    for session in ["first", "second"] {
        let (started, question) = asking(&sandbox, session);
        assert_eq!(question["question"], "The review says: fit to be released. Release it?");
        assert_eq!(sandbox.run(&["approve", question["id"].as_str().unwrap()]).code, 0);
        let ran = started.ran();
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let done = fs::read_to_string(sandbox.path("examples/tour/playground/add.sh")).unwrap();
        assert!(done.contains("sub()"), "{done}");
    }
}

#[test]
fn its_question_is_answered_on_the_page_and_a_no_ends_it() {
    let sandbox = Sandbox::new();
    let (started, question) = asking(&sandbox, "tour");
    let answer = post(question["url"].as_str().unwrap(), "action=reject");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let ran = started.ran();
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(!sandbox.path("examples/tour/playground/NOTES.md").exists());
}

/// Sends a form, and returns the whole response.
fn post(url: &str, form: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut server = TcpStream::connect(host).unwrap();
    let length = form.len();
    write!(
        server,
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
    )
    .unwrap();
    let mut answer = String::new();
    server.read_to_string(&mut answer).unwrap();
    answer
}
