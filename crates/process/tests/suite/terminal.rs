//! A child that stops to use the terminal, on a real one.

use std::time::Duration;

use hookwright_process::How;

use crate::situation::{LONG, assert_timed_out, bash, in_its_own_process, program, run_it};

/// `script` gives its command a terminal of its own and returns its exit code.
async fn in_a_terminal(test: &str) {
    in_its_own_process(test, |command| {
        program("/usr/bin/script", &["-qec", &command, "/dev/null"])
    })
    .await;
}

async fn wants_it(script: &str) {
    let mut launch = bash(script);
    launch.kill_grace = Duration::from_secs(1);
    let ended = run_it(launch).await;
    assert!(matches!(ended.how, How::WantedTerminal), "{ended:?}");
    assert!(ended.duration < LONG, "{ended:?}");
    assert_eq!(ended.stdout.text(), "before\n");
}

#[tokio::test]
async fn a_leader_that_reads_the_terminal_is_ended_at_once() {
    in_a_terminal("terminal::alone_the_leader_reads_the_terminal").await;
}

#[tokio::test]
#[ignore = "needs a terminal; run by the test above"]
async fn alone_the_leader_reads_the_terminal() {
    wants_it("echo before; read x </dev/tty; echo after").await;
}

#[tokio::test]
async fn a_grandchild_that_reads_the_terminal_is_ended_at_once() {
    in_a_terminal("terminal::alone_a_grandchild_reads_the_terminal").await;
}

#[tokio::test]
#[ignore = "needs a terminal; run by the test above"]
async fn alone_a_grandchild_reads_the_terminal() {
    wants_it("echo before; cat /dev/tty; echo after").await;
}

#[tokio::test]
async fn a_grandchild_that_stops_without_its_leader_is_found_too() {
    in_a_terminal("terminal::alone_a_grandchild_stops_without_its_leader").await;
}

#[tokio::test]
#[ignore = "needs a terminal; run by the test above"]
async fn alone_a_grandchild_stops_without_its_leader() {
    wants_it("trap : TTIN; echo before; cat /dev/tty; echo after").await;
}

#[tokio::test]
async fn a_job_that_is_stopped_in_a_terminal_of_its_own_is_left_alone() {
    in_a_terminal("terminal::alone_a_job_is_stopped_in_a_terminal_of_its_own").await;
}

#[tokio::test]
#[ignore = "needs a terminal; run by the test above"]
async fn alone_a_job_is_stopped_in_a_terminal_of_its_own() {
    // Longer than two searches of the tree take.
    let inner = "cat /dev/tty & sleep 2; kill -KILL $!; echo after";
    let ended = run_it(program("/usr/bin/script", &["-qec", inner, "/dev/null"])).await;
    assert!(matches!(ended.how, How::Exited { code: 0 }), "{ended:?}");
    assert!(ended.stdout.text().contains("after"), "{ended:?}");
}

#[tokio::test]
async fn a_password_prompt_that_changes_the_terminal_is_ended_at_once() {
    in_a_terminal("terminal::alone_a_prompt_changes_the_terminal").await;
}

#[tokio::test]
#[ignore = "needs a terminal; run by the test above"]
async fn alone_a_prompt_changes_the_terminal() {
    wants_it("echo before; exec stty -echo </dev/tty").await;
}

#[tokio::test]
async fn a_child_stopped_for_another_reason_has_until_its_deadline() {
    in_a_terminal("terminal::alone_a_child_is_stopped_for_another_reason").await;
}

#[tokio::test]
#[ignore = "needs a terminal; run by the test above"]
async fn alone_a_child_is_stopped_for_another_reason() {
    let mut launch = bash("kill -STOP $$");
    launch.timeout = Duration::from_secs(1);
    assert_timed_out(&run_it(launch).await);
}
