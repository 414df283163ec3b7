//! Sessions whose clock is set by hand.

use std::fs;
use std::sync::Arc;

use hookwright_engine::ports::memory::ManualClock;
use hookwright_events::SessionStatus;
use hookwright_events::{RunEventKind, TurnEvent};

use super::project::Project;

const TWO_AGENTS: &str = r#"
prompt: p
agent:
  - command: |
      [ -e asked ] || printf '{"decision": "error", "failure": "quota", "retry_after": 3600}' > "$STATUS"
      touch asked
  - command: "true"
termination: {type: fixed, iterations: 2}
"#;

#[tokio::test]
async fn the_first_agent_works_again_when_its_time_has_come() {
    let clock = Arc::new(ManualClock::at("2026-01-02T03:00:00.000Z"));
    let mut project = Project::new(&[("loop.yaml", TWO_AGENTS)]);
    project.set_clock(&clock);
    // Two hours pass while the second agent works.
    let project = project.watched(move |event| {
        if matches!(event.kind, RunEventKind::Turn(TurnEvent::AgentChanged { .. })) {
            clock.set("2026-01-02T05:00:00.000Z");
        }
    });
    let told = project.run().await;
    let changes: Vec<(&str, &str, &str)> = told
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            RunEventKind::Turn(TurnEvent::AgentChanged { from, to, reason }) => {
                Some((from.as_str(), to.as_str(), reason.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        changes,
        [("command", "command-2", "quota"), ("command-2", "command", "command can be used again"),]
    );
    assert_eq!(told.ended.status, SessionStatus::Completed);
}

#[tokio::test]
async fn a_clock_that_jumps_loses_nothing_and_ends_nothing_early() {
    let work = "prompt: p\nagent: {command: 'echo $HOOKWRIGHT_ATTEMPT >> attempts; [ -e fixed ]'}\n\
                termination: {type: fixed, iterations: 1}\nmax_runtime: 1h\n\
                hooks: {session:end: [{id: last, await: true, command: 'echo ended >> ends'}]}\n";
    let mut project = Project::new(&[("loop.yaml", work)]);
    let run_at = async |project: &mut Project, now: &str| {
        project.set_clock(&Arc::new(ManualClock::at(now)));
        project.take_up().await.expect("it came to an end").status
    };
    assert_eq!(run_at(&mut project, "2036-01-02T03:04:05.000Z").await, SessionStatus::Failed);
    fs::write(project.path("fixed"), "").unwrap();
    // The second process lives ten years before the first.
    assert_eq!(run_at(&mut project, "2026-01-02T03:04:05.000Z").await, SessionStatus::Completed);
    let text = |file: &str| fs::read_to_string(project.path(file)).unwrap();
    assert_eq!((text("attempts").as_str(), text("ends").as_str()), ("1\n2\n", "ended\nended\n"));
    let (record, _) = project.record("s").unwrap();
    assert_eq!(record.status, SessionStatus::Completed);
    assert!(record.metadata.total_duration.is_some_and(|took| took >= 0), "{record:?}");
}
