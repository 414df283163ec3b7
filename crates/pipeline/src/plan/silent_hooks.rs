//! Hooks that no event of a pipeline ever matches.

use std::sync::Arc;

use hookwright_config::{FaultKind, FilePlace};
use hookwright_engine::HookSet;
use hookwright_engine::hook::Layer;
use hookwright_events::EventName;

use super::Planning;
use crate::sources::{Source, fault_at};

/// The events that a session fires outside of its stages.
const EVENTS_OF_SESSION: [EventName; 4] = [
    EventName::SESSION_START,
    EventName::SESSION_STOP,
    EventName::SESSION_END,
    EventName::USER_INTERRUPT,
];

impl Planning<'_> {
    /// Warns about hooks of a stage's loop for events of the session: they never run in a pipeline,
    /// which is probably a mistake.
    pub(super) fn look_at_hooks(&mut self, hooks: &HookSet, source: &Source) {
        for hook in hooks.hooks().iter().filter(|hook| hook.layer == Layer::Loop) {
            let points = hook.pattern.points.iter();
            let events: Vec<EventName> = points.map(|point| point.event.into()).collect();
            let is_silent = hook.pattern.open.is_empty()
                && !events.is_empty()
                && events.iter().all(|event| EVENTS_OF_SESSION.contains(event));
            if !is_silent {
                continue;
            }
            let begins = events.contains(&EventName::SESSION_START);
            let instead = if begins { EventName::STAGE_START } else { EventName::STAGE_COMPLETE };
            let kind = FaultKind::NeverFires { event: hook.event.to_string(), instead };
            let fault = Arc::new(fault_at(
                source,
                &FilePlace::of_line(&source.text, hook.source.line),
                kind,
            ));
            if !self.left_out.contains(&fault) {
                self.left_out.push(fault);
            }
        }
    }
}
