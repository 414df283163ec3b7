//! Records in lanes, and the queue of tasks that uses them. Each rule runs for every store.

use std::sync::Arc;

use hookwright_events::task::{TaskId, TaskState};
use hookwright_store::{
    ClaimedTask, Commit, DeadLease, Expect, Expected, Filter, Heading, KeptTask, KeptTasks, Kind,
    LaneKey, LaneMove, NewTask, Put, Queued, Record, RecordKey, Store, StoreError, TaskChange,
    TaskClaim, WatchedStore, headings,
};

use crate::situation::{for_every_store, key, put};

const NOW: i64 = 1_000;
const PROJECT: &str = "/projects/one";

fn every(rule: impl Fn(Arc<dyn Store>)) {
    for_every_store(rule);
}

fn lane(lane: &str) -> LaneKey<'_> {
    LaneKey { kind: Kind::Session, project: PROJECT, lane }
}

fn queued(name: &str, lane: &str, rank: i64) -> Put {
    let queued = Some(Queued::at(lane, rank));
    Put { queued, ..put(name, Expected::Any, name) }
}

fn write(store: &dyn Store, puts: Vec<Put>) {
    store.commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
}

fn names(store: &dyn Store, name: &str, from_rank: i64, limit: usize) -> Vec<(i64, String)> {
    let page = store.queue(lane(name), from_rank, limit).unwrap();
    page.into_iter().map(|(rank, record)| (rank, record.key.name)).collect()
}

#[test]
fn a_lane_is_read_in_the_order_of_the_ranks_and_a_record_leaves_it_with_its_next_put() {
    every(|store| {
        write(&*store, vec![queued("a", "x/", 7), queued("b", "x/", -3), queued("c", "y/", 1)]);
        write(&*store, vec![queued("d", "x/", 7), put("e", Expected::Any, "no place")]);
        let of = |rank: i64, name: &str| (rank, name.to_owned());
        assert_eq!(names(&*store, "x/", i64::MIN, 9), [of(-3, "b"), of(7, "a"), of(7, "d")]);
        assert_eq!(names(&*store, "x/", i64::MIN, 1), [of(-3, "b")]);
        assert_eq!(names(&*store, "x/", -2, 1), [of(7, "a")]);
        assert_eq!(names(&*store, "x", i64::MIN, 9), []);
        write(&*store, vec![put("a", Expected::Any, "done"), queued("b", "x/", 9)]);
        assert_eq!(names(&*store, "x/", i64::MIN, 9), [of(7, "d"), of(9, "b")]);
        let deletes = vec![hookwright_store::Delete {
            kind: Kind::Session,
            key: key("d"),
            expected: Expected::Any,
        }];
        store.commit(&Commit { deletes, ..Commit::unsynced() }).unwrap();
        assert_eq!(names(&*store, "x/", i64::MIN, 9), [of(9, "b")]);
    });
}

#[test]
fn lanes_are_found_by_name_and_counted_by_their_beginning() {
    every(|store| {
        let elsewhere = RecordKey { project: "/projects/two".into(), name: "z".into() };
        write(&*store, vec![queued("a", "by/a/", 1), queued("b", "by/b/", 1)]);
        write(&*store, vec![queued("c", "by/b/", 2), queued("d", "open/", 1)]);
        write(&*store, vec![Put { key: elsewhere, ..queued("", "by/aa/", 1) }]);
        write(&*store, vec![Put { kind: Kind::Task, ..queued("t", "by/aa/", 1) }]);
        let mut found = vec!["by/".to_owned()];
        while let Some(next) = store.next_lane(lane(&found[found.len() - 1])).unwrap() {
            found.push(next);
        }
        assert_eq!(found[1..], ["by/a/", "by/b/", "open/"]);
        let count = |prefix: &str| store.queued(lane(prefix)).unwrap();
        assert_eq!([count("by/"), count("by/b/"), count("open/"), count("c")], [3, 2, 1, 0]);
    });
}

#[test]
fn a_put_moves_a_lane_and_a_commit_that_fails_moves_nothing() {
    every(|store| {
        write(&*store, vec![queued("a", "x/", 2), queued("b", "x/", 1), queued("c", "y/", 3)]);
        let before = store.get(Kind::Session, &key("a")).unwrap();
        let moves = Some(LaneMove { from: "x/".into(), to: "y/".into() });
        let moving = Put { moves, ..put("m", Expected::Any, "m") };
        let conflicts = vec![moving.clone(), put("c", Expected::Absent, "c")];
        store.commit(&Commit { puts: conflicts, ..Commit::unsynced() }).unwrap_err();
        assert_eq!(names(&*store, "y/", i64::MIN, 9).len(), 1);
        write(&*store, vec![moving]);
        let moved: Vec<String> =
            names(&*store, "y/", i64::MIN, 9).into_iter().map(|(_, name)| name).collect();
        assert_eq!(moved, ["b", "a", "c"]);
        assert_eq!(names(&*store, "x/", i64::MIN, 9), []);
        // Its version is the same, so a reader need not read it again.
        assert_eq!(store.get(Kind::Session, &key("a")).unwrap(), before);
    });
}

#[test]
fn a_commit_that_expects_another_version_of_a_record_changes_nothing() {
    every(|store| {
        write(&*store, vec![put("a", Expected::Any, "1")]);
        let version = store.get(Kind::Session, &key("a")).unwrap().unwrap().version;
        let commit = |expected: Expected, name: &str| Commit {
            expects: vec![Expect { kind: Kind::Session, key: key("a"), expected }],
            puts: vec![put(name, Expected::Any, "2")],
            ..Commit::unsynced()
        };
        store.commit(&commit(Expected::Version(version), "b")).unwrap();
        let found = store.commit(&commit(Expected::Absent, "c")).unwrap_err();
        let (expected, found_version) = (Expected::Absent, Some(version));
        let kind = Kind::Session;
        let conflict =
            StoreError::RecordConflict { kind, key: key("a"), expected, found: found_version };
        assert_eq!(found, conflict);
        assert_eq!(store.get(Kind::Session, &key("c")).unwrap(), None);
    });
}

#[test]
fn headings_are_those_of_the_records_that_a_list_would_have() {
    every(|store| {
        for name in ["a1", "b1", "a2"] {
            write(&*store, vec![put(name, Expected::Any, "value")]);
        }
        let filter = Filter { name_prefix: Some("a".into()), ..Filter::newest(1) };
        let found: Vec<Heading> =
            headings(&*store, Kind::Session, filter.clone()).map(Result::unwrap).collect();
        let listed: Vec<Heading> = hookwright_store::records(&*store, Kind::Session, filter)
            .map(Result::unwrap)
            .map(|Record { key, status, place, .. }| Heading { name: key.name, status, place })
            .collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found, listed);
    });
}

fn add(tasks: &KeptTasks, content: &str, priority: u8, after: &[u64]) -> TaskId {
    let depends_on = after.iter().map(|id| TaskId(*id).to_string()).collect();
    let new = NewTask { priority, depends_on, ..NewTask::new(content) };
    tasks.add(&new, NOW).unwrap().task.id
}

fn none_skipped(_: TaskId) -> bool {
    false
}

fn is_dead(session: &str) -> Result<bool, StoreError> {
    Ok(session.starts_with("dead"))
}

fn next(tasks: &KeptTasks) -> Option<u64> {
    tasks.next(&none_skipped, &is_dead).unwrap().map(|kept| kept.task.id.0)
}

fn complete(tasks: &KeptTasks, id: u64) {
    tasks.set_state(TaskId(id), TaskState::Completed, NOW).unwrap();
}

/// Claims the next task, which has this id, while every other session runs.
fn claim(tasks: &KeptTasks, id: u64, session: &str) {
    let claim = TaskClaim { session, fence: None, skip: &[], dead: &|_| Ok(None), now_ms: NOW };
    assert_eq!(tasks.claim_next(&claim).unwrap().unwrap().kept.task.id, TaskId(id));
}

/// What a session gets, if those whose names begin with `dead` are dead.
fn claimed_by(tasks: &KeptTasks, session: &str) -> Option<ClaimedTask> {
    let dead = |session: &str| {
        let lease = format!("session/{session}");
        let token = tasks.store().holder(&lease)?.map(|held| held.token);
        Ok(is_dead(session)?.then_some(DeadLease { lease, token }))
    };
    tasks
        .claim_next(&TaskClaim { session, fence: None, skip: &[], dead: &dead, now_ms: NOW })
        .unwrap()
}

#[test]
fn claims_give_tasks_by_priority_and_number_once_what_they_wait_for_is_completed() {
    every(|store| {
        let tasks = KeptTasks::new(store, PROJECT);
        add(&tasks, "1", 2, &[]);
        add(&tasks, "2", 1, &[]);
        add(&tasks, "3", 0, &[1]);
        add(&tasks, "4", 0, &[2, 1]);
        let mut done = Vec::new();
        while let Some(ClaimedTask { kept, left_by }) = claimed_by(&tasks, "calm-fox") {
            assert_eq!((kept.task.state, left_by), (TaskState::InProgress, None));
            assert_eq!(kept.task.session.as_deref(), Some("calm-fox"));
            assert_eq!(tasks.get(&kept.task.id.to_string()).unwrap(), kept);
            assert_eq!(
                tasks.list(&[TaskState::InProgress]).unwrap().tasks,
                std::slice::from_ref(&kept)
            );
            complete(&tasks, kept.task.id.0);
            done.push(kept.task.id.0);
        }
        assert_eq!(done, [2, 1, 3, 4]);
    });
}

#[test]
fn a_claim_takes_what_a_dead_session_left_unless_a_process_resumes_that_session() {
    every(|store| {
        let tasks = KeptTasks::new(Arc::clone(&store), PROJECT);
        add(&tasks, "1", 2, &[]);
        claim(&tasks, 1, "dead-fox");
        claim(&tasks, 1, "dead-fox");
        assert_eq!(claimed_by(&tasks, "calm-fox").unwrap().left_by.as_deref(), Some("dead-fox"));
        assert_eq!(claimed_by(&tasks, "red-owl"), None, "calm-fox runs");
        let kept = tasks.get("TAS-1").unwrap();
        assert!(tasks.take_over(&kept, "dead-fox", NOW).unwrap());
        // A process resumes the session after another one has found it dead.
        let dead = |session: &str| {
            let lease = format!("session/{session}");
            store.acquire(&lease, "resumed", None)?;
            Ok(Some(DeadLease { lease, token: None }))
        };
        let (session, skip) = ("calm-fox", &[]);
        let claim = TaskClaim { session, fence: None, skip, dead: &dead, now_ms: NOW };
        assert_eq!(tasks.claim_next(&claim).unwrap(), None);
    });
}

#[test]
fn the_next_task_is_the_first_by_priority_and_number_that_waits_for_no_other() {
    every(|store| {
        let tasks = KeptTasks::new(store, PROJECT);
        add(&tasks, "1", 2, &[]);
        add(&tasks, "2", 1, &[]);
        add(&tasks, "3", 0, &[1]);
        add(&tasks, "4", 0, &[2, 1]);
        let mut done = Vec::new();
        while let Some(id) = next(&tasks) {
            complete(&tasks, id);
            done.push(id);
        }
        assert_eq!(done, [2, 1, 3, 4]);
    });
}

#[test]
fn a_task_waits_again_when_what_it_waits_for_changes() {
    every(|store| {
        let tasks = KeptTasks::new(store, PROJECT);
        add(&tasks, "1", 2, &[]);
        add(&tasks, "2", 0, &[1]);
        complete(&tasks, 1);
        assert_eq!(next(&tasks), Some(2));
        // The task that it waits for is open again.
        tasks.set_state(TaskId(1), TaskState::Open, NOW).unwrap();
        assert_eq!(next(&tasks), Some(1));
        complete(&tasks, 1);
        assert_eq!(next(&tasks), Some(2));
        // It gets another dependency, and loses it.
        add(&tasks, "3", 4, &[]);
        let waits_for = |ids: &[&str]| TaskChange {
            depends_on: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
            ..TaskChange::default()
        };
        tasks.update(TaskId(2), &waits_for(&["TAS-3"]), NOW).unwrap();
        assert_eq!(next(&tasks), Some(3));
        tasks.update(TaskId(2), &waits_for(&[]), NOW).unwrap();
        assert_eq!(next(&tasks), Some(2));
        // A cancelled task does not count as completed.
        tasks.update(TaskId(2), &waits_for(&["TAS-3"]), NOW).unwrap();
        tasks.set_state(TaskId(3), TaskState::Cancelled, NOW).unwrap();
        assert_eq!(next(&tasks), None);
    });
}

#[test]
fn a_task_in_progress_comes_next_only_if_its_session_is_over() {
    every(|store| {
        let tasks = KeptTasks::new(store, PROJECT);
        for content in ["1", "2", "3", "4"] {
            add(&tasks, content, 2, &[]);
        }
        claim(&tasks, 1, "dead-fox");
        claim(&tasks, 2, "calm-fox");
        let by_hand = TaskChange { state: Some(TaskState::InProgress), ..TaskChange::default() };
        tasks.update(TaskId(3), &by_hand, NOW).unwrap();
        assert_eq!(next(&tasks), Some(1));
        assert_eq!(tasks.count_open(&is_dead).unwrap(), 2);
        let kept = tasks.get("TAS-1").unwrap();
        assert!(tasks.take_over(&kept, "calm-fox", NOW).unwrap());
        assert_eq!(next(&tasks), Some(4));
        let skip_4 = |id: TaskId| id == TaskId(4);
        assert_eq!(tasks.next(&skip_4, &is_dead).unwrap(), None);
        assert_eq!(tasks.count_open(&is_dead).unwrap(), 1);
    });
}

#[test]
fn tasks_that_wait_are_counted_as_open() {
    every(|store| {
        let tasks = KeptTasks::new(store, PROJECT);
        add(&tasks, "1", 2, &[]);
        add(&tasks, "2", 2, &[1]);
        add(&tasks, "3", 2, &[2]);
        assert_eq!(tasks.count_open(&is_dead).unwrap(), 3);
        complete(&tasks, 1);
        assert_eq!(tasks.count_open(&is_dead).unwrap(), 2);
    });
}

/// This many tasks, made from the first one in one commit: adding each alone would take long.
fn many(tasks: &KeptTasks, count: u64, change: impl Fn(&mut KeptTask)) {
    let first = tasks.add(&NewTask::new("first"), NOW).unwrap();
    let puts = (2..=count).map(|number| {
        let mut kept = first.clone();
        kept.task.id = TaskId(number);
        kept.task.content = format!("number {number}");
        change(&mut kept);
        Put { expected: Expected::Absent, ..tasks.put_for(&kept) }
    });
    let puts = puts.collect();
    tasks.store().commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
}

#[test]
fn to_choose_a_task_reads_as_few_records_of_5000_as_of_50() {
    every(|store| {
        let read = |project: &str, count: u64, change: &dyn Fn(&mut KeptTask)| {
            let watched = Arc::new(WatchedStore::new(Arc::clone(&store)));
            let tasks = KeptTasks::new(Arc::clone(&watched) as Arc<dyn Store>, project);
            many(&tasks, count, change);
            // The first read moves the waiting tasks out of the way.
            let mut took = 0;
            for _ in 0..4 {
                let before = watched.records_read();
                let kept = tasks.next(&none_skipped, &is_dead).unwrap().unwrap();
                took = watched.records_read() - before;
                let before = watched.records_read();
                assert_eq!(claimed_by(&tasks, "calm-fox").unwrap().kept.task.id, kept.task.id);
                took = took.max(watched.records_read() - before);
                complete(&tasks, kept.task.id.0);
            }
            took
        };
        let settled = |kept: &mut KeptTask| {
            let is_done = !kept.task.id.0.is_multiple_of(10);
            kept.task.set_state(if is_done { TaskState::Completed } else { TaskState::Open });
        };
        // All tasks with the highest priority wait for the last one, which has the lowest.
        let waiting = |count: u64| {
            move |kept: &mut KeptTask| match kept.task.id.0 {
                id if id < count - 10 => {
                    (kept.task.priority, kept.task.depends_on) = (0, vec![TaskId(count)]);
                }
                _ => {}
            }
        };
        for (what, few, lots) in [
            ("open", read("/open/50", 50, &|_| {}), read("/open/5000", 5000, &|_| {})),
            ("completed", read("/done/50", 50, &settled), read("/done/5000", 5000, &settled)),
            (
                "waiting",
                read("/wait/50", 50, &waiting(50)),
                read("/wait/5000", 5000, &waiting(5000)),
            ),
        ] {
            assert_eq!(few, lots, "{what}");
            assert!(lots <= 3, "{what}: {lots}");
        }
    });
}

#[test]
fn a_task_that_is_moved_out_of_the_way_while_its_reason_to_wait_ends_is_not_lost() {
    every(|store| {
        let plain = KeptTasks::new(Arc::clone(&store), PROJECT);
        add(&plain, "1", 2, &[]);
        add(&plain, "2", 0, &[1]);
        // As the previous version stored it: in the lane of all open tasks.
        let kept = plain.get("TAS-2").unwrap();
        store.commit(&Commit { puts: vec![plain.put_for(&kept)], ..Commit::unsynced() }).unwrap();
        let meanwhile = plain.clone();
        let watched = WatchedStore::new(Arc::clone(&store)).before_commit(move |commit| {
            if commit.puts.iter().any(|put| put.key.name == "TAS-2") {
                meanwhile.set_state(TaskId(1), TaskState::Completed, NOW).unwrap();
            }
            Ok(())
        });
        let tasks = KeptTasks::new(Arc::new(watched), PROJECT);
        let _ = tasks.next(&none_skipped, &is_dead).unwrap();
        assert_eq!(next(&plain), Some(2));
    });
}
