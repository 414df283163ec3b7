//! [`Fired`]: what the engine returns for an event.

use std::sync::Arc;

use hookwright_events::{Decision, Event, Report};
use serde_json::Value;

/// The result of firing an event.
#[derive(Debug, Clone)]
pub struct Fired {
    /// The event as its hooks saw it.
    pub event: Arc<Event>,
    /// What the host must do.
    pub decision: Decision,
    /// The reports of all matching hooks, in the order in which they ran.
    pub reports: Vec<Report>,
}

impl Fired {
    pub(crate) fn of_nothing(event: Event) -> Self {
        Self { event: Arc::new(event), decision: Decision::default(), reports: Vec::new() }
    }

    /// The record that `fire --json` prints.
    pub fn record(&self) -> Value {
        self.decision.record(&self.event, &self.reports)
    }
}
