//! A full disk, and free space again.

use std::fs;
use std::process::Command;

use hookwright_store::{Append, Commit, Expected, SqliteStore, Store, StoreError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::actor::{self, Actor, tell};
use crate::situation::{Situation, append, journal, put, values};

/// Commits until there is no space, and returns the number of commits that succeeded.
fn fill(store: &SqliteStore) -> u64 {
    let (journal, entries) = (journal("a"), vec!["x".repeat(3_000); 2]);
    let mut last = store.last(&journal).unwrap();
    loop {
        let append = Append { journal: &journal, expected: last, entries: &entries };
        let puts = vec![put("end", Expected::Any, &(last + 2).to_string())];
        let commit = Commit { append: Some(append), puts, ..Commit::unsynced() };
        match store.commit(&commit) {
            Ok(committed) => last = committed.last,
            Err(StoreError::Full { .. }) => break,
            Err(other) => panic!("{other:?}"),
        }
    }
    // Still no space, but the store can be read.
    assert!(matches!(
        store.commit(&Commit {
            puts: vec![put("b", Expected::Any, &"x".repeat(100_000))],
            ..Commit::synced()
        }),
        Err(StoreError::Full { .. })
    ));
    assert_eq!(values(store, "a").len() as u64, last);
    last
}

#[test]
fn a_limit_on_file_sizes_is_no_room_and_the_store_works_again_after_it() {
    let Situation { folder, store } = Situation::new();
    append(&store, "a", 0, &["1".into(), "2".into()]);
    drop(store);
    // The signal that comes with this limit would kill the process.
    let mut shell = Command::new("sh");
    let binary = std::env::current_exe().unwrap();
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(binary);
    let mut actor = Actor::start_with(shell, "room::is_limited", folder.path());
    let first: u64 = actor.hear().expect("it is full").parse().unwrap();
    let last: u64 = actor.hear().expect("it has gone on").parse().unwrap();
    actor.end();
    assert!(first > 2 && last == first + 2, "{first}, {last}");
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(values(&store, "a").len() as u64, last);
}

#[test]
#[ignore = "a part that other tests start"]
fn is_limited() {
    let store = actor::store();
    let unlimited = getrlimit(Resource::Fsize);
    let log = fs::metadata(actor::folder().join("store.sqlite3-wal")).unwrap().len();
    // Not a whole page, so that a write ends in the middle of one.
    setrlimit(Resource::Fsize, Rlimit { current: Some(log + 100_001), ..unlimited }).unwrap();
    let last = fill(&store);
    setrlimit(Resource::Fsize, unlimited).unwrap();
    tell(&last.to_string());
    tell(&append(&store, "a", last, &["and".into(), "on".into()]).to_string());
}

/// Needs the right to mount; without it, the test above and the one of a full database in
/// `src/sqlite/tests.rs` cover part of this.
#[test]
fn a_full_disk_is_no_room_and_the_store_works_again_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=600k none \"$0\" && exec \"$@\"";
    let unshared = |command: &mut Command| {
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount])
            .arg(folder.path());
    };
    let mut allowed = Command::new("unshare");
    unshared(&mut allowed);
    if !allowed.arg("true").output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let mut command = Command::new("unshare");
    unshared(&mut command);
    command.arg(std::env::current_exe().unwrap());
    let actor = Actor::start_with(command, "room::is_small", folder.path());
    assert_eq!(actor.end(), ["worked again"]);
}

#[test]
#[ignore = "a part that other tests start"]
fn is_small() {
    let ballast = actor::folder().join("ballast");
    fs::write(&ballast, vec![1; 200_000]).unwrap();
    let store = actor::store();
    let last = fill(&store);
    assert!(last > 2, "{last}");
    fs::remove_file(ballast).unwrap();
    append(&store, "a", last, &["and".into(), "on".into()]);
    drop(store);
    assert_eq!(values(&actor::store(), "a").len() as u64, last + 2);
    tell("worked again");
}
