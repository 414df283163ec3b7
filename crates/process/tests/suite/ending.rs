//! The timeout bounds wall time and ends every process that the run started.

use std::time::Duration;

use hookwright_process::{How, MARKER, end_run, wait_for_runs};

use crate::situation::{
    LONG, assert_timed_out, bash, fresh_run_id, is_alive, kill, numbers, parent, ready, run_it,
    run_until_ready, wait_until,
};

const SHORT_GRACE: Duration = Duration::from_millis(300);

// Conformance: agent-pipelines-017, autoagent-067, code-forge-073
#[tokio::test]
async fn a_compound_command_is_ended_at_its_timeout() {
    // A busy machine needs longer until it has printed; only then is there output to keep.
    for timeout in (0..9).map(|doubled| Duration::from_millis(200 << doubled)) {
        let mut launch = bash("echo before; sleep 1000; echo x");
        launch.timeout = timeout;
        let ended = run_it(launch).await;
        assert!(matches!(ended.how, How::TimedOut { after } if after == timeout), "{ended:?}");
        assert!(ended.duration < LONG, "{ended:?}");
        assert!(!ended.output_held);
        if !ended.stdout.is_empty() {
            return assert_eq!(ended.stdout.text(), "before\n");
        }
    }
    panic!("the command never came so far as to print");
}

#[tokio::test]
async fn a_child_that_prints_without_end_does_not_outrun_its_deadline() {
    let mut launch = bash("yes & yes >&2");
    launch.timeout = Duration::from_millis(200);
    let ended = run_it(launch).await;
    assert_timed_out(&ended);
    assert!(ended.duration < LONG, "{ended:?}");
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed_after_the_grace_with_its_children() {
    let mut launch = bash("trap '' TERM; sleep 1000 & echo $$ $!; echo ready; wait; sleep 1000");
    launch.kill_grace = SHORT_GRACE;
    let ended = run_until_ready(launch).await;
    assert_timed_out(&ended);
    assert!(ended.duration >= SHORT_GRACE && ended.duration < LONG, "{ended:?}");
    let pids = numbers(&ended.stdout.text());
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{ended:?}");
}

#[tokio::test]
async fn a_tree_that_ends_in_the_grace_is_not_waited_for_longer() {
    let ended = run_until_ready(bash(
        "trap 'echo bye; kill $!; exit 3' TERM; sleep 1000 & echo ready; wait",
    ))
    .await;
    assert_timed_out(&ended);
    assert_eq!(ended.stdout.text(), "ready\nbye\n");
    assert!(ended.duration < LONG, "{ended:?}");
}

#[tokio::test]
async fn a_child_outside_the_group_has_the_whole_grace_to_tidy_up() {
    let tidy = "trap \"echo tidy; exit\" TERM; echo ready; while :; do sleep 0.01; done";
    let ended = run_until_ready(bash(&format!("setsid bash -c '{tidy}' & wait"))).await;
    assert_timed_out(&ended);
    assert_eq!(ended.stdout.text(), "ready\ntidy\n");
}

#[tokio::test]
async fn a_grandchild_in_a_session_of_its_own_is_ended() {
    let ended = run_until_ready(bash("setsid sleep 1000 & echo $!; echo ready; wait")).await;
    assert_timed_out(&ended);
    assert!(!is_alive(numbers(&ended.stdout.text())[0]));
    assert!(ended.duration < LONG, "{ended:?}");
}

// Conformance: code-forge-073
#[tokio::test]
async fn a_daemon_that_forked_twice_is_found_by_its_marker() {
    for ignore in ["", "trap \"\" TERM;"] {
        let mut launch = bash(&format!(
            "setsid bash -c '{ignore} sleep 1000 </dev/null >/dev/null 2>&1 & echo $!';
             echo ready; sleep 1000"
        ));
        launch.kill_grace = SHORT_GRACE;
        let ended = run_until_ready(launch).await;
        assert_timed_out(&ended);
        assert!(!is_alive(numbers(&ended.stdout.text())[0]), "{ended:?}");
    }
}

#[tokio::test]
async fn a_descendant_with_a_cleared_environment_is_found_below_the_leader() {
    let ended = run_until_ready(bash(
        "setsid env -i /bin/bash -c 'echo $$; echo ready; while :; do /bin/sleep 1; done' & wait",
    ))
    .await;
    assert_timed_out(&ended);
    assert!(!is_alive(numbers(&ended.stdout.text())[0]), "{ended:?}");
}

#[tokio::test]
async fn a_process_started_on_sigterm_is_ended_too() {
    for (late, grace) in [
        ("sleep 1000", LONG),
        ("bash -c \"trap : TERM; while :; do sleep 0.1; done\"", SHORT_GRACE),
    ] {
        let mut launch = bash(&format!(
            "trap 'setsid {late} & echo $!; exit' TERM; echo ready; while :; do sleep 0.01; done"
        ));
        launch.kill_grace = grace;
        let ended = run_until_ready(launch).await;
        assert_timed_out(&ended);
        assert!(ended.duration < LONG, "{ended:?}");
        let late = numbers(&ended.stdout.text());
        assert_eq!(late.len(), 1, "{ended:?}");
        assert!(!is_alive(late[0]), "{ended:?}");
    }
}

#[tokio::test]
async fn a_stopped_tree_is_ended_without_waiting_out_the_grace() {
    let mut launch = bash("setsid bash -c 'kill -STOP $$; sleep 1000' & kill -STOP $$");
    launch.timeout = Duration::from_millis(400);
    let ended = run_it(launch).await;
    assert_timed_out(&ended);
    assert!(ended.duration < LONG, "{ended:?}");
}

#[tokio::test]
async fn a_process_out_of_reach_that_holds_the_output_does_not_delay_the_run() {
    let ended = run_until_ready(bash(
        "setsid env -i /bin/bash -c 'ulimit -S -R unlimited; /bin/sleep 1000 & echo $!';
         echo ready; sleep 1000",
    ))
    .await;
    assert_timed_out(&ended);
    assert!(ended.duration < LONG && ended.output_held, "{ended:?}");
    let unreachable = numbers(&ended.stdout.text())[0];
    assert!(is_alive(unreachable), "the test needs someone out of reach");
    kill(unreachable);
}

#[tokio::test]
async fn a_run_inside_a_run_is_found_by_the_outer_runs_id() {
    let outer = fresh_run_id();
    let mut launch = bash("echo $HOOKWRIGHT_RUN; echo ready; sleep 1000 & wait");
    launch.env.push((MARKER.into(), outer.clone().into()));
    let inner = launch.run_id.clone();
    let ready = ready(launch).await;

    let hit = end_run(&outer, LONG).await;
    assert!(hit.contains(&ready.leader), "{hit:?}");
    let ended = ready.running.await.unwrap();
    assert!(matches!(ended.how, How::Killed { signal: 15 }), "{ended:?}");
    assert_eq!(ended.stdout.text(), format!("{outer}:{inner}\nready\n"));
}

#[tokio::test]
async fn only_the_survivors_of_a_run_are_ended_by_its_id() {
    let mut launch = bash("for _ in 1 2; do setsid sleep 1000 >/dev/null 2>&1 & echo $!; done");
    launch.run_id = format!("{}-extended", fresh_run_id());
    let run_id = launch.run_id.clone();
    let ended = run_it(launch).await;
    let mut survivors = numbers(&ended.stdout.text());
    survivors.sort_unstable();
    wait_until("the survivors are orphans", || {
        survivors.iter().all(|pid| parent(*pid).is_some_and(|parent| !is_hosts(parent)))
    });

    assert!(!wait_for_runs(std::slice::from_ref(&run_id), Duration::from_millis(10)).await);
    assert!(survivors.iter().all(|pid| is_alive(*pid)));
    let only_similar = run_id.strip_suffix("-extended").unwrap();
    assert_eq!(end_run(only_similar, LONG).await, Vec::<u32>::new());
    assert!(survivors.iter().all(|pid| is_alive(*pid)));

    assert_eq!(end_run(&run_id, LONG).await, survivors);
    assert!(survivors.iter().all(|pid| !is_alive(*pid)));
    assert!(wait_for_runs(&[run_id], Duration::ZERO).await);
}

fn is_hosts(parent: u32) -> bool {
    parent == std::process::id()
}

#[tokio::test]
async fn a_watch_can_change_the_deadline_by_the_output() {
    let mut launch = bash("echo ready; sleep 1000");
    launch.timeout = Duration::from_secs(3600);
    let ended = run_until_ready(launch).await;
    assert!(matches!(ended.how, How::TimedOut { after } if after < LONG), "{ended:?}");
}
