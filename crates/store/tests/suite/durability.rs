//! How often the disk is waited for, as the kernel sees it.

use std::fs;
use std::process::Command;

use hookwright_store::{Append, Commit, Durability, Expected, Store};

use crate::actor::{self, Actor, listen, tell};
use crate::situation::{Situation, journal, put, texts};

#[test]
fn a_synced_commit_syncs_once_and_an_unsynced_one_never() {
    // What an empty play costs: nothing but the first commit of all.
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

/// How often a process that does this has asked the kernel to sync.
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
    // A call during which another thread is heard of has two lines.
    let calls = trace.lines().filter(|line| !line.contains(" resumed>"));
    calls.filter(|line| line.contains("sync")).count()
}

#[test]
#[ignore = "a part that other tests start"]
fn commits() {
    let (store, journal, entries) = (actor::store(), journal("a"), texts(["1"]));
    // The first commit also makes the log and its name safe.
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
