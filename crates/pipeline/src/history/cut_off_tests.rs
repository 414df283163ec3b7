use hookwright_events::{EventName, Outcome, Output, RunEvent, RunEventKind};
use hookwright_store::{Append, Commit, JournalKey, MemoryStore, Store};
use serde_json::json;

use super::{History, Step};

/// The history of a journal with these entries: number of the firing, and what happened.
fn history(kinds: Vec<(u64, RunEventKind)>) -> History {
    let store = MemoryStore::default();
    let journal = JournalKey { project: "/p".into(), session: "s".into() };
    let entries: Vec<String> = kinds
        .into_iter()
        .map(|(firing, kind)| {
            let event = RunEvent { version: 1, firing, at: String::new(), session: None, kind };
            serde_json::to_string(&event).expect("plain data")
        })
        .collect();
    let mut commit = Commit::synced();
    commit.append = Some(Append { journal: &journal, expected: 0, entries: &entries });
    store.commit(&commit).expect("kept");
    History::read(&store, &journal).expect("read")
}

fn fired(key: &str) -> RunEventKind {
    RunEventKind::Fired {
        event: EventName::resolve("session:end").expect("known"),
        subject: None,
        key: Some(key.to_owned()),
        data: None,
        late_answers: Vec::new(),
    }
}

fn decided() -> RunEventKind {
    RunEventKind::Decided { decision: json!({}) }
}

fn starting(hook: &str) -> RunEventKind {
    RunEventKind::HookStarting {
        hook: hook.to_owned(),
        attempt: 1,
        awaited: true,
        run_id: Some(format!("run-of-{hook}")),
        digest: None,
    }
}

fn keys(history: &mut History) -> Vec<String> {
    history.left_in_background().into_iter().map(|(key, _)| key).collect()
}

#[test]
fn an_interrupted_session_whose_last_hooks_were_cut_off_has_ended_and_ends_once_more_later() {
    let mut history = history(vec![
        (1, fired("closing/user:interrupt/0/interrupted-0")),
        (1, decided()),
        (2, fired("closing/session:end/0/interrupted-0")),
        (2, starting("goodbye")),
    ]);
    assert_eq!(history.endings, 1);
    assert_eq!(history.unfinished_runs(), ["run-of-goodbye"]);
    // What was under way is done again; the real end has a firing of its own.
    assert_eq!(keys(&mut history), ["closing/session:end/0/interrupted-0"]);
    assert!(matches!(history.step("closing/session:end/1/completed"), Step::Begin));
}

#[test]
fn the_last_hooks_of_a_session_that_was_not_interrupted_are_taken_up_where_they_were() {
    let mut history =
        history(vec![(1, fired("closing/session:end/0/completed")), (1, starting("goodbye"))]);
    assert_eq!(history.endings, 0);
    assert_eq!(keys(&mut history), Vec::<String>::new());
    assert!(matches!(history.step("closing/session:end/0/completed"), Step::TakeUp(_)));
}

#[test]
fn a_child_belongs_to_its_hook_until_that_has_ended_by_itself() {
    let spawned = |hook: &str, session: &str| RunEventKind::HookSpawned {
        hook: hook.to_owned(),
        session: session.to_owned(),
        pipeline: "review".to_owned(),
    };
    let ended = |hook: &str, outcome: Outcome| RunEventKind::HookEnded {
        hook: hook.to_owned(),
        attempt: 1,
        outcome,
        duration_ms: 1.0,
    };
    let interrupted = || Outcome::Interrupted { output: Output::default() };
    let timed_out = || Outcome::TimedOut { after_ms: 1, output: Output::default() };
    let history = history(vec![
        (1, fired("stage:complete/0")),
        (1, spawned("done", "s--a")),
        (1, ended("done", timed_out())),
        (1, spawned("tried-again", "s--b")),
        (1, ended("tried-again", timed_out())),
        (1, spawned("tried-again", "s--b-2")),
        (1, spawned("interrupted", "s--c")),
        (1, ended("interrupted", interrupted())),
        // The same hook in another firing has a child of its own.
        (2, spawned("done", "s--d")),
    ]);
    let open = history.children.into_iter().map(|(of, child)| (of, child.session));
    let mut open: Vec<((u64, String), String)> = open.collect();
    open.sort();
    let expected = [(1, "interrupted", "s--c"), (1, "tried-again", "s--b-2"), (2, "done", "s--d")];
    let expected =
        expected.map(|(firing, hook, name)| ((firing, hook.to_owned()), name.to_owned()));
    assert_eq!(open, expected);
}
