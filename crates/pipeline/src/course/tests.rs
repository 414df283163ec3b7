//! The course as a table: happenings go in, steps come out.

mod world;

use std::time::Duration;

use hookwright_engine::limits::STOP_BLOCKS_MAX;
use hookwright_events::{
    FailureCause, PauseCause, RunEventKind, SessionEvent, TaskState, TurnEvent, TurnResult,
    WorkSource,
};

use super::way::StageBounds;
use super::{EarlyEnd, GivenUp};
use crate::limits::ERRORS_IN_A_ROW_MAX;
use crate::pending_output::Last;
use crate::plan::Reason;
use world::{World, aborts, answers, blocks, decides, failed, fixed, history, judgment, queue};

/// The steps between the start of the session's first stage and the end of its last.
fn within(steps: &[String]) -> Vec<&str> {
    let from = steps.iter().position(|step| step == "stage:start/0").map_or(0, |at| at + 1);
    let to = steps.iter().position(|step| step.starts_with("stage:complete/"));
    steps[from..to.unwrap_or(steps.len())].iter().map(String::as_str).collect()
}

/// The steps after the first stage.
fn behind(steps: &[String]) -> Vec<&str> {
    let from = steps.iter().position(|step| step == "stage:complete/0").expect("it ends");
    steps[from + 1..].iter().map(String::as_str).collect()
}

/// The last step.
fn end(steps: &[String]) -> &str {
    steps.last().map_or("", String::as_str)
}

fn turns(steps: &[String]) -> usize {
    steps.iter().filter(|step| step.starts_with("turn ")).count()
}

#[test]
fn a_session_runs_its_stages_and_iterations_in_order() {
    let steps = World::default().steps([fixed(2), fixed(1)]);
    assert_eq!(
        steps,
        [
            "session:start/0",
            "stage:start/0",
            "iteration:start/0/1",
            "turn 1.1",
            "iteration:complete/0/1",
            "iteration:start/0/2",
            "turn 1.2",
            "iteration:complete/0/2",
            "stage:complete/0",
            "stage:start/1",
            "iteration:start/1/1",
            "turn 2.1",
            "iteration:complete/1/1",
            "stage:complete/1",
            "session:stop/1",
            "closing/session:end/0/completed",
            "completed: completed",
        ]
    );
}

#[test]
fn a_stage_ends_by_judgment_or_by_its_bounds() {
    let stop = || decides("stop");
    let says = |stops: &[u32]| {
        stops.iter().fold(World::default(), |world, number| world.turn(*number, stop()))
    };
    let late = |bounds| StageBounds { max_runtime: Some(Duration::from_secs(25)), ..bounds };
    for (mut world, bounds, iterations, reason) in [
        (says(&[]), fixed(3), 3, "completed"),
        (says(&[1]), fixed(3), 3, "completed"),
        (says(&[2]), judgment(1, 1, 9), 2, "completed"),
        (says(&[1, 3, 4]), judgment(2, 1, 9), 4, "completed"),
        (says(&[1, 2]), judgment(1, 2, 9), 2, "completed"),
        (says(&[]), judgment(1, 1, 4), 4, "max_iterations"),
        (says(&[]).turns_take(10), late(fixed(9)), 3, "max_runtime"),
        (says(&[3]).turns_take(10), late(judgment(1, 1, 9)), 3, "completed"),
    ] {
        let steps = world.steps([bounds]);
        assert_eq!(turns(&steps), iterations, "{steps:?}");
        assert_eq!(end(&steps), format!("completed: {reason}"));
    }
    let over = TurnResult { out_of_time: true, ..failed("the time is over") };
    let steps = World::default().turn(2, over).steps([fixed(9)]);
    assert_eq!((turns(&steps), end(&steps)), (2, "completed: max_runtime"));
}

#[test]
fn the_session_waits_between_iterations_but_not_after_the_last_or_before_a_recovery() {
    let slow = || StageBounds { delay: Duration::from_secs(5), ..fixed(3) };
    let steps = World::default().steps([slow()]);
    let waits = steps.iter().filter(|step| *step == "wait 5s").count();
    assert_eq!(waits, 2);
    let steps = World::default()
        .turn(1, failed("broken"))
        .hooks("iteration:error/0/1", answers())
        .reports("iteration:error/0/1", Last::Failure)
        .steps([slow()]);
    let waits = steps.iter().filter(|step| *step == "wait 5s").count();
    assert_eq!(waits, 1, "{steps:?}");
    let late = StageBounds { max_runtime: Some(Duration::from_secs(12)), ..slow() };
    let steps = World::default().turns_take(10).steps([late]);
    assert!(steps.contains(&"wait 2s".to_owned()), "{steps:?}");
}

#[test]
fn a_failure_ends_the_session_unless_hooks_answer_it_and_not_too_often() {
    let steps = World::default().turn(1, failed("broken")).steps([fixed(3)]);
    assert_eq!(
        steps[4..],
        [
            "iteration:error/0/1",
            "closing/session:stop/0/failed",
            "closing/session:end/0/failed",
            "failed: iteration 1 failed: broken",
        ]
    );
    let steps = World::default()
        .turn(1, failed("broken"))
        .hooks("iteration:error/0/1", answers())
        .steps([fixed(3)]);
    assert_eq!((turns(&steps), end(&steps)), (3, "completed: completed"));
    let mut world = World::default();
    for iteration in 1..=ERRORS_IN_A_ROW_MAX {
        let key = format!("iteration:error/0/{iteration}");
        world = world.turn(iteration, failed("broken")).hooks(&key, answers());
    }
    let steps = world.steps([fixed(ERRORS_IN_A_ROW_MAX + 9)]);
    let words = format!("failed: {ERRORS_IN_A_ROW_MAX} iterations failed in a row: broken");
    assert_eq!(end(&steps), words);
}

#[test]
fn an_abort_at_any_point_ends_the_session() {
    for (key, status) in [
        ("session:start/0", "aborted: enough"),
        ("stage:start/0", "aborted: enough"),
        ("iteration:start/0/1", "aborted: enough"),
        ("iteration:complete/0/1", "aborted: enough"),
        ("stage:complete/0", "aborted: enough"),
        ("session:stop/1", "aborted: enough"),
        ("closing/session:end/0/completed", "aborted: enough"),
    ] {
        let steps = World::default().hooks(key, aborts("enough")).steps([fixed(1)]);
        assert_eq!(end(&steps), status, "{key}");
        let ends = steps.iter().filter(|step| step.starts_with("closing/session:end/")).count();
        assert_eq!(ends, 1, "{key}");
    }
    let failed = World::default().turn(1, failed("broken"));
    for key in ["closing/session:stop/0/failed", "closing/session:end/0/failed"] {
        let steps = failed.clone().hooks(key, aborts("enough")).steps([fixed(1)]);
        let words = "aborted: enough; before that it was failed: iteration 1 failed: broken";
        assert_eq!(end(&steps), words, "{key}");
    }
}

#[test]
fn pieces_of_work_are_taken_one_by_one_until_none_is_left() {
    let steps = World::default().items(WorkSource::Issues, &["1", "2"]).steps([queue(1, 9)]);
    assert_eq!(
        within(&steps),
        [
            "execution:pre_start/0/1",
            "execution:post_start/0/1",
            "iteration:start/0/1",
            "turn 1.1",
            "iteration:complete/0/1",
            "execution:pre_end/0/1",
            "1 done after 1: -",
            "execution:post_end/0/1",
            "execution:pre_start/0/2",
            "execution:post_start/0/2",
            "iteration:start/0/2",
            "turn 1.2",
            "iteration:complete/0/2",
            "execution:pre_end/0/2",
            "2 done after 1: -",
            "execution:post_end/0/2",
        ]
    );
}

#[test]
fn the_state_of_a_work_item_follows_from_its_iterations_its_hooks_and_its_agent() {
    let one = || World::default().items(WorkSource::Tasks, &["TAS-1"]);
    let stop = || decides("stop");
    let late = StageBounds { max_runtime: Some(Duration::from_secs(5)), ..queue(3, 9) };
    for (mut world, bounds, ended) in [
        (one().turn(1, stop()), queue(3, 9), "TAS-1 done after 1: -"),
        (one(), queue(3, 9), "TAS-1 done after 3: -"),
        (one().turn(1, failed("broken")), queue(3, 9), "TAS-1 failed after 1: broken"),
        (one(), queue(3, 2), "TAS-1 open after 2: max_iterations was reached before it was done"),
        (
            one().turns_take(9),
            late,
            "TAS-1 open after 1: max_runtime was reached before it was done",
        ),
        (one(), queue(3, 3), "TAS-1 done after 3: -"),
        (
            one().hooks("execution:pre_start/0/1", blocks("not this one")),
            queue(3, 9),
            "TAS-1 blocked after 0: not this one",
        ),
        (
            one().hooks("execution:pre_end/0/1", blocks("not good")),
            queue(1, 9),
            "TAS-1 failed after 1: not good",
        ),
        (one().refuses("TAS-1", "no"), queue(1, 9), "TAS-1 failed after 1: no"),
        (one().task("TAS-1", TaskState::Completed), queue(3, 9), "TAS-1 done after 1: -"),
        (
            one().task("TAS-1", TaskState::Blocked),
            queue(3, 9),
            "TAS-1 blocked after 1: the agent says it is blocked",
        ),
        (
            one().task("TAS-1", TaskState::Open),
            queue(3, 9),
            "TAS-1 open after 1: the agent has reopened it",
        ),
        (
            one().task("TAS-1", TaskState::Cancelled),
            queue(3, 9),
            "TAS-1 blocked after 1: the agent has cancelled it",
        ),
        (
            one()
                .turn(1, failed("broken"))
                .hooks("iteration:error/0/1", answers())
                .reports("iteration:error/0/1", Last::Failure),
            queue(2, 9),
            "TAS-1 done after 2: -",
        ),
    ] {
        let steps = world.steps([bounds]);
        let ends: Vec<&String> = steps.iter().filter(|step| step.starts_with("TAS-1 ")).collect();
        assert_eq!(ends, [ended], "{steps:?}");
    }
}

#[test]
fn hooks_of_a_task_are_asked_once_and_not_about_one_that_the_agent_has_closed() {
    let steps = World::default().items(WorkSource::Tasks, &["TAS-1"]).steps([queue(1, 9)]);
    assert!(steps.contains(&"complete TAS-1".to_owned()), "{steps:?}");
    let closed = World::default().task("TAS-1", TaskState::Completed);
    let steps = closed.items(WorkSource::Tasks, &["TAS-1"]).steps([queue(1, 9)]);
    assert!(!steps.contains(&"complete TAS-1".to_owned()), "{steps:?}");
}

fn gives_up(cause: FailureCause, until: Option<i64>) -> Option<GivenUp> {
    Some(GivenUp { cause, reason: format!("{cause:?}"), until })
}

#[test]
fn the_next_agent_takes_over_and_the_session_waits_or_pauses_if_none_can_work() {
    use FailureCause::{Auth, Crash, Outage, Quota, RateLimit};
    let two = || StageBounds { agents: vec!["one".into(), "two".into()], ..fixed(1) };
    // An hour after the world's time.
    let later = Some(1_767_326_645_000);
    for (attempts, bounds, expected) in [
        (vec![gives_up(RateLimit, later)], two(), vec!["given up: RateLimit", "agent 1 #2"]),
        (
            vec![gives_up(RateLimit, later), gives_up(Quota, None)],
            two(),
            vec![
                "given up: RateLimit",
                "agent 1 #2",
                "given up: Quota",
                "wait for one: RateLimit",
                "agent 0 #3",
            ],
        ),
        (
            vec![gives_up(Outage, None)],
            fixed(1),
            vec!["given up: Outage", "wait for one: Outage", "agent 0 #2"],
        ),
        (vec![gives_up(Crash, None)], two(), vec![]),
        (vec![gives_up(Auth, None)], fixed(1), vec![]),
    ] {
        let steps = World::default().attempts(attempts).steps([bounds]);
        let told = within(&steps);
        assert_eq!(told[2..told.len() - 1], expected, "{steps:?}");
        assert_eq!(end(&steps), "completed: completed");
    }
    let all = [gives_up(Quota, None), gives_up(Quota, None)];
    let steps = World::default().attempts(all).steps([two()]);
    assert_eq!(
        steps[steps.len() - 3..],
        [
            "paused: one: Quota; two: Quota",
            "closing/session:end/0/paused",
            "paused: one: Quota; two: Quota"
        ]
    );
}

#[test]
fn a_session_that_has_cost_as_much_as_it_may_pauses_before_its_next_turn_or_piece_of_work() {
    let words = "paused: the session has cost $1.20, and max_cost is $1.00";
    let dear = || World::default().turns_cost(0.6);
    let steps = dear().steps_behind([fixed(9)], Some(1.0), Default::default());
    assert_eq!((turns(&steps), end(&steps)), (3, words));
    let mut world = dear().items(WorkSource::Issues, &["1", "2", "3"]);
    let steps = world.steps_behind([queue(1, 9)], Some(1.0), Default::default());
    assert_eq!((turns(&steps), end(&steps)), (2, words));
    let stage = StageBounds { max_cost: Some(1.0), ..fixed(9) };
    let steps = dear().steps([stage, fixed(1)]);
    assert_eq!(end(&steps), "paused: stage loop has cost $1.20, and max_cost is $1.00");
}

#[test]
fn a_hook_that_blocks_the_stop_gets_one_more_iteration_until_a_bound_is_reached() {
    let blocked = || World::default().hooks("session:stop/1", blocks("not yet"));
    let steps = blocked().steps([fixed(1)]);
    assert_eq!(
        behind(&steps),
        [
            "session:stop/1",
            "tell: The session must not stop yet: not yet",
            "iteration:start/0/2",
            "turn 1.2",
            "iteration:complete/0/2",
            "session:stop/2",
            "closing/session:end/0/completed",
            "completed: completed",
        ]
    );
    let hard = StageBounds { hard_max: Some(1), ..fixed(1) };
    let late = StageBounds { max_runtime: Some(Duration::from_secs(5)), ..fixed(1) };
    for (mut world, bounds, why) in [
        (blocked(), hard, "max_iterations is reached"),
        (blocked().turns_take(9), late, "max_runtime is reached"),
    ] {
        let note = format!("note: a hook blocked the stop, but {why}: not yet");
        assert_eq!(behind(&world.steps([bounds]))[1], note);
    }
    let mut world = World::default();
    for time in 1..=STOP_BLOCKS_MAX + 2 {
        world = world.hooks(&format!("session:stop/{time}"), blocks("never"));
    }
    let steps = world.steps([fixed(1)]);
    assert_eq!(turns(&steps), 1 + STOP_BLOCKS_MAX as usize);
    let more = World::default().items(WorkSource::Issues, &["1"]);
    let steps = more.hooks("session:stop/1", blocks("not yet")).steps([queue(1, 1)]);
    assert_eq!(behind(&steps)[1], "tell: The session must not stop yet: not yet");
}

#[test]
fn reports_after_the_last_iteration_are_delivered_once_if_necessary() {
    let reports = |last| World::default().reports("iteration:complete/0/1", last);
    assert_eq!(behind(&reports(Last::Nothing).steps([fixed(1)]))[0], "session:stop/1");
    let steps = reports(Last::Failure).steps([fixed(1)]);
    assert_eq!(
        behind(&steps)[..5],
        [
            "final delivery",
            "iteration:start/0/2",
            "turn 1.2",
            "iteration:complete/0/2",
            "session:stop/1"
        ]
    );
    let steps = reports(Last::Raw).steps([fixed(1)]);
    assert_eq!(behind(&steps)[..3], ["turn 2.0", "write the turn", "session:stop/1"]);
    let steps =
        reports(Last::Failure).reports("iteration:complete/0/2", Last::Failure).steps([fixed(1)]);
    assert_eq!(turns(&steps), 2, "there is one delivery at most");
    let steps = reports(Last::Failure).turn(2, failed("broken")).steps([fixed(1)]);
    assert_eq!(end(&steps), "failed: iteration 2 (final delivery) failed: broken");
    let late = StageBounds { max_runtime: Some(Duration::from_secs(5)), ..fixed(1) };
    assert_eq!(turns(&reports(Last::Failure).turns_take(9).steps([late])), 1);
}

#[test]
fn an_interrupt_ends_the_session_with_its_own_events() {
    let interrupt = || EarlyEnd::Interrupted("interrupted".into());
    let steps = World::default().leaves("turn 1.1", interrupt()).steps([fixed(1)]);
    assert_eq!(
        steps[4..],
        [
            "interrupt",
            "closing/user:interrupt/0/interrupted-0",
            "closing/session:stop/0/interrupted-0",
            "closing/session:end/0/interrupted-0",
            "interrupted: interrupted",
        ]
    );
    let at_its_end = "closing/session:end/0/completed";
    let steps = World::default().leaves(at_its_end, interrupt()).steps([fixed(1)]);
    assert_eq!(end(&steps), "interrupted: hooks at session:end had not finished");
}

#[test]
fn a_session_that_fails_or_pauses_for_the_driver_ends_so() {
    let failed = EarlyEnd::Failed("no queue".into());
    let paused = EarlyEnd::Paused { cause: PauseCause::Quota, reason: "empty".into() };
    for (leave, words) in [(failed, "failed: no queue"), (paused, "paused: empty")] {
        let steps = World::default().leaves("turn 1.1", leave).steps([fixed(1)]);
        assert_eq!(end(&steps), words);
    }
}

/// Sessions of all kinds.
fn sessions() -> Vec<(World, StageBounds)> {
    let world = World::default;
    let slow = StageBounds { delay: Duration::from_secs(5), ..fixed(3) };
    let cut = StageBounds { at_the_latest: Reason::MaxIterations, ..queue(2, 3) };
    vec![
        (world(), fixed(3)),
        (world(), slow),
        (world().turn(2, decides("stop")).turn(3, decides("stop")), judgment(2, 1, 9)),
        (world().turn(2, failed("broken")).hooks("iteration:error/0/2", answers()), fixed(3)),
        (world().turn(2, failed("broken")), fixed(3)),
        (world().hooks("iteration:complete/0/2", aborts("enough")), fixed(3)),
        (world().hooks("session:stop/1", blocks("not yet")), fixed(1)),
        (world().hooks("session:stop/1", aborts("enough")), fixed(1)),
        (world().items(WorkSource::Issues, &["1", "2"]), queue(2, 9)),
        (world().items(WorkSource::Issues, &["1", "2"]), cut),
        (
            world()
                .items(WorkSource::Issues, &["1", "2"])
                .hooks("execution:pre_start/0/1", blocks("not this one"))
                .hooks("execution:pre_end/0/2", blocks("not good")),
            queue(1, 9),
        ),
    ]
}

/// Without the steps that a resumed session may repeat: wait, take a work item, attempt a turn, and
/// prepare its prompt.
fn told(steps: &[String]) -> Vec<&str> {
    let is_told = |step: &&str| {
        !["wait ", "take ", "agent ", "tell: "].iter().any(|again| step.starts_with(again))
    };
    steps.iter().map(String::as_str).filter(is_told).collect()
}

#[test]
fn a_session_killed_at_any_point_does_the_rest_and_nothing_twice() {
    for (world, bounds) in sessions() {
        let mut whole = world.clone();
        let steps = whole.steps([bounds.clone()]);
        let journal = &whole.journal;
        for cut in 1..journal.len() {
            let mut resumed = world.clone();
            let taken = journal[..cut]
                .iter()
                .filter(|it| {
                    matches!(it.kind, RunEventKind::Session(SessionEvent::ItemStarted { .. }))
                })
                .count();
            resumed.skip_items(taken);
            let rest = resumed.steps_behind([bounds.clone()], None, history(&journal[..cut]));
            let (rest, all) = (told(&rest), told(&steps));
            let left = &all[all.len() - rest.len()..];
            assert_eq!(rest, left, "cut off behind {:?}", journal[cut - 1].kind);
        }
    }
}

#[test]
fn a_session_that_ended_early_continues_when_it_is_resumed() {
    for (mut world, words) in [
        (
            World::default().turn(2, failed("broken")),
            vec![
                "session:start/1",
                "iteration:start/0/2/1",
                "turn 1.2",
                "agent 0 #2",
                "iteration:complete/0/2/1",
                "iteration:start/0/3",
            ],
        ),
        (
            World::default().hooks("iteration:complete/0/2", aborts("enough")),
            vec!["session:start/1", "iteration:complete/0/2/again-1", "iteration:start/0/3"],
        ),
        (
            World::default().leaves("turn 1.2", EarlyEnd::Interrupted("interrupted".into())),
            vec!["session:start/1", "turn 1.2", "iteration:complete/0/2", "iteration:start/0/3"],
        ),
        (
            World::default().hooks("session:stop/1", aborts("enough")),
            vec!["session:start/1", "session:stop/1", "closing/session:end/1/completed"],
        ),
        (
            World::default().hooks("closing/session:end/0/completed", aborts("enough")),
            vec!["closing/session:end/0/completed/again-1", "completed: completed"],
        ),
    ] {
        world.steps([fixed(3)]);
        let mut resumed = World::default();
        let steps = resumed.steps_behind([fixed(3)], None, history(&world.journal));
        assert_eq!(steps[..words.len()], words, "{steps:?}");
    }
}

#[test]
fn a_piece_of_work_that_another_session_has_taken_meanwhile_is_left_to_it() {
    let two = || World::default().items(WorkSource::Issues, &["1", "2"]);
    let mut whole = two();
    whole.steps([queue(2, 9)]);
    let begun = whole
        .journal
        .iter()
        .position(|it| matches!(it.kind, RunEventKind::Turn(TurnEvent::TurnStarting { .. })))
        .expect("it began");
    let mut resumed = two().lost("1");
    resumed.skip_items(1);
    let steps = resumed.steps_behind([queue(2, 9)], None, history(&whole.journal[..=begun]));
    assert_eq!(
        steps[..5],
        [
            "take 1 again",
            "1 open after 0: another session has taken it",
            "execution:pre_start/0/2",
            "execution:post_start/0/2",
            "iteration:start/0/2",
        ]
    );
}

#[test]
fn of_the_lines_of_a_command_the_first_new_one_is_taken_and_none_twice_that_failed() {
    for (lines, failing, taken) in [
        (&["a", "b"][..], None, vec!["a done", "b done", "a done", "a done"]),
        (&["a", "b"], Some(1), vec!["a failed", "b done", "b done", "b done"]),
        (&["a"], Some(1), vec!["a failed"]),
        (&[], None, vec![]),
    ] {
        let mut world = World::default().prints(lines);
        if let Some(iteration) = failing {
            world = world.turn(iteration, failed("broken"));
        }
        let steps = world.steps([queue(1, 4)]);
        let ends = steps.iter().filter_map(|step| step.split_once(" after ")).map(|(end, _)| end);
        assert_eq!(ends.collect::<Vec<_>>(), taken, "{steps:?}");
    }
    let dear = World::default().prints(&["a", "b", "c"]).turns_cost(0.6);
    let steps = dear.clone().steps_behind([queue(1, 9)], Some(1.0), Default::default());
    let words = "paused: the session has cost $1.20, and max_cost is $1.00";
    assert_eq!((turns(&steps), end(&steps)), (2, words));
}

#[test]
fn a_work_item_that_was_put_back_is_left_to_other_sessions_even_after_a_resume() {
    let two = || World::default().items(WorkSource::Tasks, &["TAS-1", "TAS-2"]);
    let mut world = two().task("TAS-1", TaskState::Open);
    world.steps([queue(3, 9)]);
    assert_eq!(world.put_back, ["TAS-1"]);
    let ended = |it: &hookwright_events::RunEvent| {
        matches!(it.kind, RunEventKind::Session(SessionEvent::ItemEnded { .. }))
    };
    let cut = world.journal.iter().position(ended).expect("it was put back");
    let mut resumed = two();
    resumed.skip_items(1);
    resumed.steps_behind([queue(3, 9)], None, history(&world.journal[..=cut]));
    assert_eq!(resumed.put_back, ["TAS-1"]);
}
