//! Tasks: each has one number, is stored once, is done in order, and belongs to one session.

use std::sync::{Arc, Barrier};

use hookwright_events::task::{Task, TaskId, TaskState};
use hookwright_store::{
    Commit, KeptTask, KeptTasks, NewTask, SqliteStore, Store, TaskChange, TaskClaim, TaskError,
    limits,
};

use crate::situation::for_every_store;

const NOW: i64 = 1_000;

fn every(rule: impl Fn(KeptTasks)) {
    for_every_store(|store| rule(KeptTasks::new(store, "/projects/one")));
}

fn add(tasks: &KeptTasks, content: &str) -> TaskId {
    tasks.add(&NewTask::new(content), NOW).unwrap().task.id
}

fn after(content: &str, ids: &[&str]) -> NewTask {
    NewTask { depends_on: ids.iter().map(|id| (*id).to_owned()).collect(), ..NewTask::new(content) }
}

/// The first task of the list that can start now.
fn next(tasks: &KeptTasks) -> Option<Task> {
    let open = tasks.list(&[TaskState::Open]).unwrap();
    let mut ready = open.tasks.iter().filter(|kept| open.is_ready(&kept.task));
    ready.next().map(|kept| kept.task.clone())
}

fn contents(kept: &[KeptTask]) -> Vec<&str> {
    kept.iter().map(|kept| kept.task.content.as_str()).collect()
}

fn state(state: TaskState) -> TaskChange {
    TaskChange { state: Some(state), ..TaskChange::default() }
}

#[test]
fn a_task_is_kept_whole_and_found_by_what_people_type() {
    every(|tasks| {
        add(&tasks, "write the parser");
        let new = NewTask {
            priority: 0,
            session: Some("calm-fox".into()),
            state: TaskState::InProgress,
            ..after("  test it\n", &["tas-1", "1"])
        };
        let kept = tasks.add(&new, 2_000).unwrap();
        let task = Task {
            id: TaskId(2),
            content: "test it".into(),
            state: TaskState::InProgress,
            priority: 0,
            depends_on: vec![TaskId(1)],
            created_ms: 2_000,
            updated_ms: 2_000,
            session: Some("calm-fox".into()),
        };
        assert_eq!(kept.task, task);
        for id in ["TAS-2", "tas-2", "2"] {
            assert_eq!(tasks.get(id).unwrap(), kept);
        }
    });
}

#[test]
fn numbers_count_per_project() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
    let one = KeptTasks::new(Arc::clone(&store), "/projects/one");
    let two = KeptTasks::new(store, "/projects/two");
    let ids = [add(&one, "a"), add(&two, "a"), add(&one, "b"), add(&two, "b")];
    assert_eq!(ids, [TaskId(1), TaskId(1), TaskId(2), TaskId(2)]);
    assert_eq!(contents(&two.list(&[]).unwrap().tasks), ["a", "b"]);
}

#[test]
fn an_unfinished_task_with_the_same_text_is_not_added_again() {
    every(|tasks| {
        add(&tasks, "say \"hi\"");
        let again = |content: &str| tasks.add(&NewTask::new(content), NOW);
        for found in TaskState::UNFINISHED {
            tasks.set_state(TaskId(1), found, NOW).unwrap();
            let same = TaskError::Same { id: TaskId(1), state: found };
            assert_eq!(again(" say \"hi\" "), Err(same));
        }
        // A text that only contains it is another task.
        assert_eq!(again("say \"hi\" twice").unwrap().task.id, TaskId(2));
        let same = TaskError::Same { id: TaskId(1), state: TaskState::Blocked };
        let content = Some("say \"hi\"".to_owned());
        let renamed = TaskChange { content, ..TaskChange::default() };
        assert_eq!(tasks.update(TaskId(2), &renamed, NOW), Err(same));
        tasks.set_state(TaskId(1), TaskState::Completed, NOW).unwrap();
        assert_eq!(again("say \"hi\"").unwrap().task.id, TaskId(3));
        let same = TaskError::Same { id: TaskId(3), state: TaskState::Open };
        assert_eq!(tasks.update(TaskId(1), &state(TaskState::Open), NOW), Err(same));
        // A completed task is added even if an unfinished one has the same text.
        let done = NewTask { state: TaskState::Completed, ..NewTask::new("say \"hi\"") };
        assert_eq!(tasks.add(&done, NOW).unwrap().task.id, TaskId(4));
    });
}

#[test]
fn the_next_task_is_ready_urgent_and_old_in_this_order() {
    every(|tasks| {
        assert_eq!(next(&tasks), None);
        add(&tasks, "usual, older");
        add(&tasks, "usual, younger");
        tasks.add(&NewTask { priority: 3, ..NewTask::new("can wait") }, NOW).unwrap();
        let urgent = NewTask { priority: 0, ..after("urgent, not ready", &["TAS-1", "TAS-3"]) };
        tasks.add(&urgent, NOW).unwrap();
        let mut order = Vec::new();
        while let Some(task) = next(&tasks) {
            tasks.set_state(task.id, TaskState::Completed, NOW).unwrap();
            order.push(task.content);
        }
        assert_eq!(order, ["usual, older", "usual, younger", "can wait", "urgent, not ready"]);
    });
}

#[test]
fn a_task_waits_for_what_is_not_completed_however_that_ended() {
    every(|tasks| {
        add(&tasks, "first");
        tasks.add(&after("second", &["1"]), NOW).unwrap();
        for unfinished in [TaskState::InProgress, TaskState::Blocked, TaskState::Cancelled] {
            tasks.set_state(TaskId(1), unfinished, NOW).unwrap();
            assert_eq!(next(&tasks), None, "{unfinished:?}");
        }
        tasks.set_state(TaskId(1), TaskState::Completed, NOW).unwrap();
        assert_eq!(next(&tasks).map(|task| task.id), Some(TaskId(2)));
    });
}

#[test]
fn a_list_has_the_states_asked_for_in_order_and_knows_what_each_waits_for() {
    every(|tasks| {
        add(&tasks, "a");
        add(&tasks, "b");
        tasks.add(&NewTask { priority: 1, ..after("c", &["1", "2"]) }, NOW).unwrap();
        tasks.set_state(TaskId(1), TaskState::Completed, NOW).unwrap();
        let all = tasks.list(&[]).unwrap();
        assert_eq!(contents(&all.tasks), ["c", "a", "b"]);
        let open = tasks.list(&[TaskState::Open]).unwrap();
        assert_eq!(contents(&open.tasks), ["c", "b"]);
        assert_eq!(open.count(TaskState::Completed), 1);
        let waits: Vec<TaskId> = open.waits_for(&open.tasks[0].task).collect();
        assert_eq!(waits, [TaskId(2)]);
        assert!(!open.is_ready(&open.tasks[0].task) && open.is_ready(&open.tasks[1].task));
    });
}

#[test]
fn a_list_that_is_longer_than_a_page_is_whole() {
    let tasks =
        KeptTasks::new(Arc::new(SqliteStore::in_memory().expect("memory")), "/projects/one");
    for number in 0..limits::TASKS_PER_PAGE + 2 {
        let state = TaskState::Completed;
        tasks.add(&NewTask { state, ..NewTask::new(number.to_string()) }, NOW).unwrap();
    }
    let list = tasks.list(&[]).unwrap();
    let ids: Vec<u64> = list.tasks.iter().map(|kept| kept.task.id.0).collect();
    assert_eq!(ids, (1..=limits::TASKS_PER_PAGE as u64 + 2).collect::<Vec<_>>());
}

#[test]
fn a_circle_is_refused_and_named_from_its_beginning_to_its_end() {
    every(|tasks| {
        add(&tasks, "a");
        tasks.add(&after("b", &["1"]), NOW).unwrap();
        tasks.add(&after("c", &["2", "1"]), NOW).unwrap();
        let waits = |ids: &[&str]| TaskChange {
            depends_on: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
            ..TaskChange::default()
        };
        let itself = tasks.update(TaskId(1), &waits(&["TAS-1"]), NOW).unwrap_err();
        assert_eq!(itself.to_string(), "`TAS-1` would wait for itself: TAS-1 → TAS-1");
        let circle = tasks.update(TaskId(1), &waits(&["3"]), NOW).unwrap_err();
        let words = "`TAS-1` would wait for itself: TAS-1 → TAS-3 → TAS-2 → TAS-1";
        assert_eq!(circle.to_string(), words);
        assert_eq!(tasks.get("1").unwrap().task.depends_on, []);
        assert_eq!(tasks.update(TaskId(3), &waits(&[]), NOW).unwrap().task.depends_on, []);
    });
}

#[test]
fn an_unknown_id_is_named_with_the_nearest_one() {
    every(|tasks| {
        let unknown = |id: &str, nearest: Option<u64>| {
            let id = id.to_owned();
            TaskError::Unknown { id, nearest: nearest.map(TaskId) }
        };
        assert_eq!(tasks.get("TAS-1"), Err(unknown("TAS-1", None)));
        add(&tasks, "a");
        add(&tasks, "b");
        for (id, nearest) in [("TAS-12", 2), ("TSA-1", 1), ("TAS-0", 1), ("parser", 2)] {
            assert_eq!(tasks.get(id), Err(unknown(id, Some(nearest))));
            assert_eq!(tasks.add(&after("c", &[id]), NOW), Err(unknown(id, Some(nearest))));
        }
    });
}

#[test]
fn what_is_no_task_is_refused() {
    every(|tasks| {
        let refused = |new: NewTask| tasks.add(&new, NOW).unwrap_err().to_string();
        assert_eq!(refused(NewTask::new(" \n")), "the task has no text");
        let long = "x".repeat(limits::TASK_CONTENT_BYTES_MAX + 1);
        assert_eq!(
            refused(NewTask::new(long)),
            "bytes of a task's text: expected at most 65536 but found 65537"
        );
        assert_eq!(
            refused(NewTask { priority: 5, ..NewTask::new("x") }),
            "expected a priority from 0 (the highest) to 4 but found 5"
        );
        let ids = vec!["1"; limits::TASK_DEPENDENCIES_MAX + 1];
        assert_eq!(
            refused(after("x", &ids)),
            "tasks that one task waits for: expected at most 256 but found 257"
        );
    });
}

#[test]
fn a_change_touches_only_what_it_names() {
    every(|tasks| {
        let first = tasks.add(&NewTask { priority: 1, ..NewTask::new("a") }, NOW).unwrap();
        assert_eq!(tasks.update(TaskId(1), &TaskChange::default(), 9_000).unwrap(), first);
        let change = TaskChange { content: Some("A".into()), ..TaskChange::default() };
        let changed = tasks.update(TaskId(1), &change, 9_000).unwrap();
        let task = Task { content: "A".into(), updated_ms: 9_000, ..first.task };
        assert_eq!(changed.task, task);
        assert_eq!(tasks.get("1").unwrap(), changed);
    });
}

/// Claims the next task while every other session runs.
fn claim(tasks: &KeptTasks, session: &str, now_ms: i64) -> Option<KeptTask> {
    let claim = TaskClaim { session, fence: None, skip: &[], dead: &|_| Ok(None), now_ms };
    tasks.claim_next(&claim).unwrap().map(|claimed| claimed.kept)
}

#[test]
fn one_session_works_on_a_task() {
    every(|tasks| {
        add(&tasks, "a");
        let claimed = claim(&tasks, "calm-fox", 2_000).expect("no other session wanted it");
        assert_eq!(claimed.task.state, TaskState::InProgress);
        assert_eq!(
            (claimed.task.session.as_deref(), claimed.task.updated_ms),
            (Some("calm-fox"), 2_000)
        );
        assert_eq!(claim(&tasks, "red-owl", 3_000), None);
        // After a crash the session resumes its own task.
        let again = claim(&tasks, "calm-fox", 4_000).expect("its own");
        assert_eq!(again.task, Task { updated_ms: 4_000, ..claimed.task });
    });
}

#[test]
fn a_task_is_taken_over_only_as_it_was_read() {
    every(|tasks| {
        add(&tasks, "a");
        claim(&tasks, "calm-fox", 2_000).unwrap();
        let read = tasks.get("1").unwrap();
        assert!(tasks.take_over(&read, "red-owl", 3_000).unwrap());
        let taken = tasks.get("1").unwrap();
        let session = Some("red-owl".to_owned());
        assert_eq!(taken.task, Task { session, updated_ms: 3_000, ..read.task.clone() });
        assert!(!tasks.take_over(&read, "blue-jay", 4_000).unwrap(), "red-owl was faster");
        assert!(!tasks.take_over(&read, "calm-fox", 4_000).unwrap(), "its own no more");
        assert_eq!(tasks.get("1").unwrap(), taken);
    });
}

#[test]
fn of_many_processes_each_gets_another_task_and_every_new_task_gets_its_own_number() {
    let folder = tempfile::tempdir().unwrap();
    let barrier = Barrier::new(8);
    let mut claimed: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (folder, barrier) = (folder.path(), &barrier);
                scope.spawn(move || {
                    let store = Arc::new(SqliteStore::open(folder).unwrap());
                    let tasks = KeptTasks::new(store, "/projects/one");
                    barrier.wait();
                    add(&tasks, &format!("task {number}"));
                    let claimed = claim(&tasks, &format!("session-{number}"), NOW).unwrap();
                    claimed.task.id.0
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    claimed.sort_unstable();
    assert_eq!(claimed, (1..=8).collect::<Vec<_>>(), "each its own");
    let store = Arc::new(SqliteStore::open(folder.path()).unwrap());
    let list = KeptTasks::new(store, "/projects/one").list(&[]).unwrap();
    let mut ids: Vec<u64> = list.tasks.iter().map(|kept| kept.task.id.0).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=8).collect::<Vec<_>>());
}

#[test]
fn a_change_in_a_callers_commit_counts_only_for_the_task_that_was_read() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
    let tasks = KeptTasks::new(Arc::clone(&store), "/projects/one");
    add(&tasks, "a");
    let mut read = tasks.get("1").unwrap();
    read.task.set_state(TaskState::Completed);
    let commit = Commit { puts: vec![tasks.put_for(&read)], ..Commit::synced() };
    store.commit(&commit).unwrap();
    assert_eq!(tasks.get("1").unwrap().task, read.task);
    tasks.set_state(TaskId(1), TaskState::Open, NOW).unwrap();
    store.commit(&commit).unwrap_err();
    assert_eq!(tasks.get("1").unwrap().task.state, TaskState::Open);
}

#[test]
fn a_record_that_is_no_task_is_named() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
    let tasks = KeptTasks::new(Arc::clone(&store), "/projects/one");
    add(&tasks, "a");
    let mut put = tasks.put_for(&tasks.get("1").unwrap());
    put.value = "{}".into();
    store.commit(&Commit { puts: vec![put], ..Commit::synced() }).unwrap();
    let words = "the task `TAS-1` cannot be read: missing field `id` at line 1 column 2";
    assert_eq!(tasks.get("1").unwrap_err().to_string(), words);
    assert_eq!(tasks.list(&[]).unwrap_err().to_string(), words);
}
