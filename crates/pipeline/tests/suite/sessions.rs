//! Whole sessions in this process, with a store in memory: limits that take too long or cannot be
//! counted from outside.

mod carried;
mod clock;
mod desks;
mod forgetful;
mod journal;
mod orders;
mod project;
mod prompt_blocks;
mod recorded;
mod turn_events;

use std::sync::Mutex;
use std::time::Duration;

use hookwright_events::{
    FiringEvent, RunEvent, RunEventKind, SessionEvent, SessionStatus, TurnEvent,
};
use hookwright_pipeline::limits::{CHILDREN_IN_BACKGROUND_MAX, QUEUE_COMMAND_TIMEOUT};
use hookwright_pipeline::record::milliseconds;

use project::{Answers, Project};

const ONE_TURN: &str =
    "prompt: p\nagent: {script: turns.yaml}\ntermination: {type: fixed, iterations: 1}\n";

const OUTAGE: &str = r#"{"decision": "error", "failure": "outage", "reason": "down"}"#;
const WORKS: &str = r#"{"decision": "continue"}"#;

/// The length of each pause of a session.
fn pauses(events: &[RunEvent]) -> Vec<Duration> {
    let pause = |event: &RunEvent| match &event.kind {
        RunEventKind::Session(SessionEvent::Paused { until: Some(until), .. }) => {
            let wait = milliseconds(until)? - milliseconds(&event.at)?;
            Some(Duration::from_millis(u64::try_from(wait).ok()?))
        }
        _ => None,
    };
    events.iter().filter_map(pause).collect()
}

fn seconds<const N: usize>(all: [u64; N]) -> Vec<Duration> {
    all.map(Duration::from_secs).to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_down_is_asked_again_after_longer_and_longer_waits_and_then_given_up() {
    let project = Project::new(&[("loop.yaml", ONE_TURN), ("turns.yaml", "turns: [[{say: x}]]")]);
    let answers = Answers::new(&[OUTAGE; 20]);
    let told = project.asking(&answers).run().await;
    assert_eq!(pauses(&told.events), seconds([30, 60, 120, 240, 480, 600, 600, 600]));
    assert_eq!(
        (told.ended.status, told.ended.reason.as_str()),
        (SessionStatus::Paused, "scripted: down")
    );
    assert_eq!(answers.left(), 20 - 9);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_was_back_is_waited_for_from_the_beginning() {
    let two = ONE_TURN.replace("iterations: 1", "iterations: 2");
    let project = Project::new(&[("loop.yaml", &two), ("turns.yaml", "turns: [[{say: x}]]")]);
    let answers = Answers::new(&[OUTAGE, OUTAGE, OUTAGE, WORKS, OUTAGE, OUTAGE, WORKS]);
    let told = project.asking(&answers).run().await;
    assert_eq!(pauses(&told.events), seconds([30, 60, 120, 30, 60]));
    assert_eq!((told.ended.status, told.ended.iterations), (SessionStatus::Completed, 2));
}

#[tokio::test(start_paused = true)]
async fn a_queues_command_that_never_ends_is_ended_and_fails_the_session() {
    let queue = "prompt: p\nagent: {script: turns.yaml}\ntermination: {type: queue, source: {command: exec sleep 100000}}\n";
    let project = Project::new(&[("loop.yaml", queue), ("turns.yaml", "turns: [[{say: x}]]")]);
    let began = tokio::time::Instant::now();
    let told = project.run().await;
    let reason = "the queue's command `exec sleep 100000` failed: it was stopped after 60 s: it reached its time limit";
    assert_eq!((told.ended.status, told.ended.reason.as_str()), (SessionStatus::Failed, reason));
    assert!(began.elapsed() >= QUEUE_COMMAND_TIMEOUT, "the clock was moved, no real time passed");
}

#[tokio::test]
async fn more_sessions_than_may_run_that_nothing_waits_for_wait_for_a_place() {
    let hooks: String = (0..=CHILDREN_IN_BACKGROUND_MAX)
        .map(|number| format!("    - {{id: h{number}, pipeline: child, await: false}}\n"))
        .collect();
    let parent = format!("{ONE_TURN}hooks:\n  iteration:complete:\n{hooks}");
    let child = ONE_TURN.replace("turns.yaml", "child-turns.yaml");
    let project = Project::new(&[
        ("loop.yaml", &parent),
        ("child.yaml", &child),
        ("turns.yaml", "turns: [[{say: x}]]"),
        ("child-turns.yaml", "turns: [[{wait_for: go}]]"),
    ]);
    // They may end as soon as all that may run work.
    let (go, working) = (project.path("go"), Mutex::new(0));
    let told = project
        .watched(move |event| {
            let is_child = event.session.as_deref() != Some("s");
            if is_child && matches!(event.kind, RunEventKind::Turn(TurnEvent::TurnStarting { .. }))
            {
                let mut working = working.lock().unwrap();
                *working += 1;
                if *working == CHILDREN_IN_BACKGROUND_MAX {
                    std::fs::write(&go, "").unwrap();
                }
            }
        })
        .run()
        .await;
    let place = |is_it: &dyn Fn(&RunEventKind) -> bool, number: usize| {
        let found = told.events.iter().enumerate().filter(|(_, event)| is_it(&event.kind));
        found.map(|(place, _)| place).nth(number).unwrap()
    };
    let is_begun =
        |kind: &RunEventKind| matches!(kind, RunEventKind::Firing(FiringEvent::HookSpawned { .. }));
    let is_ended = |kind: &RunEventKind| {
        matches!(kind, RunEventKind::Session(SessionEvent::SessionEnded { .. }))
    };
    let (last, first_end) = (place(&is_begun, CHILDREN_IN_BACKGROUND_MAX), place(&is_ended, 0));
    assert!(first_end < last, "the last one began before another had ended");
    let ends = told.events.iter().filter(|event| is_ended(&event.kind)).count();
    assert_eq!(
        (told.ended.status, ends),
        (SessionStatus::Completed, CHILDREN_IN_BACKGROUND_MAX + 2)
    );
}

#[tokio::test]
async fn a_childs_usage_is_added_later_if_the_parent_died_before_recording_it() {
    let parent = format!("{ONE_TURN}hooks: {{stage:complete: [{{pipeline: child}}]}}\n");
    let child = ONE_TURN
        .replace("turns.yaml", "child-turns.yaml")
        .replace("iterations: 1", "iterations: 2");
    let used = "turns: [[{status: {decision: continue, usage: {input_tokens: 7, cost_usd: 0.5}}}]]";
    for known in 0..=1 {
        let mut project = Project::new(&[
            ("loop.yaml", &parent),
            ("child.yaml", &child),
            ("turns.yaml", "turns: [[{say: x}]]"),
            ("child-turns.yaml", used),
        ]);
        project.store().refuse("child_used", known);
        project.take_up().await.expect_err("nothing may happen any more");
        let costs = |project: &Project, name: &str| {
            let (record, _) = project.record(name).unwrap();
            record.usage.and_then(|usage| usage.cost_usd)
        };
        let child = "s--stage_complete-1";
        assert_eq!(costs(&project, "s"), [None, Some(0.5)][known]);
        // A parent that cannot write ends its child, whose turns are short.
        let of_child = costs(&project, child).expect("the first turn has ended");
        assert!(of_child > costs(&project, "s").unwrap_or_default(), "{of_child}");
        project.store().take_all();
        let ended = project.take_up().await.unwrap();
        assert_eq!(ended.status, SessionStatus::Completed);
        assert_eq!((costs(&project, "s"), costs(&project, child)), (Some(1.0), Some(1.0)));
        let (record, _) = project.record("s").unwrap();
        assert_eq!(record.usage_of_children, record.usage);
    }
}
