//! Several processes with one store.

use std::path::Path;
use std::sync::Arc;

use hookwright_events::task::{TaskId, TaskState};
use hookwright_store::{
    Acquired, Append, ClaimedTask, Commit, Durability, Expected, Fence, KeptTasks, Kind, NewTask,
    Put, SqliteStore, Store, StoreError, TaskClaim,
};

use crate::actor::{self, Actor, listen, tell};
use crate::situation::{Situation, journal, key, put, texts, values};

const ACTORS: usize = 4;
const TURNS: usize = 50;

#[test]
fn processes_that_append_at_once_lose_nothing() {
    let situation = Situation::new();
    let told = at_once("processes::appends", situation.folder.path());
    assert_eq!(told.concat(), [""; 0]);
    let all = values(&situation.store, "shared");
    assert_eq!(all.len(), ACTORS * TURNS);
    for actor in 0..ACTORS {
        let own = all.iter().filter(|value| value.starts_with(&format!("{actor} ")));
        let expected: Vec<String> = (0..TURNS).map(|turn| format!("{actor} {turn}")).collect();
        assert_eq!(own.cloned().collect::<Vec<_>>(), expected);
    }
}

#[test]
#[ignore = "a part that other tests start"]
fn appends() {
    let (store, me) = (actor::store(), listen());
    for turn in 0..TURNS {
        let (journal, entries) = (journal("shared"), texts([&format!("{me} {turn}")]));
        let durability = if turn % 10 == 0 { Durability::Synced } else { Durability::Unsynced };
        let mut expected = store.last(&journal).unwrap();
        loop {
            let append = Append { journal: &journal, expected, entries: &entries };
            match store.commit(&Commit { durability, append: Some(append), ..Commit::synced() }) {
                Ok(committed) => break assert_eq!(committed.last, expected + 1),
                Err(StoreError::JournalConflict { found, .. }) => expected = found,
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn processes_that_change_one_record_at_once_lose_no_update() {
    let situation = Situation::new();
    at_once("processes::counts", situation.folder.path());
    let record = situation.store.get(Kind::Session, &key("counter")).unwrap().unwrap();
    assert_eq!(record.value, (ACTORS * TURNS).to_string());
}

#[test]
#[ignore = "a part that other tests start"]
fn counts() {
    let store = actor::store();
    listen();
    for _ in 0..TURNS {
        while !counted(&store) {}
    }
}

fn counted(store: &SqliteStore) -> bool {
    let there = store.get(Kind::Session, &key("counter")).unwrap();
    let count: usize = there.as_ref().map_or(0, |record| record.value.parse().unwrap());
    let expected = there.map_or(Expected::Absent, |record| Expected::Version(record.version));
    let put = put("counter", expected, &(count + 1).to_string());
    match store.commit(&Commit { puts: vec![put], ..Commit::unsynced() }) {
        Ok(_) => true,
        Err(StoreError::RecordConflict { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn of_processes_that_want_the_same_exactly_one_gets_it() {
    let situation = Situation::new();
    let told = at_once("processes::claims", situation.folder.path());
    let mut won: Vec<String> = told.concat();
    won.sort();
    let mut expected: Vec<String> =
        (0..TURNS).flat_map(|turn| [format!("lease {turn}"), format!("record {turn}")]).collect();
    expected.sort();
    assert_eq!(won, expected);
}

#[test]
#[ignore = "a part that other tests start"]
fn claims() {
    let (store, me) = (actor::store(), listen());
    for turn in 0..TURNS {
        let put = put(&turn.to_string(), Expected::Absent, &me);
        match store.commit(&Commit { puts: vec![put], ..Commit::unsynced() }) {
            Ok(_) => tell(&format!("record {turn}")),
            Err(StoreError::RecordConflict { found: Some(_), .. }) => {}
            Err(other) => panic!("{other}"),
        }
        match store.acquire(&format!("lease {turn}"), &me, None).unwrap() {
            Acquired::Granted { .. } => tell(&format!("lease {turn}")),
            Acquired::Held(held) => assert_ne!(held.holder, me),
        }
    }
}

#[test]
fn of_1000_tasks_100_processes_get_each_once_and_none_is_lost() {
    const TASKS: u64 = 1_000;
    const CLAIMERS: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks_of(SqliteStore::open(folder.path()).unwrap());
    let first = tasks.add(&NewTask::new("1"), 0).unwrap();
    let puts = (2..=TASKS).map(|number| {
        let mut kept = first.clone();
        (kept.task.id, kept.task.content) = (TaskId(number), number.to_string());
        // Every tenth waits for the one before it.
        if number % 10 == 0 {
            kept.task.depends_on = vec![TaskId(number - 1)];
        }
        Put { expected: Expected::Absent, ..tasks.put_for(&kept) }
    });
    let puts = puts.collect();
    tasks.store().commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
    let mut told = at_once_with(CLAIMERS, "processes::claims_tasks", folder.path()).concat();
    told.sort_unstable();
    let mut expected: Vec<String> = (1..=TASKS).map(|number| TaskId(number).to_string()).collect();
    expected.sort_unstable();
    assert_eq!(told, expected);
    let list = tasks.list(&[]).unwrap();
    assert_eq!(list.count(TaskState::Completed), list.tasks.len());
}

#[test]
#[ignore = "a part that other tests start"]
fn claims_tasks() {
    let (tasks, session) = (tasks_of(actor::store()), listen());
    let claim =
        TaskClaim { session: &session, fence: None, skip: &[], dead: &|_| Ok(None), now_ms: 0 };
    loop {
        match tasks.claim_next(&claim).unwrap() {
            Some(ClaimedTask { kept, .. }) => {
                tell(&kept.task.id.to_string());
                tasks.set_state(kept.task.id, TaskState::Completed, 0).unwrap();
            }
            // Some wait for tasks that other claimers have.
            None if tasks.list(&TaskState::UNFINISHED).unwrap().tasks.is_empty() => return,
            None => std::thread::yield_now(),
        }
    }
}

fn tasks_of(store: SqliteStore) -> KeptTasks {
    KeptTasks::new(Arc::new(store), "/projects/one")
}

#[test]
fn processes_that_make_the_store_at_once_get_the_same_one() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("not/there/yet");
        let told = at_once("processes::opens", &inner);
        assert_eq!(told.concat().len(), ACTORS);
        let store = SqliteStore::open(&inner).unwrap();
        let mut all = values(&store, "one");
        all.sort();
        assert_eq!(all, ["0", "1", "2", "3"]);
        assert_eq!(files_of(&inner), FILES);
    }
}

#[test]
#[ignore = "a part that other tests start"]
fn opens() {
    let me = listen();
    let store = actor::store();
    let (journal, entries) = (journal("one"), texts([&me]));
    let mut expected = 0;
    loop {
        let append = Append { journal: &journal, expected, entries: &entries };
        match store.commit(&Commit { append: Some(append), ..Commit::unsynced() }) {
            Ok(_) => return tell(&me),
            Err(StoreError::JournalConflict { found, .. }) => expected = found,
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_process_whose_lease_was_passed_on_can_write_no_more() {
    let situation = Situation::new();
    let store = &situation.store;
    let mut old = Actor::start("processes::holds", situation.folder.path());
    let token: u64 = old.hear().expect("it has the lease").parse().unwrap();
    old.say("write");
    assert_eq!(old.hear().as_deref(), Some("written"));

    let held = store.acquire("run", "new", None).unwrap();
    assert!(matches!(held, Acquired::Held(held) if held.token == token && held.holder == "old"));
    let Acquired::Granted { token: newer } = store.acquire("run", "new", Some(token)).unwrap()
    else {
        panic!("the old holder was named");
    };
    old.say("write");
    let fenced = StoreError::Fenced { lease: "run".into(), token, current: Some(newer) };
    assert_eq!(old.hear(), Some(format!("{fenced:?}")));
    old.say("release");
    assert_eq!(old.hear().as_deref(), Some("false"));
    old.say("");
    old.end();
    assert_eq!(values(store, "fenced"), ["old"]);
    assert_eq!(store.holder("run").unwrap().unwrap().token, newer);
}

#[test]
#[ignore = "a part that other tests start"]
fn holds() {
    let store = actor::store();
    let Acquired::Granted { token } = store.acquire("run", "old", None).unwrap() else {
        panic!("no other process wants it yet");
    };
    tell(&token.to_string());
    let fence = Fence { lease: "run".into(), token };
    let (journal, entries) = (journal("fenced"), texts(["old"]));
    let mut expected = 0;
    loop {
        match listen().as_str() {
            "write" => {
                let append = Append { journal: &journal, expected, entries: &entries };
                let commit =
                    Commit { fence: Some(&fence), append: Some(append), ..Commit::unsynced() };
                match store.commit(&commit) {
                    Ok(committed) => {
                        expected = committed.last;
                        tell("written");
                    }
                    Err(error) => tell(&format!("{error:?}")),
                }
            }
            "release" => tell(&store.release("run", token).unwrap().to_string()),
            _ => return,
        }
    }
}

#[test]
fn a_reader_in_the_middle_of_a_list_keeps_no_writer_waiting() {
    let situation = Situation::new();
    let puts: Vec<Put> =
        (0..100).map(|number| put(&number.to_string(), Expected::Absent, "1")).collect();
    situation.store.commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
    // The slowest possible reader: it has begun, and continues when the writer is done.
    let slow = rusqlite::Connection::open(situation.store.path()).unwrap();
    let mut statement = slow.prepare("SELECT name FROM records").unwrap();
    let mut rows = statement.query([]).unwrap();
    rows.next().unwrap().expect("a row");
    let mut writer = Actor::start("processes::appends", situation.folder.path());
    writer.say("0");
    writer.end();
    let mut seen = 1;
    while rows.next().unwrap().is_some() {
        seen += 1;
    }
    assert_eq!((seen, values(&situation.store, "shared").len()), (100, TURNS));
}

/// Starts all of them, lets them run together, and returns what each printed.
fn at_once(part: &str, folder: &Path) -> Vec<Vec<String>> {
    at_once_with(ACTORS, part, folder)
}

/// The same for this many.
fn at_once_with(count: usize, part: &str, folder: &Path) -> Vec<Vec<String>> {
    let mut actors: Vec<Actor> = (0..count).map(|_| Actor::start(part, folder)).collect();
    for (number, actor) in actors.iter_mut().enumerate() {
        actor.say(&number.to_string());
    }
    actors.into_iter().map(Actor::end).collect()
}

/// The files of a store that is in use.
pub(crate) const FILES: [&str; 4] =
    ["store.sqlite3", "store.sqlite3-last", "store.sqlite3-shm", "store.sqlite3-wal"];

pub(crate) fn files_of(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
