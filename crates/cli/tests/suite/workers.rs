//! Workers: real processes with different homes, a real database, one checkout and its remote.
//!
//! Agents work in work trees, which go away. What a test wants to know of them is in the checkout,
//! `$CHECKOUT`.

mod attacked;
mod carried;
mod ended_processes;
mod guards;
mod listed;
mod obstacles;
mod standstill;

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::interrupts::{Left, Started, start, started, until};
use crate::remote_project::with_remote;
use crate::runs::lines;
use crate::shared_store::shared;
use crate::support::Sandbox;

/// An agent that notes each turn, and whose second turn lasts until the file `go` is there.
const LOOP: &str = "prompt: p\ntermination: {type: fixed, iterations: 3}\nagent: {command: 'cd $CHECKOUT; echo $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 2 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}\n";

fn project(text: &str) -> Sandbox {
    shared(committed(text))
}

/// A project with this loop, whose programs know the checkout.
pub(crate) fn committed(text: &str) -> Sandbox {
    committed_files(Sandbox::new().file("loop.yaml", text))
}

fn committed_files(files: Sandbox) -> Sandbox {
    let sandbox = with_remote(files.file(".gitignore", "/built\n/go\n/pid\n"));
    let checkout = sandbox.path("").to_string_lossy().into_owned();
    sandbox.set("CHECKOUT", &checkout)
}

/// A worker of a user with this home, which shares the store with all others.
fn worker(sandbox: &Sandbox, home: &str, more: &[&str]) -> Started {
    started(worker_command(sandbox, home, more))
}

fn worker_command(sandbox: &Sandbox, home: &str, more: &[&str]) -> Command {
    let home = home_of(sandbox, home);
    let settings = home.join(".config/hookwright");
    std::fs::create_dir_all(&settings).unwrap();
    let shared = sandbox.path("../.config/hookwright/store.yaml");
    std::fs::copy(shared, settings.join("store.yaml")).unwrap();
    let mut command = sandbox.command(&[&["worker"], more].concat());
    command.env("HOME", home);
    command
}

fn home_of(sandbox: &Sandbox, home: &str) -> PathBuf {
    sandbox.path("..").canonicalize().unwrap().join(home)
}

fn submit(sandbox: &Sandbox, more: &[&str]) {
    let ran = sandbox.run(&[&["run", "loop.yaml", "--on", "workers"], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn session(sandbox: &Sandbox, name: &str) -> Value {
    let (_, list) = sandbox.json(&["sessions", "list", "--json"]);
    let sessions = list["sessions"].as_array().unwrap().clone();
    sessions.into_iter().find(|session| session["name"] == name).unwrap()
}

fn is(sandbox: &Sandbox, name: &str, status: &str) -> bool {
    session(sandbox, name)["status"] == status
}

/// The next thing that a worker says about this.
fn hears(worker: &mut Started, event: &str) {
    worker.wait_for_words(&format!("\"event\":\"{event}\""));
}

fn is_there(sandbox: &Sandbox, name: &str) -> bool {
    sandbox.path(name).exists()
}

fn write(sandbox: &Sandbox, name: &str, text: &str) {
    std::fs::write(sandbox.path(name), text).unwrap();
}

fn kill(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

fn is_stopped(pid: &str) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('T'))
    })
}

#[test]
fn sessions_are_each_run_once_by_workers_of_which_every_one_takes_some() {
    let sandbox = project(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo $HOOKWRIGHT_SESSION >> $CHECKOUT/log'}\n",
    );
    let _first = worker(&sandbox, "a", &["--at-once", "2"]);
    let _second = worker(&sandbox, "b", &["--at-once", "2"]);
    let ran = sandbox.run(&["run", "loop.yaml", "--on", "workers", "--sessions", "10", "--follow"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let (_, list) = sandbox.json(&["sessions", "list", "--json", "--status", "completed"]);
    assert_eq!(list["sessions"].as_array().unwrap().len(), 10);
    assert_eq!(lines(&sandbox, "log").len(), 10);
    assert_eq!(ran.stderr.matches(": completed\n").count(), 10, "{}", ran.stderr);
}

#[test]
fn a_followed_session_shows_what_happens_and_how_it_ended() {
    let sandbox = project(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'exit 3'}\n",
    );
    let _worker = worker(&sandbox, "a", &[]);
    let follow = ["run", "loop.yaml", "--on", "workers", "--session", "s", "--follow"];
    let ran = sandbox.run(&follow);
    let direct = sandbox.run(&["run", "loop.yaml", "--session", "direct"]);
    assert_eq!(ran.code, direct.code, "{ran:?}\n{direct:?}");
    assert!(ran.stdout.contains("session s: "), "{ran:?}");
    assert!(ran.stdout.contains("exit code 3") || ran.stdout.contains("exited with 3"), "{ran:?}");
}

#[test]
fn a_worker_never_runs_more_sessions_at_once_than_it_was_told() {
    // The first two wait for each other, so that two do run at once.
    let sandbox = project(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cd $CHECKOUT; mkdir -p running; : > running/$HOOKWRIGHT_SESSION; ls running | wc -l >> log; while [ $(wc -l < log) -lt 2 ]; do sleep 0.05; done; sleep 0.2; ls running | wc -l >> log; rm running/$HOOKWRIGHT_SESSION'}\n",
    );
    let _worker = worker(&sandbox, "a", &["--at-once", "2"]);
    let ran = sandbox.run(&["run", "loop.yaml", "--on", "workers", "--sessions", "6", "--follow"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let at_once: Vec<u32> =
        lines(&sandbox, "log").iter().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(at_once.len(), 12);
    assert_eq!(at_once.iter().max(), Some(&2), "{at_once:?}");
}

#[test]
fn a_worker_takes_only_sessions_whose_label_it_has() {
    let sandbox = project(&LOOP.replace("iterations: 3", "iterations: 1"));
    submit(&sandbox, &["--session", "with", "--label", "gpu"]);
    submit(&sandbox, &["--session", "without"]);
    let _plain = worker(&sandbox, "a", &[]);
    until("the session without a label has run", || is(&sandbox, "without", "completed"));
    assert!(is(&sandbox, "with", "queued"));
    let _labelled = worker(&sandbox, "b", &["--label", "gpu", "--label", "big"]);
    until("the other one has run", || is(&sandbox, "with", "completed"));
}

/// Submits a session that no worker can take, which is said with what to do.
fn submit_in_vain(sandbox: &Sandbox, more: &[&str], why: &str) {
    let submit = ["run", "loop.yaml", "--on", "workers", "--session", "s"];
    let ran = sandbox.run(&[&submit[..], more].concat());
    assert!(ran.stderr.contains(&format!("note: session s waits: {why}\n")), "{ran:?}");
    for command in [&["status"][..], &["sessions", "show", "s"]] {
        let ran = sandbox.run(command);
        assert!(ran.stdout.contains(&format!("waits: {why}\n")), "{command:?}: {ran:?}");
    }
}

const ONE_TURN: &str =
    "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'true'}\n";

#[test]
fn a_session_that_waits_for_a_label_says_how_to_start_a_worker_with_it() {
    let sandbox = project(ONE_TURN);
    let mut plain = worker(&sandbox, "a", &["--json"]);
    hears(&mut plain, "joined");
    let why = "no worker has the label gpu; start one with `hookwright worker --label gpu`";
    submit_in_vain(&sandbox, &["--label", "gpu"], why);
    let _labelled = worker(&sandbox, "b", &["--label", "gpu"]);
    until("the session has run", || is(&sandbox, "s", "completed"));
}

#[test]
fn a_session_that_waits_for_a_secret_says_where_to_add_it() {
    let hook = "hooks: {session:start: [{command: 'test -n \"$DEPLOY_KEY\"', await: true}]}\n";
    let sandbox = project(&format!("{ONE_TURN}{hook}"));
    let add_secret = |home: &str| {
        let file = sandbox.path("..").join(home).join(".config/hookwright/secrets.env");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "DEPLOY_KEY=hunter222\n").unwrap();
        let file = file.to_string_lossy().into_owned();
        assert!(Command::new("chmod").args(["600", &file]).status().unwrap().success());
    };
    add_secret("");
    let mut without = worker(&sandbox, "a", &["--json"]);
    hears(&mut without, "joined");
    let why = "no worker has the secret DEPLOY_KEY; add DEPLOY_KEY to secrets.env of a worker's \
               user and start that worker again";
    submit_in_vain(&sandbox, &[], why);
    without.signal("-TERM");
    assert_eq!(without.ran().code, 0);
    add_secret("a");
    let _again = worker(&sandbox, "a", &[]);
    until("the session has run", || is(&sandbox, "s", "completed"));
}

#[test]
fn a_session_that_waits_for_an_agent_says_where_to_install_it() {
    let sandbox = project(&ONE_TURN.replace("{command: 'true'}", "codex"));
    let sandbox = sandbox.program("../bin/codex", "#!/bin/sh\n: > \"$CHECKOUT/worked\"\n");
    let path = format!("{}:{}", sandbox.path("../bin").display(), std::env::var("PATH").unwrap());
    let sandbox = sandbox.set("PATH", &path);
    let mut without = worker_command(&sandbox, "a", &["--json"]);
    without.env("PATH", "/nonexistent");
    let mut without = started(without);
    hears(&mut without, "joined");
    let why = "no worker has the agent codex; install codex on a worker's machine and start that \
               worker again";
    submit_in_vain(&sandbox, &[], why);
    without.signal("-TERM");
    assert_eq!(without.ran().code, 0);
    let _again = worker(&sandbox, "a", &[]);
    until("the agent has worked", || is_there(&sandbox, "worked"));
}

#[test]
fn a_killed_worker_leaves_nothing_and_another_one_continues_its_session() {
    let sandbox = project(LOOP);
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    hears(&mut first, "started");
    until("the agent works", || agent.has_run());
    let process = session(&sandbox, "s")["process"]["pid"].to_string();
    first.kill();
    until("its agent has ended", || agent.is_gone());
    until("its session process has ended", || crate::interrupts::is_gone(&process));
    write(&sandbox, "go", "");
    let mut second = worker(&sandbox, "b", &["--json"]);
    hears(&mut second, "recovered");
    second.wait_for_words("\"session\":\"s\"");
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(lines(&sandbox, "log"), ["1 1", "2 1", "2 2", "3 1"]);
}

#[test]
fn the_session_of_a_killed_session_process_continues() {
    let sandbox = project(LOOP);
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    write(&sandbox, "go", "");
    kill("-KILL", &session(&sandbox, "s")["process"]["pid"].to_string());
    hears(&mut first, "lost");
    until("its agent has ended", || agent.is_gone());
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(lines(&sandbox, "log"), ["1 1", "2 1", "2 2", "3 1"]);
}

#[test]
fn a_worker_that_is_asked_to_end_gives_its_sessions_back() {
    let sandbox = project(LOOP);
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    first.signal("-TERM");
    hears(&mut first, "given_back");
    let ran = first.ran();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(agent.is_gone());
    assert!(is(&sandbox, "s", "queued"));
    write(&sandbox, "go", "");
    let _second = worker(&sandbox, "b", &[]);
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(lines(&sandbox, "log"), ["1 1", "2 1", "2 2", "3 1"]);
    // It was given back, not lost.
    assert_eq!(session(&sandbox, "s")["submission"]["losses"], 0);
}

#[test]
fn a_session_that_takes_three_workers_down_is_paused_until_a_person_resumes_it() {
    let sandbox = project(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cd $CHECKOUT; echo turn >> log; [ -e go ] || kill -KILL $PPID'}\n",
    );
    let _workers = ["a", "b", "c"].map(|home| worker(&sandbox, home, &[]));
    submit(&sandbox, &["--session", "s"]);
    until("the session is paused", || is(&sandbox, "s", "paused"));
    assert_eq!(lines(&sandbox, "log"), ["turn", "turn", "turn"]);
    let status = sandbox.run(&["status"]);
    let reason = "3 workers in a row were lost while they ran it, before an iteration ended";
    assert!(status.stdout.contains(reason), "{status:?}");
    write(&sandbox, "go", "");
    let resumed = sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(lines(&sandbox, "log").len(), 4);
}

#[test]
fn a_new_worker_ends_what_a_killed_one_left_before_it_takes_a_session() {
    let sandbox = project(LOOP);
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    hears(&mut first, "started");
    until("the agent works", || agent.has_run());
    let process = session(&sandbox, "s")["process"]["pid"].to_string();
    // Neither the worker nor the session's process can end the agent.
    kill("-STOP", &first.pid().to_string());
    until("the worker is stopped", || is_stopped(&first.pid().to_string()));
    kill("-KILL", &process);
    first.kill();
    assert!(!agent.is_gone());
    write(&sandbox, "go", "");
    let mut second = worker(&sandbox, "a", &["--json"]);
    hears(&mut second, "ended_leftovers");
    assert!(agent.is_gone());
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(lines(&sandbox, "log"), ["1 1", "2 1", "2 2", "3 1"]);
}

#[test]
fn the_hooks_of_the_workers_user_stay_in_force() {
    let sandbox = project(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo turn >> $CHECKOUT/log'}\nhooks: {session:start: [{id: mine, command: 'echo submitted >> $CHECKOUT/log', await: true}]}\n",
    );
    let settings = home_of(&sandbox, "a").join(".config/hookwright");
    std::fs::create_dir_all(&settings).unwrap();
    let guard = "hooks: {iteration:start: [{id: guard, command: 'echo guarded >> $CHECKOUT/log', await: true}]}";
    std::fs::write(settings.join("hooks.yaml"), guard).unwrap();
    let _worker = worker(&sandbox, "a", &[]);
    submit(&sandbox, &["--session", "s"]);
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(lines(&sandbox, "log"), ["submitted", "guarded", "turn"]);
}

#[test]
fn a_session_on_a_worker_is_stopped_from_the_same_machine() {
    let sandbox = project(LOOP);
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    let stopped = sandbox.run(&["stop", "s"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    hears(&mut first, "ended");
    assert!(is(&sandbox, "s", "interrupted"));
    write(&sandbox, "go", "");
    assert_eq!(sandbox.run(&["resume", "s"]).code, 0);
    until("the session is complete", || is(&sandbox, "s", "completed"));
}

#[test]
fn a_worker_needs_a_store_that_other_machines_reach() {
    let ran = Sandbox::new().run(&["worker"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: workers need a Postgres store"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: set `store: postgres://"), "{}", ran.stderr);
    let sandbox = project(LOOP);
    let ran = sandbox.run(&["worker", "--project", "shop"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("`shop` is neither a folder nor the name of the project"),
        "{}",
        ran.stderr
    );
    drop(start(&sandbox, &["worker"]));
}
