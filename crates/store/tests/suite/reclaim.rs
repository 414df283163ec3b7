//! A store's file shrinks after a prune, even if other processes use the store or a prune is
//! killed.

use std::fs;

use hookwright_store::{Commit, Rewrite, SqliteStore, Store};
use rusqlite::Connection;

use crate::actor::{self, Actor, tell};
use crate::crashes::{Dice, wait};
use crate::situation::{Situation, append, journal, values};

const KILLS: usize = 25;

/// A journal of about this many bytes.
fn fill(store: &SqliteStore, session: &str, bytes: usize) {
    let values = vec!["x".repeat(1_000); 100];
    for number in 0..bytes as u64 / 100_000 {
        append(store, session, number * 100, &values);
    }
}

fn forget(store: &SqliteStore, session: &str) {
    store.commit(&Commit { drop_journals: vec![journal(session)], ..Commit::unsynced() }).unwrap();
}

#[test]
fn a_file_shrinks_once_what_was_in_it_is_forgotten() {
    let Situation { folder: _folder, store } = Situation::new();
    append(&store, "kept", 0, &["1".into()]);
    fill(&store, "large", 20_000_000);
    append(&store, "kept", 1, &["2".into()]);
    let bytes = || fs::metadata(store.path()).unwrap().len();
    assert!(bytes() > 15_000_000, "{}", bytes());
    forget(&store, "large");
    let reclaimed = store.reclaim(Rewrite::IfQuick).unwrap();
    assert_eq!((reclaimed.entries, reclaimed.bytes_left), (20_000, 0));
    assert!(reclaimed.bytes > 15_000_000, "{reclaimed:?}");
    assert!(bytes() < 200_000, "{}", bytes());
    assert_eq!(values(&store, "kept"), ["1", "2"]);
    assert_eq!(store.reclaim(Rewrite::Always).unwrap(), Default::default());
}

#[test]
fn a_reclaim_that_was_killed_is_finished_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let (mut dice, mut interrupted) = (Dice::new(), 0);
    append(&store, "kept", 0, &["1".into()]);
    for number in 0..KILLS {
        fill(&store, "large", 3_000_000);
        forget(&store, "large");
        let mut other = Actor::start("reclaim::reclaims", folder.path());
        other.hear().expect("it is about to");
        wait(dice.below(40_000));
        interrupted += usize::from(other.kill().is_empty());
        append(&store, "kept", number as u64 + 1, &["more".into()]);
        let found: String = Connection::open(store.path())
            .unwrap()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(found, "ok", "{dice:?}");
    }
    assert!(interrupted > 0, "each of them was done before it was killed, {dice:?}");
    store.reclaim(Rewrite::IfQuick).unwrap();
    let bytes = fs::metadata(store.path()).unwrap().len();
    assert!(bytes < 300_000, "{bytes}, {dice:?}");
    assert_eq!(values(&store, "kept").len(), KILLS + 1);
}

#[test]
#[ignore = "a part that other tests start"]
fn reclaims() {
    let store = actor::store();
    tell("now");
    store.reclaim(Rewrite::IfQuick).unwrap();
    tell("done");
    actor::listen();
}
