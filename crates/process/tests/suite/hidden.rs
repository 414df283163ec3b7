//! Daemons that left the tree (they forked twice) and have no readable environment are ended with
//! their run.

use std::time::Duration;

use hookwright_process::become_subreaper;

use crate::situation::{
    assert_timed_out, bash, in_its_own_process, in_its_own_process_of, is_alive, numbers,
    run_until_ready,
};

const ALONE: &str = "hidden::alone_hidden_daemons_are_ended";

#[tokio::test]
async fn a_daemon_without_an_environment_that_can_be_read_is_ended() {
    in_its_own_process(ALONE, |command| bash(&command)).await;
}

/// Root reads the environment of every process, so as root the test above cannot fail for a daemon
/// that is not dumpable.
#[tokio::test]
async fn a_user_without_privileges_ends_such_a_daemon_too() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // That user may not be able to reach the folder in which this test was built.
    let folder = tempfile::tempdir().expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("it is ours");
    let copy = folder.path().join("suite");
    // A file that this process writes is busy while a process of another test has inherited it.
    let program = std::env::current_exe().expect("this test has a path");
    let copied = std::process::Command::new("cp").arg(program).arg(&copy).status();
    assert!(copied.expect("it starts").success());
    let unprivileged = "setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs";
    in_its_own_process_of(&copy, ALONE, |command| bash(&format!("{unprivileged} {command}"))).await;
}

#[tokio::test]
#[ignore = "makes its process a subreaper; run by the test above"]
async fn alone_hidden_daemons_are_ended() {
    become_subreaper().unwrap();
    let perl = |first: &str| {
        format!(
            "perl -e '$| = 1; {first}; if (my $pid = fork) {{ print \"$pid\\n\"; exit }}
             close STDOUT; close STDERR; sleep 1000'"
        )
    };
    // prctl(PR_SET_DUMPABLE, 0). Only root can still read its environment.
    let prctl = if cfg!(target_arch = "aarch64") { 167 } else { 157 };
    for daemon in [
        "env -i /bin/bash -c '/bin/sleep 1000 </dev/null >/dev/null 2>&1 & echo $!'".to_owned(),
        // Its title overwrites the environment behind it.
        perl("$0 = \"x\" x 100_000"),
        perl(&format!("syscall({prctl}, 4, 0)")),
    ] {
        let mut launch = bash(&format!("setsid {daemon}; echo ready; sleep 1000"));
        launch.kill_grace = Duration::from_millis(300);
        let ended = run_until_ready(launch).await;
        assert_timed_out(&ended);
        let pids = numbers(&ended.stdout.text());
        assert_eq!(pids.len(), 1, "{daemon}: {ended:?}");
        assert!(!is_alive(pids[0]), "{daemon}: {ended:?}");
    }
}
