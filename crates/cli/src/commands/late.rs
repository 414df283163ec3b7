//! What comes of hooks after the decision has been made.

use std::collections::BTreeMap;

use hookwright_events::{EventName, FiringEvent, Report, RunEvent, RunEventKind, Status};

/// Reports that come when the decision has been printed, each with the number of its firing: an
/// action may have fired events of its own.
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

/// The reports with what still ran when the decision was made replaced by how it ended.
pub(crate) fn with_late(mut reports: Vec<Report>, late: Late) -> Vec<Report> {
    // The first firing is the one that we were asked for.
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
