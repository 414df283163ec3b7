//! A subreaper's orphans leave no zombies, and no owner loses its child's end.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hookwright_process::{Leader, Watch, become_subreaper, collect_orphans, reap_orphans, run};

use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio_util::sync::CancellationToken;

use crate::situation::{
    assert_exited, bash, in_its_own_process, kill, numbers, parent, run_it, state, wait_until,
};

#[tokio::test]
async fn orphans_of_a_subreaper_are_collected() {
    in_its_own_process("orphans::alone_orphans_are_collected", |command| bash(&command)).await;
}

#[tokio::test]
#[ignore = "makes its process a subreaper; run by the test above"]
async fn alone_orphans_are_collected() {
    become_subreaper().unwrap();
    for how in ["", "setsid"] {
        let script = format!("{how} sleep 1000 >/dev/null 2>&1 & echo $!");
        let ended = run_it(bash(&script)).await;
        let orphan = numbers(&ended.stdout.text())[0];
        wait_until("adopted", || parent(orphan) == Some(std::process::id()));
        reap_orphans();
        assert!(state(orphan).is_some(), "it runs");
        kill(orphan);
        wait_until("a zombie", || state(orphan) == Some('Z'));
        reap_orphans();
        assert_eq!(state(orphan), None);
    }
}

#[tokio::test]
async fn orphans_are_collected_as_they_end_and_no_leader_is() {
    in_its_own_process("orphans::alone_orphans_are_collected_as_they_end", |command| {
        bash(&command)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "makes its process a subreaper; run by the test above"]
async fn alone_orphans_are_collected_as_they_end() {
    become_subreaper().unwrap();
    let collecting = tokio::spawn(collect_orphans());
    let mut runs = tokio::task::JoinSet::new();
    for code in 0..200 {
        let script = format!("(sleep 0.01 & setsid -f true) >/dev/null 2>&1; exit {}", code % 100);
        runs.spawn(async move { (code % 100, run_it(bash(&script)).await) });
        if runs.len() == 8 {
            let (code, ended) = runs.join_next().await.unwrap().unwrap();
            assert_exited(&ended, code);
        }
    }
    for (code, ended) in runs.join_all().await {
        assert_exited(&ended, code);
    }
    wait_until("no process is left", || {
        let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::All, looking).err() == Some(rustix::io::Errno::CHILD)
    });
    assert!(!collecting.is_finished());
}

/// Reaps before the leader's owner has.
struct ReapsFirst;

impl Watch for ReapsFirst {
    fn started(&mut self, leader: &Leader) {
        wait_until("a zombie", || state(leader.pid) == Some('Z'));
        reap_orphans();
    }
}

#[tokio::test]
async fn reaping_orphans_leaves_every_childs_end_to_its_owner() {
    in_its_own_process("orphans::alone_ends_stay_with_their_owners", |command| bash(&command))
        .await;
}

#[tokio::test]
#[ignore = "makes its process a subreaper; run by the test above"]
async fn alone_ends_stay_with_their_owners() {
    become_subreaper().unwrap();
    let mut foreign = Command::new("/bin/bash").args(["-c", "exit 5"]).spawn().unwrap();
    wait_until("a zombie", || state(foreign.id()) == Some('Z'));

    let over = Arc::new(AtomicBool::new(false));
    let theirs = over.clone();
    let reaper = std::thread::spawn(move || {
        while !theirs.load(Ordering::Relaxed) {
            reap_orphans();
        }
    });
    for _ in 0..100 {
        assert_exited(&run_it(bash("sleep 0.01 >/dev/null 2>&1 & exit 7")).await, 7);
    }
    over.store(true, Ordering::Relaxed);
    reaper.join().unwrap();

    let ended = run(bash("exit 7"), &mut ReapsFirst, &CancellationToken::new()).await;
    assert_exited(&ended, 7);

    assert_eq!(foreign.wait().unwrap().code(), Some(5));
    wait_until("all the orphans are collected", || {
        reap_orphans();
        let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::All, looking).err() == Some(rustix::io::Errno::CHILD)
    });
    // As documented: an unrelated child in a group of its own is mistaken for an orphan.
    let mut stranger = Command::new("/bin/true").process_group(0).spawn().unwrap();
    wait_until("a zombie", || state(stranger.id()) == Some('Z'));
    reap_orphans();
    assert!(stranger.wait().is_err());
}
