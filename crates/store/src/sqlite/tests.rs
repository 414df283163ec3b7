//! Tests that need the inside: migration, the length of the log, a full database.

use rusqlite::Connection;
use tempfile::TempDir;

use super::schema::{migrate, version};
use super::*;
use crate::{Append, Expected, Put};

fn store() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    (folder, store)
}

fn journal() -> JournalKey {
    JournalKey { project: "/one".into(), session: "a".into() }
}

fn append(store: &SqliteStore, expected: u64, value: &str) -> Result<Committed, StoreError> {
    let (journal, entries) = (journal(), [value.to_owned()]);
    let append = Append { journal: &journal, expected, entries: &entries };
    store.commit(&Commit { append: Some(append), ..Commit::unsynced() })
}

const OLD: &[&str] = &["CREATE TABLE notes (text)"];
const NEW: &[&str] = &[
    OLD[0],
    "ALTER TABLE notes ADD COLUMN stars INTEGER NOT NULL DEFAULT 3",
    "CREATE TABLE more (id); INSERT INTO more SELECT count(*) FROM notes",
];

fn is_done(done: Result<(), SqliteFailure>) -> bool {
    done.is_ok()
}

#[test]
fn an_older_file_is_taken_to_the_newest_version_step_by_step() {
    let mut connection = Connection::open_in_memory().unwrap();
    assert!(is_done(migrate(&mut connection, OLD)));
    connection.execute_batch("INSERT INTO notes VALUES ('kept')").unwrap();
    assert_eq!(version(&connection).unwrap(), 1);
    // The second time there is nothing to do.
    for _ in 0..2 {
        assert!(is_done(migrate(&mut connection, NEW)));
        assert_eq!(version(&connection).unwrap(), 3);
    }
    let kept: (String, i64, i64) = connection
        .query_row("SELECT text, stars, id FROM notes, more", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(kept, ("kept".into(), 3, 1));
}

#[test]
fn a_migration_that_fails_leaves_the_old_version_whole() {
    let mut connection = Connection::open_in_memory().unwrap();
    assert!(is_done(migrate(&mut connection, OLD)));
    let broken = [NEW[0], NEW[1], "CREATE TABLE notes (twice)"];
    assert!(!is_done(migrate(&mut connection, &broken)));
    assert_eq!(version(&connection).unwrap(), 1);
    assert!(connection.prepare("SELECT stars FROM notes").is_err());
    assert!(is_done(migrate(&mut connection, NEW)));
}

#[test]
fn a_new_file_has_the_version_of_all_steps() {
    let (_folder, store) = store();
    let writer = store.writer.lock().unwrap();
    assert_eq!(version(&writer.connection).unwrap(), schema::supported(schema::STEPS));
}

#[test]
fn tasks_and_issues_of_the_first_version_get_their_places_in_the_queue() {
    let mut connection = Connection::open_in_memory().unwrap();
    assert!(is_done(migrate(&mut connection, &schema::STEPS[..1])));
    let task = r#"{"id": "TAS-12", "priority": 3, "depends_on": [], "session": "calm-fox"}"#;
    let issue = r#"{"folder": "a/issues", "number": 7, "session": "calm-fox"}"#;
    let rows = [
        ("task", "TAS-12", "open", task),
        ("task", "TAS-13", "in_progress", task),
        ("task", "TAS-14", "in_progress", r#"{"priority": 0}"#),
        ("task", "TAS-15", "completed", task),
        ("task", "TAS-16", "open", "no JSON"),
        ("task", "list", "list", "17"),
        ("task", "TAS-17", "open", r#"{"priority": 2, "depends_on": ["TAS-12", "TAS-13"]}"#),
        ("issue", "a/issues/7", "open", issue),
        ("issue", "a/issues/8", "active", issue),
        ("issue", "a/issues/9", "done", issue),
        ("session", "calm-fox", "active", "{}"),
    ];
    for (version, (kind, name, status, value)) in (1..).zip(rows) {
        let insert = "INSERT INTO records (kind, project, name, version, created_at, status, value)
            VALUES (?1, '/p', ?2, ?3, 0, ?4, ?5)";
        let version: i64 = version;
        connection.execute(insert, (kind, name, version, status, value)).unwrap();
    }
    assert!(is_done(migrate(&mut connection, schema::STEPS)));
    let mut placed = connection
        .prepare("SELECT name, lane, rank FROM records WHERE lane IS NOT NULL ORDER BY id")
        .unwrap();
    let placed: Vec<(String, String, i64)> = placed
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let waits = |name: &str| -> Option<String> {
        let sql = "SELECT waits_for FROM records WHERE name = ?1";
        connection.query_row(sql, [name], |row| row.get(0)).unwrap()
    };
    assert_eq!(waits("TAS-17").as_deref(), Some(r#"["TAS-12","TAS-13"]"#));
    assert_eq!(waits("TAS-12"), None);
    let place = |name: &str, lane: &str, rank: i64| (name.to_owned(), lane.to_owned(), rank);
    let expected = [
        place("TAS-12", "open/", (3 << 56) + 12),
        place("TAS-13", "by/calm-fox/", (3 << 56) + 13),
        place("TAS-17", "open/", (2 << 56) + 17),
        place("a/issues/7", "open/a/issues//", 7),
        place("a/issues/8", "by/a/issues//calm-fox/", 7),
    ];
    assert_eq!(placed, expected);
}

#[test]
fn the_log_does_not_grow_for_ever() {
    let (_folder, store) = store();
    let value = "x".repeat(4_000);
    for expected in 0..2_000 {
        append(&store, expected, &value).unwrap();
        let pages = store.writer.lock().unwrap().log_pages();
        // One commit may exceed the limit, and shortens the log again.
        assert!(pages < limits::LOG_PAGES + 10, "{pages}");
    }
    let log = std::fs::metadata(&store.files.log).unwrap().len();
    assert!(log <= limits::LOG_FILE_BYTES_MAX, "{log}");
}

#[test]
fn a_log_that_a_large_commit_has_stretched_is_cut_again() {
    let (_folder, store) = store();
    append(&store, 0, &"x".repeat(limits::VALUE_BYTES_MAX)).unwrap();
    let log = || std::fs::metadata(&store.files.log).unwrap().len();
    assert!(log() > limits::LOG_FILE_BYTES_MAX);
    append(&store, 1, "small").unwrap();
    assert!(log() <= limits::LOG_FILE_BYTES_MAX, "{}", log());
}

#[test]
fn a_reader_that_stays_makes_the_log_long_but_not_every_commit_slow() {
    let (_folder, store) = store();
    let value = "x".repeat(4_000);
    append(&store, 0, &value).unwrap();
    let reader = Connection::open(&store.files.main).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM entries").unwrap();
    for expected in 1..1_000 {
        append(&store, expected, &value).unwrap();
        let writer = store.writer.lock().unwrap();
        assert!(writer.shorten_at() > writer.log_pages(), "the next commit would try again");
    }
    assert!(store.writer.lock().unwrap().log_pages() > 2 * limits::LOG_PAGES);
    // Once the reader is gone, the next attempt shortens the log.
    reader.execute_batch("COMMIT").unwrap();
    let mut expected = 1_000;
    while store.writer.lock().unwrap().log_pages() >= limits::LOG_PAGES {
        append(&store, expected, &value).unwrap();
        expected += 1;
        assert!(expected < 2_000, "the log stays long");
    }
}

#[test]
fn a_log_at_its_bound_waits_for_readers_but_not_for_ever() {
    let (_folder, store) = store();
    append(&store, 0, "1").unwrap();
    let reader = Connection::open(&store.files.main).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM entries").unwrap();
    let large = "x".repeat(limits::VALUE_BYTES_MAX);
    let mut last = 1;
    while store.writer.lock().unwrap().log_pages() < limits::LOG_PAGES_MAX {
        last = append(&store, last, &large).unwrap().last;
    }
    reader.execute_batch("COMMIT").unwrap();
    last = append(&store, last, &large).unwrap().last;
    append(&store, last, "small").unwrap();
    assert!(store.writer.lock().unwrap().log_pages() < limits::LOG_PAGES);
    assert!(std::fs::metadata(&store.files.log).unwrap().len() <= limits::LOG_FILE_BYTES_MAX);
}

#[test]
fn a_database_without_room_is_full_and_works_again_after_it() {
    let (_folder, store) = store();
    append(&store, 0, "1").unwrap();
    let limit = |pages: u32| {
        let writer = store.writer.lock().unwrap();
        writer.connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
    };
    limit(30).unwrap();
    let large = "x".repeat(200_000);
    let full = append(&store, 1, &large).unwrap_err();
    assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
    let key = RecordKey { project: "/one".into(), name: "a".into() };
    let (kind, expected, status) = (Kind::Task, Expected::Any, "open".into());
    let put = Put {
        kind,
        key,
        expected,
        value: large.clone(),
        created_at_ms: 0,
        status,
        queued: None,
        moves: None,
    };
    let full = store.commit(&Commit { puts: vec![put], ..Commit::synced() }).unwrap_err();
    assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
    assert_eq!(store.last(&journal()).unwrap(), 1);
    limit(1_000_000).unwrap();
    assert_eq!(append(&store, 1, &large).unwrap().last, 2);
}

#[test]
fn a_file_that_ends_in_the_middle_of_a_checkpoint_is_whole_with_its_log() {
    let (folder, store) = store();
    for expected in 0..20 {
        append(&store, expected, &"x".repeat(3_000)).unwrap();
    }
    drop(store);
    let (main, log) =
        (folder.path().join("store.sqlite3"), folder.path().join("store.sqlite3-wal"));
    let (short, kept_log) = (std::fs::read(&main).unwrap(), std::fs::read(&log).unwrap());
    let connection = Connection::open(&main).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    // The first pages are new, the file has not grown yet, and the log is unchanged.
    let whole = std::fs::read(&main).unwrap();
    assert!(whole.len() > short.len());
    std::fs::write(&main, &whole[..short.len()]).unwrap();
    std::fs::write(&log, kept_log).unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.journal(&journal(), 0, 100).unwrap().len(), 20);
}

/// How many entries the store has, including those of dropped journals.
fn entries_there(store: &SqliteStore) -> usize {
    let writer = store.writer.lock().unwrap();
    writer.connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).unwrap()
}

fn forget_journal(store: &SqliteStore) {
    store.commit(&Commit { drop_journals: vec![journal()], ..Commit::unsynced() }).unwrap();
}

#[test]
fn entries_of_a_forgotten_journal_are_deleted_some_at_a_time() {
    let at_once = limits::ENTRIES_RECLAIMED_AT_ONCE;
    let (_folder, store) = store();
    let entries = vec!["x".to_owned(); at_once * 2 + 5];
    let journal = journal();
    let append = Append { journal: &journal, expected: 0, entries: &entries };
    store.commit(&Commit { append: Some(append), ..Commit::unsynced() }).unwrap();
    forget_journal(&store);
    assert_eq!(store.last(&journal).unwrap(), 0);
    let some = || store.write(reclaim::delete_some).unwrap();
    assert_eq!(some(), at_once as u64);
    assert_eq!(entries_there(&store), at_once + 5);
    // The name can be used again meanwhile, and its new entries are not taken for the old ones.
    append_one(&store, "new");
    assert_eq!([some(), some(), some()], [at_once as u64, 5, 0]);
    assert_eq!(store.journal(&journal, 0, 10).unwrap()[0].value, "new");
    assert_eq!(entries_there(&store), 1);
}

fn append_one(store: &SqliteStore, value: &str) {
    let last = store.last(&journal()).unwrap();
    append(store, last, value).unwrap();
}

#[test]
fn large_entries_of_a_forgotten_journal_are_deleted_one_by_one() {
    let (_folder, store) = store();
    for _ in 0..3 {
        append_one(&store, &"x".repeat(limits::VALUE_BYTES_MAX / 2));
    }
    forget_journal(&store);
    let some = || store.write(reclaim::delete_some).unwrap();
    assert_eq!([some(), some(), some(), some()], [1, 1, 1, 0]);
}

/// A store of the version before free pages could be given back.
fn old_store() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = Connection::open(folder.path().join("store.sqlite3")).unwrap();
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID).unwrap();
    assert!(is_done(migrate(&mut connection, &schema::STEPS[..2])));
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    folder
}

#[test]
fn a_file_of_an_older_version_is_written_anew_while_others_use_it() {
    let folder = old_store();
    let store = SqliteStore::open(folder.path()).unwrap();
    let other = SqliteStore::open(folder.path()).unwrap();
    let kept = JournalKey { project: "/one".into(), session: "kept".into() };
    let entries = vec!["kept".to_owned(); 10];
    let expected = 0;
    let append = Append { journal: &kept, expected, entries: &entries };
    other.commit(&Commit { append: Some(append), ..Commit::unsynced() }).unwrap();
    for _ in 0..200 {
        append_one(&store, &"x".repeat(10_000));
    }
    // A reader that began before the file is rewritten.
    let reader = Connection::open(&store.files.main).unwrap();
    let begun = "BEGIN; SELECT count(*) FROM entries";
    reader.execute_batch(begun).unwrap();
    forget_journal(&store);
    let reclaimed = store.reclaim(Rewrite::IfQuick).unwrap();
    assert_eq!((reclaimed.entries, reclaimed.bytes_left), (200, 0));
    assert!(reclaimed.bytes > 1_500_000, "{reclaimed:?}");
    let seen: u64 = reader.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).unwrap();
    assert_eq!(seen, 210, "the reader sees what was there when it began");
    reader.execute_batch("COMMIT").unwrap();
    let append = Append { journal: &kept, expected: 10, entries: &entries };
    other.commit(&Commit { append: Some(append), ..Commit::synced() }).unwrap();
    // No reader needs the old state any more, so the file is cut. Later cuts do not rewrite it.
    for _ in 0..200 {
        append_one(&store, &"x".repeat(10_000));
    }
    forget_journal(&store);
    store.reclaim(Rewrite::IfQuick).unwrap();
    let bytes = std::fs::metadata(&store.files.main).unwrap().len();
    assert!(bytes < 200_000, "{bytes}");
    let whole = |pragma: &str| -> String {
        reader
            .query_row(&format!("PRAGMA {pragma}"), [], |row| {
                row.get::<_, rusqlite::types::Value>(0)
            })
            .map(|value| format!("{value:?}"))
            .unwrap()
    };
    assert_eq!(whole("integrity_check"), "Text(\"ok\")");
    assert_eq!(whole("auto_vacuum"), "Integer(2)");
    assert_eq!(other.journal(&kept, 0, 100).unwrap().len(), 20);
    drop((store, other));
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.take_losses(), []);
    assert_eq!(store.journal(&kept, 0, 100).unwrap().len(), 20);
}

#[test]
fn a_large_file_of_an_older_version_is_written_anew_only_when_asked_for() {
    let pages =
        |all: u64, free: u64| reclaim::Pages { all, free, bytes_each: 4096, auto_vacuum: 0 };
    let most = limits::REWRITE_BYTES_MAX / 4096;
    for (pages, is_quick) in [
        (pages(most + 10_000_000, 10_000_000), true),
        (pages(most + 10_000_001, 10_000_000), false),
        (pages(1_000, 250), true),
        (pages(1_000, 249), false),
    ] {
        assert_eq!(pages.is_worth_rewriting(Rewrite::IfQuick), is_quick, "{pages:?}");
        assert!(pages.is_worth_rewriting(Rewrite::Always));
    }
    // If too little is free, it stays in the file.
    let folder = old_store();
    let store = SqliteStore::open(folder.path()).unwrap();
    for _ in 0..10 {
        append_one(&store, &"x".repeat(100_000));
    }
    forget_journal(&store);
    append_one(&store, &"x".repeat(4_000_000));
    let reclaimed = store.reclaim(Rewrite::IfQuick).unwrap();
    assert_eq!((reclaimed.entries, reclaimed.bytes), (10, 0));
    assert!(reclaimed.bytes_left > 900_000, "{reclaimed:?}");
}
