//! [`Chronicle`]: a session's journal as its page tells it, read on as it grows.
//!
//! Only the latest rows are kept, however long the session is; who asks for older ones has the journal
//! read once more, up to there.

use std::collections::VecDeque;

use hookwright_events::{RunEvent, RunEventKind, Usage};
use hookwright_pipeline::timeline::Timeline;
use hookwright_store::{JournalKey, Store, StoreError, entries};

use super::rows::Rows;
use crate::limits;

/// A journal that is being read.
pub(crate) struct Chronicle {
    journal: JournalKey,
    /// The last entry that was read.
    last: u64,
    timeline: Timeline,
    rows: Rows,
    reports: Reports,
    /// Entries of a newer program.
    not_understood: u64,
}

/// What stands on a page about a journal.
pub(crate) struct Told {
    /// What happened, as far as it is in sight.
    pub(crate) rows: Rows,
    /// What agents have used in all, as far as they tell.
    pub(crate) used: Option<Usage>,
    /// Entries that are not told because they are of a newer program.
    pub(crate) not_understood: u64,
}

impl Chronicle {
    /// Of a journal of which nothing was read; with `before`, only the rows before that one.
    pub(crate) fn new(journal: JournalKey, before: Option<u64>) -> Self {
        let (timeline, reports) = (Timeline::default(), Reports::default());
        Self { journal, last: 0, timeline, rows: Rows::new(before), reports, not_understood: 0 }
    }

    /// Reads what was written since.
    pub(crate) fn read_on(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let (journal, last) = (self.journal.clone(), self.last);
        for entry in entries(store, &journal, last) {
            let entry = entry?;
            self.last = entry.sequence;
            match serde_json::from_str::<RunEvent>(&entry.value) {
                Ok(event) => self.see(entry.sequence, event),
                Err(_) => self.not_understood += 1,
            }
        }
        Ok(())
    }

    fn see(&mut self, sequence: u64, event: RunEvent) {
        if let RunEventKind::HookReported { report } = &event.kind {
            self.reports.add(sequence, &report.id);
        }
        for part in self.timeline.see(event) {
            self.rows.add(part, &mut self.reports);
        }
    }

    /// All of it, with what is under way.
    pub(crate) fn told(&self, runs: bool) -> Told {
        let (mut rows, mut reports) = (self.rows.clone(), self.reports.clone());
        rows.under_way_from_here();
        for part in self.timeline.clone().finish(runs) {
            rows.add(part, &mut reports);
        }
        Told { rows, used: self.timeline.used(), not_understood: self.not_understood }
    }
}

/// Entries of reports whose hooks have no row yet. A hook gets its row when the part of the timeline is
/// whole that it belongs to; those of one hook come in the order of their reports.
#[derive(Clone, Default)]
pub(crate) struct Reports(VecDeque<(String, u64)>);

impl Reports {
    fn add(&mut self, sequence: u64, hook: &str) {
        if self.0.len() == limits::REPORTS_WITHOUT_ROW_MAX {
            self.0.pop_front();
        }
        self.0.push_back((hook.to_owned(), sequence));
    }

    /// The oldest one of this hook.
    pub(super) fn take(&mut self, hook: &str) -> Option<u64> {
        let at = self.0.iter().position(|(id, _)| id == hook)?;
        self.0.remove(at).map(|(_, sequence)| sequence)
    }
}
