//! The host cancels: a token, a dropped future, a second Ctrl-C.

use std::time::Duration;

use hookwright_process::{How, kill_everything_now, run};
use tokio_util::sync::CancellationToken;

use crate::situation::{
    LONG, assert_exited, bash, command_of, in_its_own_process, is_alive, numbers, ready, run_it,
    state, wait_until,
};

/// A tree with one member of every kind, all of which ignore SIGTERM.
const STUBBORN_TREE: &str = "trap '' TERM; echo $$
    sleep 1000 & echo $!
    setsid sleep 1000 & echo $!
    setsid bash -c 'sleep 1000 </dev/null >/dev/null 2>&1 & echo $!'
    echo ready; sleep 1000";

#[tokio::test]
async fn a_cancelled_run_is_ended_like_one_that_timed_out_and_keeps_its_output() {
    let mut launch = bash(STUBBORN_TREE);
    launch.kill_grace = Duration::from_millis(200);
    let ready = ready(launch).await;
    ready.cancel.cancel();
    let ended = ready.running.await.unwrap();
    assert!(matches!(ended.how, How::Cancelled), "{ended:?}");
    assert!(ended.stdout.text().ends_with("ready\n") && ended.duration < LONG, "{ended:?}");
    assert_eq!(ready.pids.len(), 4);
    assert!(ready.pids.iter().all(|pid| !is_alive(*pid)));
    assert_eq!(state(ready.leader), None, "collected");
}

#[tokio::test]
async fn a_run_cancelled_before_it_starts_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = bash("touch started");
    launch.working_dir = folder.path().to_owned();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ended = run(launch, &mut (), &cancel).await;
    assert!(matches!(ended.how, How::Cancelled), "{ended:?}");
    assert!(!folder.path().join("started").exists());
}

#[tokio::test]
async fn a_dropped_run_kills_its_tree_at_once_and_leaves_no_zombie() {
    let ready = ready(bash(STUBBORN_TREE)).await;
    ready.running.abort();
    assert!(ready.running.await.unwrap_err().is_cancelled());
    assert_eq!(ready.pids.len(), 4);
    wait_until("the tree is dead", || ready.pids.iter().all(|pid| !is_alive(*pid)));
    wait_until("the leader is collected", || state(ready.leader).is_none());
}

#[tokio::test]
async fn a_dropped_run_is_dead_even_when_the_program_ends_right_after() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = bash(&command_of("cancelling::alone_a_program_drops_a_run_and_ends"));
    launch.working_dir = folder.path().to_owned();
    assert_exited(&run_it(launch).await, 0);
    let pids = numbers(&std::fs::read_to_string(folder.path().join("pids")).unwrap());
    assert_eq!(pids.len(), 4);
    wait_until("the tree is dead", || pids.iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
#[ignore = "ends its process; run by the test above"]
#[expect(clippy::exit, reason = "nothing may run after the drop")]
async fn alone_a_program_drops_a_run_and_ends() {
    let ready = ready(bash(STUBBORN_TREE)).await;
    std::fs::write("pids", format!("{:?}", ready.pids).replace(['[', ',', ']'], " ")).unwrap();
    ready.running.abort();
    let _ = ready.running.await;
    std::process::exit(0);
}

#[tokio::test]
async fn killing_everything_kills_every_running_tree() {
    in_its_own_process("cancelling::alone_everything_is_killed", |command| bash(&command)).await;
}

#[tokio::test]
#[ignore = "kills every run of its process; run by the test above"]
async fn alone_everything_is_killed() {
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(ready(bash(STUBBORN_TREE)).await);
    }
    kill_everything_now();
    for ready in runs {
        let ended = ready.running.await.unwrap();
        assert!(matches!(ended.how, How::Killed { signal: 9 }), "{ended:?}");
        wait_until("the tree is dead", || ready.pids.iter().all(|pid| !is_alive(*pid)));
    }
    // The kill ends only the runs of that moment; the next one is new.
    assert_exited(&run_it(bash("exit 4")).await, 4);
}

#[test]
fn a_run_may_move_between_threads() {
    fn needs_send<T: Send>(_: T) {}
    let cancel = CancellationToken::new();
    needs_send(run(bash("true"), &mut (), &cancel));
}
