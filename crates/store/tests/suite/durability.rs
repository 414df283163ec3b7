//! How often the store waits for the disk, counted by `strace`.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use hookwright_store::{Append, Commit, Durability, Expected, Store, StoreError};
use tempfile::TempDir;

use crate::actor::{self, Actor, listen, tell};
use crate::situation::{Situation, journal, put, texts};

#[test]
fn a_synced_commit_syncs_once_and_an_unsynced_one_never() {
    // The syncs of a run without commits: only those of the very first commit.
    let floor = syncs_of(&[]);
    assert_eq!(syncs_of(&["unsynced"; 20]), floor);
    assert_eq!(syncs_of(&["synced"; 20]), floor + 20);
    assert_eq!(syncs_of(&["unsynced", "synced", "unsynced", "unsynced", "synced"]), floor + 2);
}

#[test]
fn a_synced_commit_that_changes_nothing_makes_those_before_it_safe() {
    let floor = syncs_of(&[]);
    assert_eq!(syncs_of(&["unsynced", "nothing"]), floor + 1);
    assert_eq!(syncs_of(&["unsynced", "conflict"]), floor);
}

#[test]
fn leases_wait_for_no_disk() {
    assert_eq!(syncs_of(&["lease"; 10]), syncs_of(&[]));
}

#[test]
fn synced_commits_are_counted() {
    let Situation { folder: _folder, store } = Situation::new();
    assert_eq!(store.syncs(), 0);
    for commit in [Commit::synced(), Commit::unsynced(), Commit::synced()] {
        store.commit(&commit).unwrap();
    }
    store.acquire("run", "me", None).unwrap();
    let puts = vec![put("a", Expected::Version(7), "1")];
    store.commit(&Commit { puts, ..Commit::synced() }).unwrap_err();
    assert_eq!(store.syncs(), 2);
}

#[test]
fn others_can_commit_while_one_waits_for_the_disk() {
    let Situation { folder, store } = Situation::new();
    store.commit(&Commit::synced()).unwrap();
    // A sync on its disk takes a minute.
    let mut actor = start_with_disk("delay_enter=60s", &folder);
    let pid: i32 = actor.hear().expect("it is about to").parse().unwrap();
    let (since, journal) = (Instant::now(), journal("a"));
    while store.last(&journal).unwrap() == 0 {
        assert!(since.elapsed() < Duration::from_secs(30), "its commit waits for the disk");
        std::thread::yield_now();
    }
    store.commit(&Commit::unsynced()).unwrap();
    store.acquire("run", "me", None).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(actor.kill(), [""; 0], "it was told that its commit is safe");
}

#[test]
fn a_commit_that_the_disk_does_not_take_is_an_error() {
    let Situation { folder, store } = Situation::new();
    store.commit(&Commit::synced()).unwrap();
    let mut actor = start_with_disk("error=EIO", &folder);
    actor.hear().expect("it is about to");
    assert_eq!(actor.end(), ["Io"]);
    // The commit may be there or not; the others continue.
    store.commit(&Commit::synced()).unwrap();
}

/// A process that makes a synced commit, with a disk that behaves like this.
fn start_with_disk(behaviour: &str, folder: &TempDir) -> Actor {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-e"]);
    strace.arg(format!("inject=fsync,fdatasync:{behaviour}")).args(["-o", "/dev/null"]);
    strace.arg(std::env::current_exe().unwrap());
    Actor::start_with(strace, "durability::commits_once", folder.path())
}

#[test]
#[ignore = "a part that other tests start"]
fn commits_once() {
    let (store, journal, entries) = (actor::store(), journal("a"), texts(["1"]));
    tell(&std::process::id().to_string());
    let append = Append { journal: &journal, expected: 0, entries: &entries };
    match store.commit(&Commit { append: Some(append), ..Commit::synced() }) {
        Ok(_) => tell("safe"),
        Err(StoreError::Io { .. }) => tell("Io"),
        Err(other) => tell(&format!("{other:?}")),
    }
}

/// How often a process that does this asks the kernel to sync.
fn syncs_of(deeds: &[&str]) -> usize {
    let Situation { folder, store } = Situation::new();
    drop(store);
    let trace = folder.path().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs,sync", "-o"]);
    strace.arg(&trace).arg(std::env::current_exe().unwrap());
    let mut actor = Actor::start_with(strace, "durability::commits", folder.path());
    for deed in deeds {
        actor.say(deed);
        assert_eq!(actor.hear().as_deref(), Some(*deed));
    }
    actor.say("");
    actor.end();
    let trace = fs::read_to_string(trace).unwrap();
    // A call that another thread's call interrupts in the trace has two lines.
    let calls = trace.lines().filter(|line| !line.contains(" resumed>"));
    calls.filter(|line| line.contains("sync")).count()
}

#[test]
#[ignore = "a part that other tests start"]
fn commits() {
    let (store, journal, entries) = (actor::store(), journal("a"), texts(["1"]));
    // The first commit also syncs the log's name.
    store.commit(&Commit::synced()).unwrap();
    let mut last = 0;
    loop {
        let deed = listen();
        let durability = match deed.as_str() {
            "synced" => Durability::Synced,
            "unsynced" => Durability::Unsynced,
            "nothing" => {
                let drop_journals = vec![self::journal("never there")];
                store.commit(&Commit { drop_journals, ..Commit::synced() }).unwrap();
                tell(&deed);
                continue;
            }
            "conflict" => {
                let puts = vec![put("a", Expected::Version(7), "1")];
                store.commit(&Commit { puts, ..Commit::synced() }).unwrap_err();
                tell(&deed);
                continue;
            }
            "lease" => {
                let held = store.holder("run").unwrap().map(|held| held.token);
                store.acquire("run", "me", held).unwrap();
                tell(&deed);
                continue;
            }
            _ => return,
        };
        let append = Append { journal: &journal, expected: last, entries: &entries };
        let commit = Commit { durability, append: Some(append), ..Commit::synced() };
        last = store.commit(&commit).unwrap().last;
        tell(&deed);
    }
}
