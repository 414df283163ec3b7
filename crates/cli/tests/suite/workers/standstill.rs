//! Workers that stand still, whose beats do not arrive, or that were declared dead.

use super::attacked::Apart;
use super::{LOOP, hears, is, is_stopped, kill, lines, submit, worker, write};
use crate::interrupts::{Left, until};

/// An agent that works until it is killed, the first time. The second time it notes whether the
/// first one still works.
const ENDLESS: &str = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cd $CHECKOUT; echo $HOOKWRIGHT_ATTEMPT >> log; if [ -e pid ]; then grep -s \"^State:.[^ZX]\" /proc/$(cat pid)/status >> beside || true; else echo $$ > pid; exec sleep 1000; fi'}\n";

/// An agent that notes which session it works for, and works until the file `go` is there.
const WAITING: &str = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cd $CHECKOUT; echo $HOOKWRIGHT_SESSION $HOOKWRIGHT_ATTEMPT >> log; echo $$ > pid-$HOOKWRIGHT_SESSION; while [ ! -e go ]; do sleep 0.05; done'}\n";

#[test]
fn a_worker_that_stands_still_has_no_agent_left_when_another_one_continues_its_session() {
    let apart = Apart::with_beat(ENDLESS, "250ms");
    let sandbox = &apart.sandbox;
    let agent = Left::by(sandbox, "pid");
    let first = apart.worker_with(&[]);
    submit(sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    // Its processes go on: they are in groups of their own.
    kill("-STOP", &first.pid().to_string());
    until("the worker is stopped", || is_stopped(&first.pid().to_string()));
    let _second = worker(sandbox, "b", &[]);
    until("the session is complete", || is(sandbox, "s", "completed"));
    kill("-CONT", &first.pid().to_string());
    assert_eq!(lines(sandbox, "log"), ["1", "2"]);
    assert_eq!(lines(sandbox, "beside"), [""; 0]);
    assert!(agent.is_gone());
}

#[test]
fn a_worker_that_stood_still_for_a_moment_keeps_its_session() {
    let apart = Apart::with_beat(WAITING, "500ms");
    let sandbox = &apart.sandbox;
    let agent = Left::by(sandbox, "pid-s");
    let first = apart.worker_with(&[]);
    submit(sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    let number = || apart.sql("SELECT number FROM hookwright.workers").parse::<u64>().unwrap();
    for _ in 0..3 {
        let before = number();
        kill("-STOP", &first.pid().to_string());
        until("the worker is stopped", || is_stopped(&first.pid().to_string()));
        kill("-CONT", &first.pid().to_string());
        // More beats than it may miss.
        until("beats arrive", || number() > before + 13);
    }
    write(sandbox, "go", "");
    until("the session is complete", || is(sandbox, "s", "completed"));
    assert_eq!(lines(sandbox, "log"), ["s 1"]);
}

#[test]
fn a_worker_that_was_declared_dead_says_so_joins_again_and_continues_its_session() {
    let apart = Apart::with(LOOP);
    let sandbox = &apart.sandbox;
    let agent = Left::by(sandbox, "pid");
    let mut first = apart.worker_with(&["--at-once", "2"]);
    hears(&mut first, "joined");
    submit(sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    write(sandbox, "go", "");
    apart.sql("UPDATE hookwright.workers SET died = now()");
    // By its claim of this one it learns that it is dead, before its next beat.
    submit(sandbox, &["--session", "t"]);
    hears(&mut first, "declared_dead");
    hears(&mut first, "joined");
    assert!(agent.is_gone());
    for session in ["s", "t"] {
        until("both sessions are complete", || is(sandbox, session, "completed"));
    }
    assert!(lines(sandbox, "log").contains(&"2 2".to_owned()), "{:?}", lines(sandbox, "log"));
}

#[test]
fn of_two_sessions_only_the_one_whose_lease_is_lost_ends() {
    let apart = Apart::with_beat(WAITING, "250ms");
    let sandbox = &apart.sandbox;
    let [lost, kept] = ["lost", "kept"].map(|name| {
        let agent = Left::by(sandbox, &format!("pid-{name}"));
        submit(sandbox, &["--session", name]);
        agent
    });
    let mut first = apart.worker_with(&["--at-once", "2"]);
    until("both agents work", || lost.has_run() && kept.has_run());
    apart.sql(
        "UPDATE hookwright.leases SET token = nextval('hookwright.revisions') \
         WHERE convert_from(name, 'UTF8') LIKE 'session/%/lost'",
    );
    hears(&mut first, "ended");
    first.wait_for_words("\"session\":\"lost\"");
    assert!(lost.is_gone());
    assert!(!kept.is_gone());
    write(sandbox, "go", "");
    until("the other one is complete", || is(sandbox, "kept", "completed"));
    let log = lines(sandbox, "log");
    assert_eq!(log.iter().filter(|line| line.starts_with("kept")).count(), 1, "{log:?}");
}

/// The connection of the beats may be down alone.
#[test]
fn a_worker_whose_beats_do_not_arrive_takes_no_session() {
    let apart = Apart::with_beat(WAITING, "100ms");
    let sandbox = &apart.sandbox;
    let agent = Left::by(sandbox, "pid-s");
    apart.sql("CREATE TABLE public.go (number int)");
    let mut first = apart.worker_with(&["--at-once", "1"]);
    submit(sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    submit(sandbox, &["--session", "t"]);
    // Beats wait for this lock, claims do not.
    let lock = "DO $$ BEGIN LOCK TABLE hookwright.workers IN SHARE MODE; \
                WHILE NOT EXISTS (SELECT FROM public.go) LOOP PERFORM pg_sleep(0.02); END LOOP; \
                END $$";
    std::thread::scope(|scope| {
        let locking = scope.spawn(|| apart.sql(lock));
        hears(&mut first, "away");
        first.wait_for_words("the store gets no sign of life from this process");
        // The session is ended, so that there is a place.
        hears(&mut first, "lost");
        let statuses = ["s", "t"].map(|name| (is(sandbox, name, "queued"), agent.is_gone()));
        apart.sql("INSERT INTO public.go VALUES (1)");
        locking.join().unwrap();
        assert_eq!(statuses, [(true, true), (true, true)]);
    });
    hears(&mut first, "back");
    write(sandbox, "go", "");
    for session in ["s", "t"] {
        until("both sessions are complete", || is(sandbox, session, "completed"));
    }
}
