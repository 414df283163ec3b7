//! Damaged files. What cannot be read is reported and stays as it is.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hookwright_store::{
    Commit, Durability, Expected, Filter, JournalKey, Kind, Loss, SqliteStore, Store, StoreError,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::actor::{self, Actor, listen, tell};
use crate::crashes::Dice;
use crate::situation::{Situation, append, journal, put, values};

const COMMITS: u64 = 30;

/// A store of many pages. Its main file has all of them, except those of the last commits if the
/// log is to have some.
fn filled(log: Log) -> TempDir {
    let Situation { folder, store } = Situation::new();
    let large = "x".repeat(10_000);
    for number in 0..COMMITS {
        append(&store, "a", number, &[format!("{number} {large}")]);
        let name = number.to_string();
        let puts = vec![put(&name, Expected::Absent, &large)];
        store.commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
        if number == COMMITS / 2 || (number + 1 == COMMITS && log == Log::Empty) {
            checkpoint(store.path());
        }
    }
    drop(store);
    assert_eq!(fs::metadata(log_of(&folder)).unwrap().len() > 0, log == Log::OfTheLastCommits);
    folder
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Log {
    Empty,
    OfTheLastCommits,
}

fn checkpoint(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let busy: i64 = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .expect("a result");
    assert_eq!(busy, 0);
}

#[test]
fn a_file_that_was_cut_short_is_damaged_at_whatever_length() {
    for log in [Log::Empty, Log::OfTheLastCommits] {
        let folder = filled(log);
        let whole = fs::metadata(main_of(&folder)).unwrap().len();
        let mut dice = Dice::new();
        let mut lengths = vec![0, 1, 50, 100, 511, 512, 4095, 4096, 4097, whole - 4096, whole - 1];
        lengths.extend((0..10).map(|_| dice.below(whole)));
        for length in lengths {
            let copy = copy_of(&folder);
            let file = OpenOptions::new().write(true).open(main_of(&copy)).unwrap();
            file.set_len(length).unwrap();
            assert_damaged_and_left_alone(&copy, &format!("{length} of {whole}, {log:?}"));
        }
        // Without the cut it opens, so the cut was the cause.
        let store = SqliteStore::open(folder.path()).unwrap();
        assert_eq!(values(&store, "a").len() as u64, COMMITS);
    }
}

#[test]
fn a_file_of_garbage_is_damaged() {
    let folder = filled(Log::Empty);
    let whole = fs::read(main_of(&folder)).unwrap();
    let mut dice = Dice::new();
    let noise: Vec<u8> = (0..whole.len()).map(|_| dice.below(256) as u8).collect();
    let header_only = [&whole[..100], &noise[100..]].concat();
    let all_zero = vec![0; whole.len()];
    for (what, bytes) in [
        ("noise", noise.as_slice()),
        ("text", b"sessions:\n  - one\n".as_slice()),
        ("noise after the header", &header_only),
        ("zeros", &all_zero),
    ] {
        let copy = copy_of(&folder);
        fs::write(main_of(&copy), bytes).unwrap();
        assert_damaged_and_left_alone(&copy, what);
    }
}

#[test]
fn a_page_of_garbage_is_told_when_it_is_met_and_left_alone() {
    let folder = filled(Log::Empty);
    let pages = fs::metadata(main_of(&folder)).unwrap().len() / 4096;
    for page in 1..pages {
        let copy = copy_of(&folder);
        let file = OpenOptions::new().write(true).open(main_of(&copy)).unwrap();
        file.write_all_at(&[0xa5; 4096], page * 4096).unwrap();
        let before = fs::read(main_of(&copy)).unwrap();
        let read = SqliteStore::open(copy.path()).and_then(|store| {
            store.journal(&journal("a"), 0, 1_000)?;
            store.list(Kind::Session, &Filter::newest(1_000)).map(drop)
        });
        // Damage to a page of a long value, or to an unused page, cannot be noticed. All other
        // damage is.
        match read {
            Ok(()) | Err(StoreError::Damaged { .. }) => {}
            Err(other) => panic!("page {page}: {other}"),
        }
        assert_eq!(fs::read(main_of(&copy)).unwrap(), before, "page {page}");
    }
}

#[test]
fn a_database_of_another_program_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let other = Connection::open(main_of(&folder)).unwrap();
    other.execute_batch("CREATE TABLE notes (text)").unwrap();
    drop(other);
    let before = fs::read(main_of(&folder)).unwrap();
    let error = SqliteStore::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(main_of(&folder)).unwrap(), before);
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let folder = filled(Log::Empty);
    let path = main_of(&folder);
    let newer = Connection::open(&path).unwrap();
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(newer);
    let before = fs::read(&path).unwrap();
    let error = SqliteStore::open(folder.path()).unwrap_err();
    assert_eq!(error, StoreError::Newer { found: 99, supported: 4 });
    assert_eq!(fs::read(path).unwrap(), before);
}

#[test]
fn a_log_of_garbage_is_damaged() {
    let folder = filled(Log::OfTheLastCommits);
    fs::write(log_of(&folder), "not a log, but more bytes than its header has").unwrap();
    assert_damaged_and_left_alone(&folder, "a log of garbage");
}

#[test]
fn a_log_without_its_file_is_damaged() {
    let folder = filled(Log::OfTheLastCommits);
    fs::remove_file(main_of(&folder)).unwrap();
    let before = fs::read(log_of(&folder)).unwrap();
    let error = SqliteStore::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(matches!(SqliteStore::find(folder.path()), Err(StoreError::Damaged { .. })));
    assert!(!main_of(&folder).exists());
    assert_eq!(fs::read(log_of(&folder)).unwrap(), before);
}

#[test]
fn a_log_that_was_cut_short_loses_only_the_newest_commits() {
    let folder = filled(Log::OfTheLastCommits);
    let whole = fs::metadata(log_of(&folder)).unwrap().len();
    let mut dice = Dice::new();
    let mut lengths = vec![0, 1, 31, 32, 33, 56, 4152, whole - 1];
    lengths.extend((0..10).map(|_| dice.below(whole)));
    lengths.sort_unstable();
    let mut kept = 0;
    for length in lengths {
        let copy = copy_of(&folder);
        OpenOptions::new().write(true).open(log_of(&copy)).unwrap().set_len(length).unwrap();
        let store = SqliteStore::open(copy.path()).unwrap();
        let last = check_prefix(&store);
        assert!(last > COMMITS / 2 && last <= COMMITS && last >= kept, "{last} with {length}");
        kept = last;
        append(&store, "a", last, &["and on".into()]);
        drop(store);
        let store = SqliteStore::open(copy.path()).unwrap();
        assert_eq!(values(&store, "a").last().unwrap(), "and on");
    }
    assert!(kept > COMMITS / 2 + 1, "{kept}");
}

#[test]
fn without_its_log_a_store_is_as_it_was_before_it() {
    let folder = filled(Log::OfTheLastCommits);
    fs::remove_file(log_of(&folder)).unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(check_prefix(&store), COMMITS / 2 + 1);
}

/// The losses of [`filled`] that a store reports when it is opened for the first time.
fn losses_told_once(folder: &TempDir) -> Vec<Loss> {
    let losses = SqliteStore::open(folder.path()).unwrap().take_losses();
    let again = SqliteStore::open(folder.path()).unwrap().take_losses();
    assert_eq!(again, [], "it was told already");
    losses
}

fn entries_lost(session: &str, had: u64, has: u64) -> Loss {
    let JournalKey { project, session } = journal(session);
    Loss::Entries { project, session, had, has }
}

#[test]
fn what_was_lost_with_the_log_is_told_once() {
    let folder = filled(Log::OfTheLastCommits);
    let store = SqliteStore::open(folder.path()).unwrap();
    append(&store, "new", 0, &["1".into(), "2".into()]);
    drop(store);
    fs::remove_file(log_of(&folder)).unwrap();
    let old = entries_lost("a", COMMITS, COMMITS / 2 + 1);
    assert_eq!(losses_told_once(&folder), [Loss::Records, old, entries_lost("new", 2, 0)]);
}

#[test]
fn what_was_lost_with_the_rest_of_a_garbled_log_is_told_once() {
    let folder = filled(Log::OfTheLastCommits);
    let log = OpenOptions::new().write(true).open(log_of(&folder)).unwrap();
    let middle = log.metadata().unwrap().len() / 2;
    log.write_all_at(&[0xa5; 4096], middle).unwrap();
    let losses = losses_told_once(&folder);
    let [Loss::Records, Loss::Entries { had: COMMITS, has, .. }] = losses[..] else {
        panic!("{losses:?}");
    };
    assert!(has > COMMITS / 2 && has < COMMITS, "{has}");
}

#[test]
fn a_store_that_lost_nothing_says_nothing() {
    let folder = filled(Log::OfTheLastCommits);
    for round in 0..3 {
        let store = SqliteStore::open(folder.path()).unwrap();
        assert_eq!(store.take_losses(), [], "{round}");
        let mut commit = Commit::unsynced();
        match round {
            // Deleting on purpose is not a loss.
            0 => commit.drop_journals = vec![journal("a")],
            1 => commit.durability = Durability::Synced,
            _ => drop(store.acquire("run", "me", None).unwrap()),
        }
        store.commit(&commit).unwrap();
        append(&store, &format!("another {round}"), 0, &["1".into()]);
        checkpoint(store.path());
        drop(store);
        fs::remove_file(log_of(&folder)).unwrap();
    }
    assert_eq!(SqliteStore::open(folder.path()).unwrap().take_losses(), []);
}

#[test]
fn notes_that_cannot_be_read_are_none() {
    let folder = filled(Log::OfTheLastCommits);
    fs::remove_file(log_of(&folder)).unwrap();
    let notes = folder.path().join("store.sqlite3-last");
    let mut bytes = fs::read(&notes).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::write(&notes, bytes).unwrap();
    assert_eq!(SqliteStore::open(folder.path()).unwrap().take_losses(), []);
}

#[test]
fn the_shared_memory_file_may_be_gone_or_garbage() {
    let folder = filled(Log::OfTheLastCommits);
    let shared = folder.path().join("store.sqlite3-shm");
    fs::write(&shared, vec![0xa5; 32 * 1024]).unwrap();
    assert_eq!(check_prefix(&SqliteStore::open(folder.path()).unwrap()), COMMITS);
    fs::remove_file(&shared).unwrap();
    assert_eq!(check_prefix(&SqliteStore::open(folder.path()).unwrap()), COMMITS);
}

#[test]
fn a_store_that_is_removed_or_replaced_while_in_use_takes_no_more_commits() {
    let Situation { folder, store } = Situation::new();
    append(&store, "a", 0, &["1".into()]);
    let gone = StoreError::Gone;
    fs::rename(main_of(&folder), folder.path().join("moved")).unwrap();
    assert_eq!(store.commit(&Commit::unsynced()).unwrap_err(), gone);
    assert_eq!(store.acquire("run", "me", None).unwrap_err(), gone);
    assert_eq!(store.last(&journal("a")).unwrap_err(), gone);
    fs::write(main_of(&folder), "another file").unwrap();
    assert_eq!(store.commit(&Commit::synced()).unwrap_err(), gone);
    fs::rename(folder.path().join("moved"), main_of(&folder)).unwrap();
    append(&store, "a", 1, &["2".into()]);
    assert_eq!(values(&store, "a"), ["1", "2"]);
}

#[test]
fn a_foreign_file_in_place_of_the_store_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(main_of(&folder)).unwrap();
    let error = SqliteStore::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for folder in [file.clone(), file.join("below")] {
        let error = SqliteStore::open(&folder).unwrap_err();
        assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");
    }
}

#[test]
fn reading_creates_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("state");
    assert!(SqliteStore::find(&inner).unwrap().is_none());
    assert!(!inner.exists());
    drop(SqliteStore::open(&inner).unwrap());
    assert!(SqliteStore::find(&inner).unwrap().is_some());
}

#[test]
fn a_new_store_is_for_its_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    let store = SqliteStore::open(&inner).unwrap();
    append(&store, "a", 0, &["1".into()]);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&folder.path().join("a")), mode(&inner)), (0o700, 0o700));
    for file in ["store.sqlite3", "store.sqlite3-wal", "store.sqlite3-shm"] {
        assert_eq!(mode(&inner.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_name_that_looks_like_an_address_is_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["file:x?mode=memory", "a b%20c#d", ":memory:"] {
        let store = SqliteStore::open(&folder.path().join(name)).unwrap();
        append(&store, "a", 0, &["1".into()]);
        assert!(folder.path().join(name).join("store.sqlite3").is_file(), "{name}");
    }
}

/// This program, where another user may execute it. `cp` makes the copy: a file that this process has
/// open for writing is busy while a process that another test starts has inherited it.
fn copied_binary(folder: &Path) -> PathBuf {
    let copy = folder.join("binary");
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&copy).status();
    assert!(copied.unwrap().success());
    copy
}

#[test]
fn what_may_not_be_written_is_told() {
    let folder = filled(Log::Empty);
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    // Root may write everywhere, so another user runs this, with a copy that it may execute.
    let is_root = rustix::process::geteuid().is_root();
    let binary = copied_binary(folder.path());
    let nobody = 65_534;
    if is_root {
        for file in ["store.sqlite3", "store.sqlite3-wal", "store.sqlite3-shm", "binary", ""] {
            std::os::unix::fs::chown(folder.path().join(file), Some(nobody), None).unwrap();
        }
    }
    let mut command = Command::new(&binary);
    if is_root {
        command.uid(nobody);
    }
    command.current_dir("/");
    let mut other = Actor::start_with(command, "damage::opens", folder.path());
    let main = main_of(&folder);
    let mut opened = || {
        other.say("open");
        other.hear().expect("it says how it went")
    };
    assert_eq!(opened(), "opened");
    mode(&main, 0o400);
    assert_eq!(opened(), "NotWritable");
    mode(&main, 0o000);
    assert_eq!(opened(), "NotWritable");
    mode(&main, 0o600);
    assert_eq!(opened(), "opened");
    for file in ["store.sqlite3-wal", "store.sqlite3-shm"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    mode(folder.path(), 0o500);
    assert_eq!(opened(), "NotWritable");
    mode(folder.path(), 0o700);
    assert_eq!(opened(), "opened");
    fs::remove_file(&main).unwrap();
    for file in ["store.sqlite3-wal", "store.sqlite3-shm"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    mode(folder.path(), 0o500);
    assert_eq!(opened(), "NotWritable");
    mode(folder.path(), 0o700);
    other.say("");
    other.end();
}

#[test]
fn what_may_not_be_written_can_be_read() {
    // A store in one file, one with commits in its log, and one that was not opened since.
    for (log, shared_memory) in
        [(Log::Empty, true), (Log::OfTheLastCommits, true), (Log::Empty, false)]
    {
        let folder = filled(log);
        if !shared_memory {
            for file in ["store.sqlite3-wal", "store.sqlite3-shm"] {
                fs::remove_file(folder.path().join(file)).unwrap();
            }
        }
        let binary = copied_binary(folder.path());
        let mut command = Command::new(&binary);
        command.current_dir("/");
        // Root may write everywhere, so another user runs this.
        if rustix::process::geteuid().is_root() {
            command.uid(65_534);
        }
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let mode = if path == binary { 0o555 } else { 0o444 };
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
        let mut other = Actor::start_with(command, "damage::reads", folder.path());
        let expected = format!("{COMMITS} entries, then NotWritable");
        assert_eq!(other.hear(), Some(expected), "{log:?}, shared memory: {shared_memory}");
        other.end();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
#[ignore = "a part that other tests start"]
fn reads() {
    let found = SqliteStore::find(&actor::folder()).map(|store| {
        let store = store.expect("it is there");
        let entries = values(&store, "a").len();
        let refused = match store.commit(&Commit::synced()) {
            Err(StoreError::NotWritable { .. }) => "NotWritable".to_owned(),
            other => format!("{other:?}"),
        };
        format!("{entries} entries, then {refused}")
    });
    tell(&found.unwrap_or_else(|error| format!("{error:?}")));
}

#[test]
#[ignore = "a part that other tests start"]
fn opens() {
    while listen() == "open" {
        let opened = SqliteStore::open(&actor::folder());
        match opened.and_then(|store| store.commit(&Commit::unsynced())) {
            Ok(_) => tell("opened"),
            Err(StoreError::NotWritable { .. }) => tell("NotWritable"),
            Err(other) => tell(&format!("{other:?}")),
        }
    }
}

fn main_of(folder: &TempDir) -> PathBuf {
    folder.path().join("store.sqlite3")
}

fn log_of(folder: &TempDir) -> PathBuf {
    folder.path().join("store.sqlite3-wal")
}

fn copy_of(folder: &TempDir) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in [main_of(folder), log_of(folder)] {
        fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
    }
    copy
}

fn assert_damaged_and_left_alone(folder: &TempDir, what: &str) {
    let files = || (fs::read(main_of(folder)).unwrap(), fs::read(log_of(folder)).unwrap());
    let before = files();
    for _ in 0..2 {
        let error = SqliteStore::open(folder.path()).expect_err(what);
        assert!(matches!(error, StoreError::Damaged { .. }), "{what}: {error:?}");
        assert!(log_of(folder).exists(), "{what}: {error:?}");
    }
    assert!(files() == before, "{what}: something was written");
}

/// The number of commits of [`filled`] that are there; they must be the first ones, and complete.
fn check_prefix(store: &SqliteStore) -> u64 {
    let all = values(store, "a");
    for (number, value) in all.iter().enumerate() {
        assert!(value.starts_with(&format!("{number} ")) && value.len() > 10_000);
    }
    let records = store.list(Kind::Session, &Filter::newest(100)).unwrap();
    // The record of a number is committed after its entry.
    assert!(records.len() == all.len() || records.len() + 1 == all.len());
    all.len() as u64
}
