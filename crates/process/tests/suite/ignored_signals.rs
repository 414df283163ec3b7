//! A program that was started to ignore signals continues to do so, and its children don't.

use hookwright_process::IgnoredSignals;

use crate::situation::{assert_exited, bash, in_its_own_process, run_it};

/// Signals that a script's background job, `nohup` or a careless parent ignore.
const IGNORED: [&str; 6] = ["HUP", "INT", "QUIT", "TERM", "USR1", "CHLD"];

#[tokio::test]
async fn children_start_with_default_signals_even_if_their_host_ignores_them() {
    in_its_own_process("ignored_signals::alone_children_of_an_ignoring_host", |command| {
        bash(&format!("exec env --ignore-signal=TSTP,TTIN,TTOU {command}"))
    })
    .await;
}

#[tokio::test]
#[ignore = "wants a process that ignores signals; run by the test above"]
async fn alone_children_of_an_ignoring_host() {
    let ignored = "grep -q '^SigIgn:.*0380000$' /proc/self/status";
    let ours = std::process::Command::new("/bin/bash").args(["-c", ignored]).status().unwrap();
    assert!(ours.success(), "a child that is started otherwise ignores them");
    assert_exited(&run_it(bash(ignored)).await, 1);
    assert_exited(&run_it(bash("trap 'exit 3' TSTP; kill -TSTP $$; exit 4")).await, 3);
}

#[tokio::test]
async fn children_of_a_program_that_ignores_signals_start_with_the_default() {
    in_its_own_process("ignored_signals::alone_children_start_with_the_default", |command| {
        bash(&format!("exec env --ignore-signal={} {command}", IGNORED.join(",")))
    })
    .await;
}

#[tokio::test]
#[ignore = "wants a process that ignores signals; run by the test above"]
async fn alone_children_start_with_the_default() {
    let ignored = IgnoredSignals::read();
    assert!(ignored.hangup());
    ignored.catch().unwrap();
    // Signals 32 and 33 are the C library's own, which ignores them in everything it starts.
    let all_default = "grep -q '^SigIgn:.*[08]0000000$' /proc/self/status && exit 7";
    assert_exited(&run_it(bash(all_default)).await, 7);
    let caught = run_it(bash("trap 'exit 3' HUP; kill -HUP $$; exit 4")).await;
    assert_exited(&caught, 3);
    // This program still ignores them.
    for name in IGNORED {
        let sent = run_it(bash(&format!("kill -{name} $PPID"))).await;
        assert_exited(&sent, 0);
    }
    assert_eq!(std::process::Command::new("/bin/false").status().unwrap().code(), Some(1));
}
