//! Reports of hooks that end after the decision.

use std::collections::BTreeMap;

use hookwright_events::{EventName, FiringEvent, Report, RunEvent, RunEventKind, Status};

/// Reports that come after the decision was printed, by the number of their firing: an action may
/// have fired events of its own.
#[derive(Default)]
pub(crate) struct Late {
    pub(crate) events: BTreeMap<u64, EventName>,
    pub(crate) reports: Vec<(u64, Report)>,
}

impl Late {
    pub(crate) fn see(&mut self, event: &RunEvent) {
        match &event.kind {
            RunEventKind::Firing(FiringEvent::Fired { event: name, .. }) => {
                self.events.insert(event.firing, name.clone());
            }
            RunEventKind::Firing(FiringEvent::HookReported { report }) => {
                self.reports.push((event.firing, report.clone()));
            }
            _ => {}
        }
    }
}

/// The reports, with late ones in place of those that were still running.
pub(crate) fn with_late(mut reports: Vec<Report>, late: Late) -> Vec<Report> {
    // The first firing is the one that the user asked for.
    let ours = late.events.keys().next().copied();
    for (_, ended) in late.reports.into_iter().filter(|(firing, _)| Some(*firing) == ours) {
        let is_it = |known: &&mut Report| {
            known.status == Status::Started && known.id == ended.id && known.source == ended.source
        };
        if let Some(report) = reports.iter_mut().find(is_it) {
            *report = ended;
        }
    }
    reports
}
