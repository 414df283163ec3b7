//! `kill -9` in the middle of many commits. Acknowledged commits are there, and none is half done.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use hookwright_store::{
    Append, Commit, Delete, Durability, Expected, Filter, Kind, SqliteStore, Store,
};
use tempfile::TempDir;

use crate::actor::{self, Actor, tell};
use crate::processes::{FILES, files_of};
use crate::situation::{append, journal, key, put, values};

const KILLS: usize = 60;
const KILLS_WHILE_MADE: usize = 20;

#[test]
fn every_acknowledged_commit_survives_a_kill_and_none_is_half() {
    let folder = tempfile::tempdir().unwrap();
    let (mut dice, mut known) = (Dice::new(), 0);
    for _ in 0..KILLS {
        let acknowledged = killed_writer(&folder, &mut dice);
        // Opened again each time, so that the log is read again.
        let store = SqliteStore::open(folder.path()).unwrap();
        known = check(&store, known, acknowledged, &dice);
        assert_eq!(store.take_losses(), [], "with {dice:?}");
    }
    assert!(known > 0, "every writer died before its first commit, with {dice:?}");
}

#[test]
fn a_process_goes_on_while_others_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let (mut dice, mut known) = (Dice::new(), 0);
    for number in 0..KILLS {
        let acknowledged = killed_writer(&folder, &mut dice);
        known = check(&store, known, acknowledged, &dice);
        append(&store, "survivor", number as u64, &[number.to_string()]);
    }
    assert_eq!(values(&store, "survivor").len(), KILLS);
    assert!(known > 0, "every writer died before its first commit, with {dice:?}");
}

#[test]
fn a_kill_while_the_store_is_made_leaves_none_or_a_whole_one() {
    let mut dice = Dice::new();
    for _ in 0..KILLS_WHILE_MADE {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("state");
        let mut maker = Actor::start("crashes::makes", &inner);
        maker.hear().expect("it is about to");
        wait(dice.below(20_000));
        maker.kill();
        let store = SqliteStore::open(&inner).unwrap_or_else(|error| panic!("{error}, {dice:?}"));
        append(&store, "a", 0, &["1".into()]);
        assert_eq!(files_of(&inner), FILES);
    }
}

#[test]
#[ignore = "a part that other tests start"]
fn makes() {
    tell("now");
    actor::store();
    tell("done");
    actor::listen();
}

/// Writes until it is killed. Each commit has one to four entries that contain their number, a
/// record that says where the journal ends, and the only record of its turn.
#[test]
#[ignore = "a part that other tests start"]
fn writes() {
    let (store, journal, mut dice) = (actor::store(), journal("killed"), Dice::new());
    let mut last = store.last(&journal).unwrap();
    loop {
        let (first, count) = (last + 1, 1 + dice.below(4));
        let filler = "x".repeat(dice.below(6_000) as usize);
        let entries: Vec<String> =
            (0..count).map(|_| format!("{first} {count} {filler}")).collect();
        let turn = |end: u64| format!("turn-{end}");
        let delete = Delete { kind: Kind::Session, key: key(&turn(last)), expected: Expected::Any };
        last += count;
        let commit = Commit {
            durability: if dice.below(8) == 0 { Durability::Synced } else { Durability::Unsynced },
            append: Some(Append { journal: &journal, expected: first - 1, entries: &entries }),
            deletes: vec![delete],
            puts: vec![
                put("end", Expected::Any, &last.to_string()),
                put(&turn(last), Expected::Absent, &filler),
            ],
            ..Commit::unsynced()
        };
        assert_eq!(store.commit(&commit).unwrap().last, last);
        tell(&last.to_string());
    }
}

/// Starts a writer, kills it some time after some commit, and returns the last number it printed.
fn killed_writer(folder: &TempDir, dice: &mut Dice) -> u64 {
    let mut writer = Actor::start("crashes::writes", folder.path());
    let (mut told, waits) = (0, dice.below(60));
    for _ in 0..waits {
        told = writer.hear().expect("it writes for ever").parse().unwrap();
    }
    // Without a commit to wait for, the writer is still opening the store.
    wait(dice.below(if waits == 0 { 10_000 } else { 1_000 }));
    writer.kill().last().map_or(told, |line| line.parse().unwrap())
}

/// Checks everything after `known`, and returns the new end.
fn check(store: &SqliteStore, known: u64, acknowledged: u64, dice: &Dice) -> u64 {
    let journal = journal("killed");
    let last = store.last(&journal).unwrap();
    assert!(last >= acknowledged.max(known), "{last} < {acknowledged} or {known}, {dice:?}");
    let mut sequence = known;
    while sequence < last {
        let page = store.journal(&journal, sequence, 4).unwrap();
        let mut words = page[0].value.split(' ');
        let first: u64 = words.next().unwrap().parse().unwrap();
        let count: usize = words.next().unwrap().parse().unwrap();
        assert_eq!(first, sequence + 1, "{dice:?}");
        assert!(page.len() >= count, "half a commit at {first}, {dice:?}");
        for (number, entry) in (first..).zip(&page[..count]) {
            assert_eq!((entry.sequence, &entry.value), (number, &page[0].value), "{dice:?}");
        }
        sequence += count as u64;
    }
    assert_eq!(sequence, last, "{dice:?}");
    let records = store.list(Kind::Session, &Filter::newest(10)).unwrap();
    if last > 0 {
        let mut found: Vec<(&str, &str)> = records
            .iter()
            .map(|record| (record.key.name.as_str(), record.value.trim_matches('x')))
            .collect();
        found.sort_unstable();
        let (end, turn) = (last.to_string(), format!("turn-{last}"));
        assert_eq!(found, [("end", end.as_str()), (turn.as_str(), "")], "{dice:?}");
    }
    last
}

/// Busy-waits for a random time that is too short for the scheduler.
pub(crate) fn wait(microseconds: u64) {
    let since = Instant::now();
    while since.elapsed() < Duration::from_micros(microseconds) {
        std::hint::spin_loop();
    }
}

/// Random numbers with a seed that a failing test prints.
#[derive(Debug)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) fn new() -> Self {
        Self { state: RandomState::new().hash_one("dice") | 1 }
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % bound
    }
}
