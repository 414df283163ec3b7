use super::*;
use crate::TaskId;

fn iteration(event: IterationEvent, iteration: u32, redone: u32) -> FiringKey {
    Point::Iteration { event, stage: 0, iteration, redone }.into()
}

fn closing(event: ClosingEvent, status: SessionStatus, resumes: Option<u32>) -> FiringKey {
    Point::Closing { event, endings: 1, status, resumes }.into()
}

fn execution(event: ExecutionEvent) -> FiringKey {
    Point::Execution { event, stage: 1, execution: 7 }.into()
}

fn task(occasion: Occasion, part: TaskHooks) -> FiringKey {
    TaskFiring { task: TaskId(3), occasion, part }.into()
}

/// The keys as in stored journals.
fn all() -> Vec<(&'static str, FiringKey)> {
    let done = Occasion::Execution { stage: 0, execution: 7 };
    let again = |key: FiringKey, again| FiringKey { again, ..key };
    vec![
        ("session:start/0", Point::SessionStart { endings: 0 }.into()),
        ("session:start/12", Point::SessionStart { endings: 12 }.into()),
        ("session:stop/1", Point::SessionStop { time: 1 }.into()),
        (
            "closing/session:end/1/completed",
            closing(ClosingEvent::SessionEnd, SessionStatus::Completed, None),
        ),
        (
            "closing/session:stop/1/failed",
            closing(ClosingEvent::SessionStop, SessionStatus::Failed, None),
        ),
        (
            "closing/user:interrupt/1/interrupted-0",
            closing(ClosingEvent::UserInterrupt, SessionStatus::Interrupted, Some(0)),
        ),
        ("stage:start/0", Point::StageStart { stage: 0 }.into()),
        ("stage:complete/2", Point::StageComplete { stage: 2 }.into()),
        ("iteration:start/0/3", iteration(IterationEvent::Start, 3, 0)),
        ("iteration:complete/0/3/1", iteration(IterationEvent::Complete, 3, 1)),
        ("iteration:error/0/12", iteration(IterationEvent::Error, 12, 0)),
        ("iteration:error/0/12/2/again-3", again(iteration(IterationEvent::Error, 12, 2), 3)),
        ("turn/0/3/2/7", Point::InTurn { stage: 0, iteration: 3, attempt: 2, number: 7 }.into()),
        ("execution:pre_start/1/7", execution(ExecutionEvent::PreStart)),
        ("execution:post_start/1/7", execution(ExecutionEvent::PostStart)),
        ("execution:pre_end/1/7", execution(ExecutionEvent::PreEnd)),
        ("execution:post_end/1/7/again-1", again(execution(ExecutionEvent::PostEnd), 1)),
        ("task:complete/TAS-3/2", task(Occasion::Asked(2), TaskHooks::Whole)),
        ("task:complete/TAS-3/2/before", task(Occasion::Asked(2), TaskHooks::Before)),
        ("task:complete/TAS-3/0-7", task(done, TaskHooks::Whole)),
        ("task:complete/TAS-3/0-7/after", task(done, TaskHooks::After)),
        ("stage:start/0/again-2", again(Point::StageStart { stage: 0 }.into(), 2)),
        (
            "closing/session:end/1/completed/again-1",
            again(closing(ClosingEvent::SessionEnd, SessionStatus::Completed, None), 1),
        ),
        ("12/commit#3/git:post_commit", FiringKey::below("12", "commit", 3, "git:post_commit")),
    ]
}

#[test]
fn every_kind_of_key_is_written_as_it_is_stored_and_read_again() {
    for (text, key) in all() {
        assert_eq!(key.to_string(), text);
        assert_eq!(FiringKey::parse(text), key);
        assert!(!matches!(key.point, Point::Unknown(_)), "{text}");
    }
}

#[test]
fn a_key_names_its_event_and_the_stage_whose_hooks_are_fired() {
    for (text, event, stage) in [
        ("session:start/0", "session:start", None),
        ("session:stop/1", "session:stop", None),
        ("closing/session:end/0/failed", "session:end", None),
        ("stage:complete/2", "stage:complete", Some(2)),
        ("iteration:complete/2/5", "iteration:complete", Some(2)),
        ("iteration:start/2/5/1/again-1", "iteration:start", Some(2)),
        ("execution:post_end/1/7", "execution:post_end", Some(1)),
        ("task:complete/TAS-3/0-7", "task:complete", None),
        ("12/commit#1/git:post_commit", "git:post_commit", None),
    ] {
        let key = FiringKey::parse(text);
        let named = key.event();
        let named = named.as_ref().map(EventName::as_str);
        assert_eq!((named, key.stage()), (Some(event), stage), "{text}");
    }
}

#[test]
fn the_key_of_what_a_hook_fires_names_the_firing_and_the_hook_whatever_that_is_called() {
    for hook in ["commit", "hookwright/iteration:complete#1", "a/b#c", "0/1"] {
        let key = FiringKey::below("12", hook, 3, "git:post_commit");
        assert_eq!(key.fired_by(), Some((12, hook)));
        assert_eq!(FiringKey::parse(&key.to_string()), key);
    }
    let outer = FiringKey::below("12", "commit", 1, "git:post_commit");
    let inner = FiringKey::below(&outer.to_string(), "push", 2, "git:pre_push");
    assert_eq!(inner.to_string(), "12/commit#1/git:post_commit/push#2/git:pre_push");
    assert_eq!(inner.fired_by(), Some((12, "commit#1/git:post_commit/push")));
    for other in ["session:start/0", "iteration:complete/0/1/2", "closing/session:end/0/failed"] {
        assert_eq!(FiringKey::parse(other).fired_by(), None, "{other}");
    }
}

#[test]
fn a_key_of_a_later_version_is_kept_as_it_is() {
    for text in [
        "",
        "/",
        "session:start",
        "session:start/x",
        "session:start/00",
        "session:nap/1",
        "closing/session:end/1",
        "closing/session:end/0/asleep",
        "closing/session:nap/0/completed",
        "stage:start/0/again-0",
        "stage:start/0/again-x",
        "iteration:start/0/3/0",
        "iteration:start/0/3/1/2",
        "execution:pre_start/0/3/1",
        "task:complete/3",
        "task:complete/tas-3/2",
        "task:complete/TAS-3/2/x",
        "99999999999999999999/a#1/b",
        "é/ü",
    ] {
        let key = FiringKey::parse(text);
        assert_eq!(key.point, Point::Unknown(text.to_owned()));
        assert_eq!((key.to_string().as_str(), key.event(), key.stage()), (text, None, None));
    }
}
