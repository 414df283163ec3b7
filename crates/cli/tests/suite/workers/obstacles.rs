//! Workers that cannot take sessions for a while, and workers that cannot go on.

use std::path::Path;
use std::process::Command;

use hookwright_postgres_server::Cluster;

use super::attacked::Apart;
use super::{LOOP, hears, home_of, is, kill, lines, project, session, submit, write};
use crate::interrupts::{Left, Started, started, until};
use crate::support::Sandbox;

/// An agent that works until the file `go` is there.
const WAITING: &str = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cd $CHECKOUT; echo $HOOKWRIGHT_SESSION $HOOKWRIGHT_ATTEMPT >> log; echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done'}\n";

/// As after a failover, until the new server is promoted.
#[test]
fn a_server_that_cannot_be_written_for_a_while_ends_no_worker() {
    let apart = Apart::with(WAITING);
    let sandbox = &apart.sandbox;
    let agent = Left::by(sandbox, "pid");
    let mut first = apart.worker_with(&["--at-once", "1"]);
    submit(sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    submit(sandbox, &["--session", "t"]);
    let process = session(sandbox, "s")["process"]["pid"].to_string();
    let read_only = |word: &str| {
        let database = &apart.database;
        let set = format!("ALTER DATABASE {database} SET default_transaction_read_only = {word}");
        Cluster::shared().sql("postgres", &set);
        // New connections have it.
        apart.relay.cut();
    };
    read_only("on");
    kill("-KILL", &process);
    hears(&mut first, "away");
    first.wait_for_words("the store cannot be written");
    read_only("off");
    hears(&mut first, "back");
    hears(&mut first, "lost");
    write(sandbox, "go", "");
    for session in ["s", "t"] {
        until("both sessions are complete", || is(sandbox, session, "completed"));
    }
}

#[test]
fn a_worker_that_cannot_go_on_gives_its_sessions_back_before_it_ends() {
    let apart = Apart::with(LOOP);
    let sandbox = &apart.sandbox;
    let agent = Left::by(sandbox, "pid");
    let first = apart.worker_with(&["--at-once", "2"]);
    submit(sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    // Damage that nothing else notices.
    apart.sql("CREATE TABLE public.kept AS SELECT * FROM hookwright.changes");
    apart.sql("DELETE FROM hookwright.changes");
    let ran = first.ran();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.starts_with("error: the store"), "{ran:?}");
    assert!(ran.stdout.contains("\"event\":\"given_back\""), "{ran:?}");
    assert!(agent.is_gone());
    assert!(is(sandbox, "s", "queued"));
    assert_eq!(session(sandbox, "s")["submission"]["losses"], 0);
    assert_eq!(apart.sql("SELECT count(*) FROM hookwright.workers"), "0");
    apart.sql("INSERT INTO hookwright.changes SELECT * FROM public.kept");
    write(sandbox, "go", "");
    let _second = apart.worker_with(&[]);
    until("the session is complete", || is(sandbox, "s", "completed"));
}

/// A worker that runs this copy of the program.
fn worker_of(sandbox: &Sandbox, program: &Path) -> Started {
    let home = home_of(sandbox, "a");
    let settings = home.join(".config/hookwright");
    std::fs::create_dir_all(&settings).unwrap();
    let shared = sandbox.path("../.config/hookwright/store.yaml");
    std::fs::copy(shared, settings.join("store.yaml")).unwrap();
    let usual = sandbox.command(&["worker", "--json", "--at-once", "1"]);
    let mut command = Command::new(program);
    command.args(usual.get_args()).current_dir(sandbox.path(".")).env_clear();
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("HOME", home);
    started(command)
}

/// Another process copies it, so that it is open for writing nowhere when it starts.
fn copy(to: &Path) {
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_hookwright")).arg(to).status();
    assert!(copied.unwrap().success());
}

#[test]
fn a_worker_whose_program_was_replaced_still_starts_sessions_that_can_call_the_new_one() {
    let sandbox = project(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cd $CHECKOUT; echo $(cat /proc/$PPID/comm) $HOOKWRIGHT_BIN >> log; \"$HOOKWRIGHT_BIN\" --version > /dev/null'}\n",
    );
    let folder = sandbox.path("..").canonicalize().unwrap();
    let (program, newer) = (folder.join("tool"), folder.join("newer"));
    copy(&program);
    copy(&newer);
    let mut first = worker_of(&sandbox, &program);
    hears(&mut first, "joined");
    std::fs::rename(&newer, &program).unwrap();
    // One process may wait for a session already.
    let names = ["one", "two", "three"];
    names.iter().for_each(|name| submit(&sandbox, &["--session", name]));
    for name in names {
        until("all sessions are complete", || is(&sandbox, name, "completed"));
    }
    let expected = format!("hookwright {}", program.display());
    assert_eq!(lines(&sandbox, "log"), [expected.as_str(); 3]);
}

#[test]
fn a_worker_that_cannot_start_a_process_says_so_and_takes_sessions_later() {
    let sandbox = project(WAITING);
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker_of(&sandbox, Path::new(env!("CARGO_BIN_EXE_hookwright")));
    submit(&sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    let pid = format!("--pid={}", first.pid());
    let files_max = |most: u32| {
        let most = format!("--nofile={most}:");
        assert!(Command::new("prlimit").args([&pid, &most]).status().unwrap().success());
    };
    // All of its places are taken, so no process waits for a session.
    files_max(3);
    submit(&sandbox, &["--session", "t"]);
    write(&sandbox, "go", "");
    hears(&mut first, "no_process");
    first.wait_for_words("cannot start a process for a session");
    assert!(is(&sandbox, "t", "queued"));
    files_max(1024);
    hears(&mut first, "back");
    until("the session is complete", || is(&sandbox, "t", "completed"));
}
