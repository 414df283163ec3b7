use hookwright_events::{
    Answer, EventName, FiringEvent, FiringKey, Outcome, Output, ProcessOutcome, RunEvent,
    RunEventKind, SessionEvent, TurnEvent, TurnName, TurnResult,
};
use hookwright_store::{Append, Commit, JournalKey, SqliteStore, Store};
use serde_json::json;

use hookwright_events::SessionStatus;

use super::History;
use super::tests::known;

/// The history of a journal with these entries: number of the firing, and what happened.
fn history(kinds: Vec<(u64, RunEventKind)>) -> History {
    let store = SqliteStore::in_memory().expect("memory");
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
    RunEventKind::Firing(FiringEvent::Fired {
        event: EventName::resolve("session:end").expect("known"),
        subject: None,
        key: Some(key.to_owned()),
        data: None,
        late_answers: Vec::new(),
    })
}

fn decided() -> RunEventKind {
    RunEventKind::Firing(FiringEvent::Decided { decision: json!({}) })
}

fn starting(hook: &str) -> RunEventKind {
    RunEventKind::Firing(FiringEvent::HookStarting {
        hook: hook.to_owned(),
        attempt: 1,
        awaited: true,
        run_id: Some(format!("run-of-{hook}")),
        digest: None,
    })
}

fn keys(history: &mut History) -> Vec<String> {
    history.left_in_background().into_iter().map(|(key, _)| key.to_string()).collect()
}

#[test]
fn an_interrupted_session_whose_last_hooks_were_killed_has_ended_and_ends_again_later() {
    let mut history = history(vec![
        (1, fired("closing/user:interrupt/0/interrupted-0")),
        (1, decided()),
        (2, fired("closing/session:end/0/interrupted-0")),
        (2, starting("goodbye")),
    ]);
    assert_eq!(history.endings, 1);
    assert_eq!(history.unfinished_runs(), ["run-of-goodbye"]);
    // Work in progress is repeated; the real end has a firing of its own.
    assert_eq!(keys(&mut history), ["closing/session:end/0/interrupted-0"]);
    assert_eq!(known(&mut history, "closing/session:end/1/completed"), "begin");
}

#[test]
fn the_last_hooks_of_a_session_that_was_not_interrupted_are_resumed() {
    let mut history =
        history(vec![(1, fired("closing/session:end/0/completed")), (1, starting("goodbye"))]);
    assert_eq!(history.endings, 0);
    assert_eq!(keys(&mut history), Vec::<String>::new());
    assert_eq!(known(&mut history, "closing/session:end/0/completed"), "take up");
}

fn ended(status: SessionStatus) -> RunEventKind {
    RunEventKind::Session(SessionEvent::SessionEnded { status, reason: String::new() })
}

#[test]
fn an_interrupt_at_the_end_puts_the_end_off_and_one_before_it_is_an_end_of_its_own() {
    let at_end = [(1, fired("closing/session:end/0/completed")), (1, starting("goodbye"))];
    let mut put_off = history([&at_end[..], &[(0, ended(SessionStatus::Interrupted))]].concat());
    assert!(put_off.is_at_its_end());
    assert_eq!(put_off.endings, 0);
    assert_eq!(known(&mut put_off, "closing/session:end/0/completed"), "take up");
    let failed = history([&at_end[..], &[(0, ended(SessionStatus::Failed))]].concat());
    assert_eq!((failed.endings, failed.is_at_its_end()), (1, false));
    let interrupted = history(vec![
        (1, fired("closing/user:interrupt/0/interrupted-0")),
        (1, decided()),
        (0, ended(SessionStatus::Interrupted)),
    ]);
    assert_eq!((interrupted.endings, interrupted.is_at_its_end()), (1, false));
}

#[test]
fn a_repeated_turn_gets_the_same_output_again_except_that_of_hooks_at_its_start() {
    let turn = TurnName { stage: 1, iteration: 2 };
    let says = |words: &[&str]| {
        RunEventKind::Firing(FiringEvent::Decided {
            decision: json!({ "additional_context": words }),
        })
    };
    let late = Answer { additional_context: vec!["late".to_owned()], ..Answer::default() };
    let RunEventKind::Firing(FiringEvent::Fired { event, subject, key: _, data, .. }) = fired("")
    else {
        panic!()
    };
    let start = RunEventKind::Firing(FiringEvent::Fired {
        event,
        subject,
        key: Some("iteration:start/0/2".to_owned()),
        data,
        late_answers: vec![late],
    });
    let result = TurnResult { error: Some("no key".to_owned()), ..TurnResult::default() };
    let read = history(vec![
        (1, fired("iteration:complete/0/1")),
        (1, says(&["tests"])),
        (2, start),
        (2, says(&["late", "start"])),
        (
            0,
            RunEventKind::Turn(TurnEvent::TurnStarting {
                turn: turn.clone(),
                attempt: 1,
                run_id: "a".into(),
                agent: None,
            }),
        ),
        (
            0,
            RunEventKind::Turn(TurnEvent::TurnEnded {
                turn: turn.clone(),
                attempt: 1,
                result,
                duration_ms: 1.0,
            }),
        ),
        (3, fired("iteration:error/0/2")),
        (3, says(&["error"])),
        (0, ended(SessionStatus::Failed)),
    ]);
    let given = read.pending.block().expect("something");
    assert!(given.ends_with("\n\ntests\n\nlate\n\nerror"), "{given}");
    assert_eq!((read.turns[&turn].redone, read.last_begun(1)), (1, 2));
}

#[test]
fn a_child_belongs_to_its_hook_until_that_has_ended_by_itself() {
    let spawned = |hook: &str, session: &str| {
        RunEventKind::Firing(FiringEvent::HookSpawned {
            hook: hook.to_owned(),
            session: session.to_owned(),
            pipeline: "review".to_owned(),
        })
    };
    let ended = |hook: &str, outcome: Outcome| {
        RunEventKind::Firing(FiringEvent::HookEnded {
            hook: hook.to_owned(),
            attempt: 1,
            outcome,
            duration_ms: 1.0,
        })
    };
    let interrupted =
        || Outcome::Process(ProcessOutcome::Interrupted { output: Output::default() });
    let timed_out =
        || Outcome::Process(ProcessOutcome::TimedOut { after_ms: 1, output: Output::default() });
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

fn reported(hook: &str) -> RunEventKind {
    let report = serde_json::from_value(json!({
        "id": hook, "type": "shell", "source": "", "status": "success", "exit_code": 0,
        "stdout": "", "stderr": "", "attempts": 1, "duration_ms": 1.0, "reason": null
    }));
    RunEventKind::Firing(FiringEvent::HookReported { report: report.expect("a report") })
}

#[test]
fn a_firing_by_a_hook_is_resumed_with_the_hook_until_that_was_reported() {
    let below = "1/hooks/iteration:complete#0#1/git:post_commit";
    let told = vec![
        (1, fired("iteration:complete/2/1")),
        (1, starting("hooks/iteration:complete#0")),
        (2, fired(below)),
        (2, starting("notify")),
        (2, starting("slow")),
        (2, reported("notify")),
        (2, decided()),
    ];
    // The hook was interrupted: its firing is resumed with it, and not twice.
    let mut cut_off = history(told.clone());
    assert_eq!(keys(&mut cut_off), Vec::<String>::new());
    assert_eq!(known(&mut cut_off, "iteration:complete/2/1"), "take up");
    // The hook was reported: its background hooks continue by themselves, in the same stage.
    let over = [(1, reported("hooks/iteration:complete#0")), (1, decided())];
    let mut reported = history([&told[..], &over].concat());
    assert_eq!(
        reported.key_above(&FiringKey::parse(below)),
        &FiringKey::parse("iteration:complete/2/1")
    );
    assert_eq!(keys(&mut reported), [below]);
}

#[test]
fn processes_of_a_firing_without_a_key_are_ended_too() {
    let mut kind = fired("");
    if let RunEventKind::Firing(FiringEvent::Fired { key, .. }) = &mut kind {
        *key = None;
    }
    let mut told =
        vec![(1, kind), (1, starting("guard")), (1, starting("other")), (1, reported("other"))];
    let waits = history(told.clone());
    assert_eq!(waits.unfinished_runs(), ["run-of-guard"]);
    assert_eq!(waits.committing_runs(), Vec::<String>::new());
    told.push((1, committing("guard")));
    assert_eq!(history(told).committing_runs(), ["run-of-guard"]);
}

fn committing(hook: &str) -> RunEventKind {
    RunEventKind::Firing(FiringEvent::HookCommitting {
        hook: hook.to_owned(),
        head: None,
        tree: "t".to_owned(),
    })
}

#[test]
fn a_run_commits_from_its_announcement_to_its_end() {
    let ended = RunEventKind::Firing(FiringEvent::HookEnded {
        hook: "commit".to_owned(),
        attempt: 1,
        outcome: Outcome::Process(ProcessOutcome::TimedOut {
            after_ms: 1,
            output: Output::default(),
        }),
        duration_ms: 1.0,
    });
    let mut told =
        vec![(1, fired("iteration:complete/0/1")), (1, starting("commit")), (1, starting("other"))];
    assert_eq!(history(told.clone()).committing_runs(), Vec::<String>::new());
    told.push((1, committing("commit")));
    let commits = history(told.clone());
    assert_eq!(commits.committing_runs(), ["run-of-commit"]);
    assert_eq!(commits.unfinished_runs(), ["run-of-commit", "run-of-other"]);
    told.push((1, ended));
    assert_eq!(history(told.clone()).committing_runs(), Vec::<String>::new());
    // Retried, it has announced nothing so far.
    told.push((1, starting("commit")));
    assert_eq!(history(told.clone()).committing_runs(), Vec::<String>::new());
    told.extend([(1, committing("commit")), (1, reported("commit"))]);
    assert_eq!(history(told).committing_runs(), Vec::<String>::new());
}

#[test]
fn a_child_is_found_with_the_run_of_its_hook() {
    let spawned = RunEventKind::Firing(FiringEvent::HookSpawned {
        hook: "review".to_owned(),
        session: "s--a".to_owned(),
        pipeline: "review".to_owned(),
    });
    let told = vec![(1, fired("stage:complete/0")), (1, starting("review")), (1, spawned)];
    let expected = [("run-of-review".to_owned(), "s--a".to_owned())];
    assert_eq!(history(told).runs_with_child(), expected);
}
