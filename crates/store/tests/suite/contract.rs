//! Rules that every store keeps. Each is a function of a store, and runs for every store.

mod claims;

use claims::*;
use hookwright_store::{
    Acquired, Append, Commit, Committed, Delete, Entry, Expected, Fence, Filter, Held, Kind, Put,
    Record, RecordKey, RecordPosition, Store, StoreError, entries, limits, records,
};

use crate::situation::{append, journal, key, put, texts, values};

macro_rules! every_store_keeps {
    ($($rule:ident,)*) => {
        mod memory {
            $(#[test]
            fn $rule() {
                super::$rule(&hookwright_store::SqliteStore::in_memory().expect("memory"));
            })*
        }

        mod sqlite {
            $(#[test]
            fn $rule() {
                super::$rule(&crate::situation::Situation::new().store);
            })*
        }

        mod postgres {
            $(#[test]
            fn $rule() {
                super::$rule(&crate::situation::postgres());
            })*
        }

        /// Behind a pooler in transaction mode.
        mod pooled {
            $(#[test]
            fn $rule() {
                super::$rule(&crate::situation::pooled());
            })*
        }
    };
}

every_store_keeps! {
    a_journal_keeps_its_entries_in_order_and_numbers_them_from_1,
    journals_do_not_mix,
    an_append_after_another_number_conflicts_and_changes_nothing,
    an_append_without_entries_only_checks,
    a_journal_is_read_in_pages,
    a_page_of_large_entries_ends_early_and_never_stays_empty,
    a_journal_can_be_dropped_and_begun_anew_in_one_commit,
    a_record_is_kept_with_a_version_that_goes_up,
    a_record_keeps_its_place_when_it_changes,
    kinds_and_projects_do_not_mix,
    a_put_that_expects_something_else_conflicts,
    a_delete_that_expects_something_else_conflicts,
    a_record_made_anew_is_another_one,
    the_parts_of_a_commit_happen_in_order,
    a_commit_that_fails_at_its_end_has_changed_nothing,
    lists_are_newest_first_and_then_last_made_first,
    lists_are_filtered,
    a_prefix_is_taken_literally,
    a_list_goes_on_where_the_page_before_ended,
    a_lease_has_one_holder_and_tokens_go_up,
    a_lease_is_taken_over_only_from_the_holder_that_was_found_dead,
    a_lease_is_given_back_only_by_its_holder,
    a_commit_behind_a_fence_fails_once_the_lease_was_passed_on,
    a_commit_with_a_free_lease_fails,
    a_commit_can_release_its_own_lease,
    what_is_too_large_is_refused_before_anything_happens,
    text_of_any_kind_comes_back_as_it_was,
    an_empty_commit_is_no_error,
    its_time_goes_on,
    a_reader_sees_whether_something_was_committed,
    threads_append_without_losing_anything,
    a_claim_takes_the_first_record_of_all_its_lanes,
    a_claim_writes_status_lane_and_note_and_keeps_the_value,
    the_next_put_removes_the_note_of_a_claim,
    a_claim_passes_over_what_waits_for_a_record_that_is_not_done,
    a_claim_moves_what_waits_to_the_lane_of_what_it_waits_for,
    a_claim_passes_over_what_needs_more_than_is_offered,
    a_claim_passes_over_the_names_to_skip,
    a_claim_takes_the_lease_of_its_record,
    a_claim_behind_a_fence_fails_once_the_lease_was_passed_on,
    a_lane_is_claimed_from_only_while_its_lease_is_as_it_was_found,
    a_claim_that_is_too_large_is_refused,
    threads_that_claim_at_once_get_each_record_once,
}

fn a_journal_keeps_its_entries_in_order_and_numbers_them_from_1(store: &dyn Store) {
    assert_eq!(store.last(&journal("a")).unwrap(), 0);
    assert_eq!(append(store, "a", 0, &texts(["1", "2"])), 2);
    assert_eq!(append(store, "a", 2, &texts(["3"])), 3);
    let entry = |sequence: u64| Entry { sequence, value: sequence.to_string() };
    assert_eq!(store.journal(&journal("a"), 0, 10).unwrap(), [entry(1), entry(2), entry(3)]);
    assert_eq!(store.last(&journal("a")).unwrap(), 3);
}

fn journals_do_not_mix(store: &dyn Store) {
    append(store, "a", 0, &texts(["1", "2"]));
    append(store, "b", 0, &texts(["3"]));
    append(store, "a", 2, &texts(["4"]));
    let elsewhere = hookwright_store::JournalKey { project: "/two".into(), session: "a".into() };
    assert_eq!(values(store, "a"), ["1", "2", "4"]);
    assert_eq!(values(store, "b"), ["3"]);
    assert_eq!(store.last(&elsewhere).unwrap(), 0);
    assert_eq!(store.journal(&elsewhere, 0, 10).unwrap(), []);
}

fn an_append_after_another_number_conflicts_and_changes_nothing(store: &dyn Store) {
    append(store, "a", 0, &texts(["1", "2"]));
    for expected in [0, 1, 3, u64::from(u32::MAX) + 3, u64::MAX] {
        let journal = journal("a");
        let entries = texts(["x"]);
        let append = Append { journal: &journal, expected, entries: &entries };
        let commit = Commit { append: Some(append), ..Commit::synced() };
        let found = store.commit(&commit).unwrap_err();
        assert_eq!(found, StoreError::JournalConflict { journal, expected, found: 2 });
    }
    assert_eq!(values(store, "a"), ["1", "2"]);
}

fn an_append_without_entries_only_checks(store: &dyn Store) {
    assert_eq!(append(store, "a", 0, &[]), 0);
    append(store, "a", 0, &texts(["1"]));
    assert_eq!(append(store, "a", 1, &[]), 1);
    let (journal, none) = (journal("a"), []);
    let append = Append { journal: &journal, expected: 0, entries: &none };
    let commit = Commit { append: Some(append), ..Commit::unsynced() };
    assert!(matches!(store.commit(&commit), Err(StoreError::JournalConflict { found: 1, .. })));
}

fn a_journal_is_read_in_pages(store: &dyn Store) {
    let all: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    append(store, "a", 0, &all);
    let page = |after, limit| -> Vec<u64> {
        let page = store.journal(&journal("a"), after, limit).unwrap();
        page.into_iter().map(|entry| entry.sequence).collect()
    };
    assert_eq!(page(0, 4), [1, 2, 3, 4]);
    assert_eq!(page(4, 4), [5, 6, 7, 8]);
    assert_eq!(page(8, 4), [9, 10]);
    assert_eq!(page(8, usize::MAX), [9, 10]);
    assert_eq!(page(10, 4), [0u64; 0]);
    assert_eq!(page(u64::from(u32::MAX), 4), [0u64; 0]);
    assert_eq!(page(u64::MAX, 4), [0u64; 0]);
    assert_eq!(page(0, 0), [0u64; 0]);
    let rest: Vec<u64> =
        entries(store, &journal("a"), 7).map(|entry| entry.unwrap().sequence).collect();
    assert_eq!(rest, [8, 9, 10]);
}

fn a_page_of_large_entries_ends_early_and_never_stays_empty(store: &dyn Store) {
    // Three of them exceed the limit, two reach it exactly.
    let large = "x".repeat(limits::VALUE_BYTES_MAX);
    let values = [large.clone(), large.clone(), large];
    append(store, "a", 0, &values);
    let page = store.journal(&journal("a"), 0, 10).unwrap();
    assert_eq!(page.len(), limits::PAGE_BYTES_MAX / limits::VALUE_BYTES_MAX);
    assert_eq!(store.journal(&journal("a"), 2, 10).unwrap().len(), 1);
    assert_eq!(entries(store, &journal("a"), 0).count(), 3);
    let puts = ["a", "b", "c"].map(|name| put(name, Expected::Absent, &values[0]));
    store.commit(&Commit { puts: puts.to_vec(), ..Commit::unsynced() }).unwrap();
    assert_eq!(store.list(Kind::Session, &Filter::newest(10)).unwrap().len(), 2);
    assert_eq!(records(store, Kind::Session, Filter::newest(10)).count(), 3);
}

fn a_journal_can_be_dropped_and_begun_anew_in_one_commit(store: &dyn Store) {
    append(store, "a", 0, &texts(["1", "2"]));
    append(store, "b", 0, &texts(["3"]));
    let (journal_a, new) = (journal("a"), texts(["new"]));
    let commit = Commit {
        drop_journals: vec![journal("a"), journal("never there")],
        append: Some(Append { journal: &journal_a, expected: 0, entries: &new }),
        ..Commit::synced()
    };
    assert_eq!(store.commit(&commit).unwrap(), Committed { last: 1, versions: vec![] });
    assert_eq!((values(store, "a"), values(store, "b")), (texts(["new"]), texts(["3"])));
    let drop_both =
        Commit { drop_journals: vec![journal("a"), journal("b")], ..Commit::unsynced() };
    store.commit(&drop_both).unwrap();
    assert_eq!((values(store, "a"), values(store, "b")), (vec![], vec![]));
}

fn a_record_is_kept_with_a_version_that_goes_up(store: &dyn Store) {
    assert_eq!(store.get(Kind::Session, &key("a")).unwrap(), None);
    let first = write(store, put("a", Expected::Absent, "1"));
    let mut second = put("a", Expected::Version(first), "2");
    second.status = "completed".into();
    let second = write(store, second);
    assert!(second > first);
    let place = RecordPosition { created_at_ms: 1_000, inserted: place_of(store, "a").inserted };
    let (status, value) = ("completed".into(), "2".into());
    let expected =
        Record { key: key("a"), version: second, place, status, value, claim_note: None };
    assert_eq!(store.get(Kind::Session, &key("a")).unwrap(), Some(expected));
}

fn a_record_keeps_its_place_when_it_changes(store: &dyn Store) {
    write(store, put("a", Expected::Absent, "1"));
    write(store, put("b", Expected::Absent, "1"));
    let before = place_of(store, "a");
    let later = Put { created_at_ms: 9_999, ..put("a", Expected::Any, "2") };
    write(store, later);
    assert_eq!(place_of(store, "a"), before);
    assert_eq!(names(store, &Filter::newest(10)), ["b", "a"]);
}

fn kinds_and_projects_do_not_mix(store: &dyn Store) {
    let elsewhere = RecordKey { project: "/two".into(), name: "a".into() };
    write(store, put("a", Expected::Absent, "session"));
    write(store, Put { kind: Kind::Wait, ..put("a", Expected::Absent, "wait") });
    write(store, Put { kind: Kind::Task, ..put("a", Expected::Absent, "task") });
    write(store, Put { key: elsewhere.clone(), ..put("a", Expected::Absent, "elsewhere") });
    let value = |kind, key: &RecordKey| store.get(kind, key).unwrap().map(|record| record.value);
    assert_eq!(value(Kind::Session, &key("a")).as_deref(), Some("session"));
    assert_eq!(value(Kind::Wait, &key("a")).as_deref(), Some("wait"));
    assert_eq!(value(Kind::Task, &key("a")).as_deref(), Some("task"));
    assert_eq!(value(Kind::Session, &elsewhere).as_deref(), Some("elsewhere"));
    assert_eq!(value(Kind::Wait, &elsewhere), None);
    assert_eq!(store.list(Kind::Wait, &Filter::newest(10)).unwrap().len(), 1);
    assert_eq!(store.list(Kind::Session, &Filter::newest(10)).unwrap().len(), 2);
}

fn a_put_that_expects_something_else_conflicts(store: &dyn Store) {
    let conflict = |expected, found| {
        let commit = Commit { puts: vec![put("a", expected, "x")], ..Commit::synced() };
        let (kind, key) = (Kind::Session, key("a"));
        let conflict = StoreError::RecordConflict { kind, key, expected, found };
        assert_eq!(store.commit(&commit).unwrap_err(), conflict);
    };
    conflict(Expected::Version(1), None);
    let version = write(store, put("a", Expected::Absent, "1"));
    conflict(Expected::Absent, Some(version));
    conflict(Expected::Version(version + 1), Some(version));
    conflict(Expected::Version(u64::MAX), Some(version));
    assert_eq!(store.get(Kind::Session, &key("a")).unwrap().unwrap().value, "1");
    write(store, put("a", Expected::Any, "2"));
    write(store, put("b", Expected::Any, "2"));
}

fn a_delete_that_expects_something_else_conflicts(store: &dyn Store) {
    let delete = |expected| {
        let delete = Delete { kind: Kind::Session, key: key("a"), expected };
        store.commit(&Commit { deletes: vec![delete], ..Commit::unsynced() })
    };
    delete(Expected::Absent).unwrap();
    delete(Expected::Any).unwrap();
    delete(Expected::Version(1)).unwrap_err();
    let version = write(store, put("a", Expected::Absent, "1"));
    delete(Expected::Absent).unwrap_err();
    let wrong = delete(Expected::Version(version + 1)).unwrap_err();
    let (kind, expected) = (Kind::Session, Expected::Version(version + 1));
    let found = Some(version);
    assert_eq!(wrong, StoreError::RecordConflict { kind, key: key("a"), expected, found });
    assert!(store.get(Kind::Session, &key("a")).unwrap().is_some());
    delete(Expected::Version(version)).unwrap();
    assert_eq!(store.get(Kind::Session, &key("a")).unwrap(), None);
    assert_eq!(names(store, &Filter::newest(10)), [""; 0]);
}

fn a_record_made_anew_is_another_one(store: &dyn Store) {
    let old = write(store, put("a", Expected::Absent, "1"));
    let old_place = place_of(store, "a");
    let delete = Delete { kind: Kind::Session, key: key("a"), expected: Expected::Any };
    store.commit(&Commit { deletes: vec![delete], ..Commit::synced() }).unwrap();
    let new = write(store, put("a", Expected::Absent, "2"));
    assert!(new > old);
    assert!(place_of(store, "a") > old_place);
    let late = Commit { puts: vec![put("a", Expected::Version(old), "x")], ..Commit::synced() };
    store.commit(&late).unwrap_err();
    assert_eq!(store.get(Kind::Session, &key("a")).unwrap().unwrap().value, "2");
}

fn the_parts_of_a_commit_happen_in_order(store: &dyn Store) {
    let old = write(store, put("a", Expected::Absent, "1"));
    let delete = Delete { kind: Kind::Session, key: key("a"), expected: Expected::Version(old) };
    let commit = Commit {
        deletes: vec![delete],
        puts: vec![put("a", Expected::Absent, "2"), put("a", Expected::Any, "3")],
        ..Commit::unsynced()
    };
    let versions = store.commit(&commit).unwrap().versions;
    assert!(old < versions[0] && versions[0] < versions[1]);
    let record = store.get(Kind::Session, &key("a")).unwrap().unwrap();
    assert_eq!((record.value.as_str(), record.version), ("3", versions[1]));
}

fn a_commit_that_fails_at_its_end_has_changed_nothing(store: &dyn Store) {
    append(store, "a", 0, &texts(["1"]));
    append(store, "b", 0, &texts(["2"]));
    let version = write(store, put("a", Expected::Absent, "1"));
    write(store, put("b", Expected::Absent, "1"));
    let before = store.list(Kind::Session, &Filter::newest(10)).unwrap();
    let (journal_a, more) = (journal("a"), texts(["x", "y"]));
    let delete = Delete { kind: Kind::Session, key: key("b"), expected: Expected::Any };
    let commit = Commit {
        drop_journals: vec![journal("b"), journal("c")],
        append: Some(Append { journal: &journal_a, expected: 1, entries: &more }),
        deletes: vec![delete],
        puts: vec![
            put("a", Expected::Version(version), "x"),
            put("new", Expected::Absent, "x"),
            put("other", Expected::Version(version), "x"),
        ],
        ..Commit::synced()
    };
    let failure = store.commit(&commit).unwrap_err();
    assert!(matches!(failure, StoreError::RecordConflict { found: None, .. }), "{failure}");
    assert_eq!((values(store, "a"), values(store, "b")), (texts(["1"]), texts(["2"])));
    assert_eq!(store.list(Kind::Session, &Filter::newest(10)).unwrap(), before);
}

fn lists_are_newest_first_and_then_last_made_first(store: &dyn Store) {
    for (name, created_at_ms) in [("a", 5), ("b", 9), ("c", 5), ("d", -3), ("e", 9)] {
        write(store, Put { created_at_ms, ..put(name, Expected::Absent, "1") });
    }
    assert_eq!(names(store, &Filter::newest(10)), ["e", "b", "c", "a", "d"]);
    assert_eq!(names(store, &Filter::newest(2)), ["e", "b"]);
    assert_eq!(names(store, &Filter::newest(0)), [""; 0]);
    assert_eq!(names(store, &Filter::newest(usize::MAX)).len(), 5);
}

fn lists_are_filtered(store: &dyn Store) {
    for (project, name, status) in [
        ("/one", "fix-1", "running"),
        ("/one", "fix-2", "completed"),
        ("/two", "fix-3", "running"),
        ("/two", "add-1", "failed"),
        ("/one", "add-2", "failed"),
    ] {
        let key = RecordKey { project: project.into(), name: name.into() };
        write(store, Put { key, status: status.into(), ..put("", Expected::Absent, "1") });
    }
    let all = Filter::newest(10);
    let project = Some("/one".to_owned());
    let statuses = texts(["failed", "completed"]);
    let name_prefix = Some("fix-".to_owned());
    let of = |filter: Filter| names(store, &filter);
    assert_eq!(of(Filter { project: project.clone(), ..all.clone() }), ["add-2", "fix-2", "fix-1"]);
    assert_eq!(
        of(Filter { statuses: statuses.clone(), ..all.clone() }),
        ["add-2", "add-1", "fix-2"]
    );
    assert_eq!(
        of(Filter { name_prefix: name_prefix.clone(), ..all.clone() }),
        ["fix-3", "fix-2", "fix-1"]
    );
    let every = Filter { project, statuses, name_prefix, ..all.clone() };
    assert_eq!(of(every), ["fix-2"]);
    assert_eq!(of(Filter { project: Some("/on".into()), ..all.clone() }), [""; 0]);
    assert_eq!(of(Filter { statuses: texts(["Running"]), ..all }), [""; 0]);
}

fn a_prefix_is_taken_literally(store: &dyn Store) {
    let all =
        ["a%b", "a_b", "axb", "a*", "ä", "a\u{d7ff}z", "a\u{10ffff}", "a\u{10ffff}\u{10ffff}z"];
    for name in all {
        write(store, put(name, Expected::Absent, "1"));
    }
    for prefix in ["", "a", "a%", "a_", "a*", "A", "ä", "a\u{d7ff}", "a\u{10ffff}", "\u{10ffff}"] {
        let filter = Filter { name_prefix: Some(prefix.into()), ..Filter::newest(20) };
        let mut found = names(store, &filter);
        found.reverse();
        let expected: Vec<&str> = all.into_iter().filter(|name| name.starts_with(prefix)).collect();
        assert_eq!(found, expected, "names that begin with {prefix:?}");
    }
}

fn a_list_goes_on_where_the_page_before_ended(store: &dyn Store) {
    for number in 0..10 {
        let created_at_ms = 100 + number / 4;
        write(store, Put { created_at_ms, ..put(&number.to_string(), Expected::Absent, "1") });
    }
    let mut filter = Filter::newest(3);
    let first = store.list(Kind::Session, &filter).unwrap();
    filter.before = first.last().map(|record| record.place);
    // A record that is added meanwhile does not shift the pages.
    write(store, Put { created_at_ms: 500, ..put("new", Expected::Absent, "1") });
    assert_eq!(names(store, &filter), ["6", "5", "4"]);
    let all: Vec<String> = records(store, Kind::Session, Filter::newest(3))
        .map(|record| record.unwrap().key.name)
        .collect();
    assert_eq!(all, ["new", "9", "8", "7", "6", "5", "4", "3", "2", "1", "0"]);
}

fn a_lease_has_one_holder_and_tokens_go_up(store: &dyn Store) {
    assert_eq!(store.holder("run").unwrap(), None);
    let first = granted(store, "run", "me", None);
    let held = Held { holder: "me".into(), token: first, life: None };
    assert_eq!(store.holder("run").unwrap(), Some(held.clone()));
    assert_eq!(store.acquire("run", "you", None).unwrap(), Acquired::Held(held.clone()));
    assert_eq!(store.acquire("run", "me", None).unwrap(), Acquired::Held(held));
    let other = granted(store, "another", "you", None);
    assert!(other > first);
    assert!(store.release("run", first).unwrap());
    assert!(granted(store, "run", "you", None) > other);
}

fn a_lease_is_taken_over_only_from_the_holder_that_was_found_dead(store: &dyn Store) {
    let dead = granted(store, "run", "dead", None);
    let heir = granted(store, "run", "heir", Some(dead));
    assert!(heir > dead);
    let held = Held { holder: "heir".into(), token: heir, life: None };
    assert_eq!(store.acquire("run", "late", Some(dead)).unwrap(), Acquired::Held(held.clone()));
    assert_eq!(store.holder("run").unwrap(), Some(held));
    store.release("run", heir).unwrap();
    // The holder that was to be replaced has released the lease.
    granted(store, "run", "late", Some(heir));
}

fn a_lease_is_given_back_only_by_its_holder(store: &dyn Store) {
    assert!(!store.release("run", 1).unwrap());
    let old = granted(store, "run", "old", None);
    let new = granted(store, "run", "new", Some(old));
    assert!(!store.release("run", old).unwrap());
    assert_eq!(store.holder("run").unwrap().unwrap().token, new);
    assert!(store.release("run", new).unwrap());
    assert!(!store.release("run", new).unwrap());
    assert_eq!(store.holder("run").unwrap(), None);
}

fn a_commit_behind_a_fence_fails_once_the_lease_was_passed_on(store: &dyn Store) {
    let old = granted(store, "run", "old", None);
    let fence = Fence { lease: "run".into(), token: old };
    let (journal_a, entries) = (journal("a"), texts(["1"]));
    let commit = |expected| Commit {
        fence: Some(&fence),
        append: Some(Append { journal: &journal_a, expected, entries: &entries }),
        puts: vec![put("a", Expected::Any, "1")],
        ..Commit::synced()
    };
    assert_eq!(store.commit(&commit(0)).unwrap().last, 1);
    let before = store.get(Kind::Session, &key("a")).unwrap();
    let new = granted(store, "run", "new", Some(old));
    let lease = fence.lease.clone();
    let fenced = StoreError::Fenced { lease, token: old, current: Some(new) };
    assert_eq!(store.commit(&commit(1)).unwrap_err(), fenced);
    // The fence is checked first: a writer without the lease gets that error, not a conflict.
    assert_eq!(store.commit(&commit(7)).unwrap_err(), fenced);
    assert_eq!(values(store, "a"), ["1"]);
    assert_eq!(store.get(Kind::Session, &key("a")).unwrap(), before);
}

fn a_commit_can_release_its_own_lease(store: &dyn Store) {
    let token = granted(store, "run", "a", None);
    let fence = Fence { lease: "run".to_owned(), token };
    let commit = |expected| Commit {
        fence: Some(&fence),
        puts: vec![put("n", expected, "v")],
        releases_lease: true,
        ..Commit::synced()
    };
    // A commit that fails keeps the lease.
    store.commit(&commit(Expected::Version(7))).unwrap_err();
    assert!(store.holder("run").unwrap().is_some());
    store.commit(&commit(Expected::Absent)).unwrap();
    assert_eq!(store.holder("run").unwrap(), None);
    let late = store.commit(&commit(Expected::Any)).unwrap_err();
    assert!(matches!(late, StoreError::Fenced { current: None, .. }), "{late:?}");
}

fn a_commit_with_a_free_lease_fails(store: &dyn Store) {
    let token = granted(store, "run", "me", None);
    store.release("run", token).unwrap();
    for lease in ["run", "never there"] {
        let fence = Fence { lease: lease.into(), token };
        let commit = Commit { fence: Some(&fence), ..Commit::synced() };
        let fenced = StoreError::Fenced { lease: lease.into(), token, current: None };
        assert_eq!(store.commit(&commit).unwrap_err(), fenced);
    }
}

fn what_is_too_large_is_refused_before_anything_happens(store: &dyn Store) {
    let long = |bytes: usize| "x".repeat(bytes + 1);
    let journal_a = journal("a");
    let appended = |entries: &[String]| {
        let append = Append { journal: &journal_a, expected: 0, entries };
        store.commit(&Commit { append: Some(append), ..Commit::synced() }).map(drop)
    };
    let written = |put| {
        let puts = vec![self::put("good", Expected::Any, "1"), put];
        store.commit(&Commit { puts, ..Commit::synced() }).map(drop)
    };
    let base = || put("a", Expected::Any, "1");
    let named = |project: String, name: String| Put { key: RecordKey { project, name }, ..base() };
    let statuses = vec![String::new(); limits::STATUSES_MAX + 1];
    let quarter = "x".repeat(limits::VALUE_BYTES_MAX);
    for (refused, what) in [
        (appended(&[long(limits::VALUE_BYTES_MAX)]), "bytes of a value"),
        (appended(&vec![String::new(); limits::VALUES_PER_COMMIT_MAX + 1]), "values in one commit"),
        (appended(&vec![quarter; 5]), "bytes of one commit"),
        (written(Put { value: long(limits::VALUE_BYTES_MAX), ..base() }), "bytes of a value"),
        (written(Put { status: long(limits::STATUS_BYTES_MAX), ..base() }), "bytes of a status"),
        (written(named(long(limits::PROJECT_BYTES_MAX), "a".into())), "bytes of a project"),
        (written(named("/".into(), long(limits::NAME_BYTES_MAX))), "bytes of a name"),
        (
            store.acquire(&long(limits::NAME_BYTES_MAX), "", None).map(drop),
            "bytes of a lease's name",
        ),
        (
            store.acquire("run", &long(limits::HOLDER_BYTES_MAX), None).map(drop),
            "bytes of a lease's holder",
        ),
        (
            store.list(Kind::Task, &Filter { statuses, ..Filter::newest(1) }).map(drop),
            "statuses in one filter",
        ),
    ] {
        match refused {
            Err(StoreError::TooLarge { what: said, found, max }) => {
                assert_eq!(said, what);
                assert!(found > max, "{what}: {found} of {max}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(store.last(&journal_a).unwrap(), 0);
    assert_eq!(names(store, &Filter::newest(10)), [""; 0]);
    assert_eq!(store.holder("run").unwrap(), None);
}

fn text_of_any_kind_comes_back_as_it_was(store: &dyn Store) {
    let odd =
        ["", "\0", "a\0b", "'; DROP TABLE entries; --", "\u{10ffff}", "{\"a\": \"ü\\n\"}", "\r\n"];
    append(store, "a\0b", 0, &odd.map(str::to_owned));
    assert_eq!(values(store, "a\0b"), odd);
    assert_eq!(values(store, "a"), [""; 0]);
    for text in odd {
        let key = RecordKey { project: text.into(), name: text.into() };
        let (value, status) = (text.to_owned(), text.to_owned());
        write(store, Put { key: key.clone(), value, status, ..put("", Expected::Absent, "") });
        let record = store.get(Kind::Session, &key).unwrap().unwrap();
        assert_eq!((record.key.project.as_str(), record.key.name.as_str()), (text, text));
        assert_eq!((record.value.as_str(), record.status.as_str()), (text, text));
        granted(store, text, text, None);
        assert_eq!(store.holder(text).unwrap().unwrap().holder, text);
    }
}

fn its_time_goes_on(store: &dyn Store) {
    let first = store.now_ms();
    // The server of these tests is on this machine.
    let system = std::time::UNIX_EPOCH.elapsed().expect("it is after 1970").as_millis();
    let system = i64::try_from(system).expect("it is before the year 292 million");
    assert!((first - system).abs() < 60_000, "{first} beside {system}");
    append_somewhere(store, "x");
    assert!((first..first + 60_000).contains(&store.now_ms()), "it stood still or leapt");
}

fn an_empty_commit_is_no_error(store: &dyn Store) {
    assert_eq!(store.commit(&Commit::synced()).unwrap(), Committed::default());
    assert_eq!(store.commit(&Commit::unsynced()).unwrap(), Committed::default());
}

fn threads_append_without_losing_anything(store: &dyn Store) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for number in 0..25 {
                    append_somewhere(store, &format!("{thread} {number}"));
                }
            });
        }
    });
    let all = values(store, "a");
    assert_eq!(all.len(), 100);
    for thread in 0..4 {
        let own = all.iter().filter(|value| value.starts_with(&format!("{thread} ")));
        let expected: Vec<String> = (0..25).map(|number| format!("{thread} {number}")).collect();
        assert_eq!(own.cloned().collect::<Vec<_>>(), expected);
    }
}

/// Appends at the current end of the journal.
fn append_somewhere(store: &dyn Store, value: &str) {
    let (journal, entries) = (journal("a"), texts([value]));
    let mut expected = store.last(&journal).unwrap();
    loop {
        let append = Append { journal: &journal, expected, entries: &entries };
        match store.commit(&Commit { append: Some(append), ..Commit::unsynced() }) {
            Ok(committed) => return assert_eq!(committed.last, expected + 1),
            Err(StoreError::JournalConflict { found, .. }) => {
                assert!(found > expected, "{found} after {expected}");
                expected = found;
            }
            Err(other) => panic!("{other}"),
        }
    }
}

fn write(store: &dyn Store, put: Put) -> u64 {
    let committed = store.commit(&Commit { puts: vec![put], ..Commit::unsynced() });
    committed.expect("it is expected").versions[0]
}

fn granted(store: &dyn Store, lease: &str, holder: &str, instead_of: Option<u64>) -> u64 {
    match store.acquire(lease, holder, instead_of).unwrap() {
        Acquired::Granted { token } => token,
        Acquired::Held(held) => panic!("`{lease}` is held by {held:?}"),
    }
}

fn place_of(store: &dyn Store, name: &str) -> RecordPosition {
    store.get(Kind::Session, &key(name)).unwrap().unwrap().place
}

fn names(store: &dyn Store, filter: &Filter) -> Vec<String> {
    let records = store.list(Kind::Session, filter).unwrap();
    records.into_iter().map(|record| record.key.name).collect()
}

fn a_reader_sees_whether_something_was_committed(store: &dyn Store) {
    let mut before = store.changes().unwrap();
    let mut has_changed = || {
        let now = store.changes().unwrap();
        std::mem::replace(&mut before, now) != now
    };
    assert!(!has_changed());
    append(store, "a", 0, &texts(["1"]));
    assert!(has_changed() && !has_changed());
    store.journal(&journal("a"), 0, 10).unwrap();
    assert!(!has_changed());
    let commit = Commit { puts: vec![put("r", Expected::Absent, "v")], ..Commit::unsynced() };
    store.commit(&commit).unwrap();
    assert!(has_changed() && !has_changed());
    let Acquired::Granted { token } = store.acquire("l", "h", None).unwrap() else { panic!() };
    assert!(has_changed() && !has_changed());
    assert!(store.release("l", token).unwrap());
    assert!(has_changed() && !has_changed());
}
