//! What an event says, without what the journal leaves out.

use hookwright_events::{FiringEvent, RunEvent, RunEventKind, TurnEvent};

pub(crate) fn essence(event: &RunEvent) -> String {
    let kind = match &event.kind {
        RunEventKind::Firing(FiringEvent::HookReported { report }) => {
            format!("reported {}", report.id)
        }
        RunEventKind::Firing(FiringEvent::Decided { .. }) => "decided".to_owned(),
        RunEventKind::Firing(FiringEvent::HookStarting { hook, attempt, .. }) => {
            format!("starting {hook} {attempt}")
        }
        RunEventKind::Firing(FiringEvent::HookEnded { hook, attempt, .. }) => {
            format!("ended {hook} {attempt}")
        }
        RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt, .. }) => {
            format!("turn {turn:?} {attempt}")
        }
        RunEventKind::Turn(TurnEvent::TurnEnded { turn, attempt, .. }) => {
            format!("turn ended {turn:?} {attempt}")
        }
        other => serde_json::to_value(other).map(|it| it["kind"].to_string()).unwrap_or_default(),
    };
    format!("{} {} {kind}", event.session.as_deref().unwrap_or_default(), event.firing)
}
