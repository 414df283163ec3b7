//! [`Chronicle`]: a session's journal as its page tells it, read on as it grows.
//!
//! Only the latest rows are kept, however long the session is; who asks for older ones has the journal
//! read once more, up to there.

use std::collections::VecDeque;

use hookwright_events::visible_text::visible;
use hookwright_events::{Report, RunEvent, RunEventKind, Status, Usage};
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
            self.reports.add(sequence, report);
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

/// Reports whose hooks have no row yet. A hook gets its row when the part of the timeline is whole that it
/// belongs to; those of one hook come in the order of their reports.
#[derive(Clone, Default)]
pub(crate) struct Reports(VecDeque<(String, Reported)>);

/// What a row says of a report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reported {
    /// Its entry in the journal.
    pub(crate) sequence: u64,
    /// The end of what the hook printed, where something went wrong.
    pub(crate) excerpt: String,
}

impl Reports {
    fn add(&mut self, sequence: u64, report: &Report) {
        let excerpt = match report.status {
            Status::Success | Status::Skipped | Status::Started => String::new(),
            Status::Blocked | Status::Failed | Status::TimedOut => excerpt(report),
        };
        if self.0.len() == limits::REPORTS_WITHOUT_ROW_MAX {
            self.0.pop_front();
        }
        self.0.push_back((report.id.clone(), Reported { sequence, excerpt }));
    }

    /// The oldest one of this hook.
    pub(super) fn take(&mut self, hook: &str) -> Option<Reported> {
        let at = self.0.iter().position(|(id, _)| id == hook)?;
        self.0.remove(at).map(|(_, reported)| reported)
    }
}

/// The last lines that a hook printed, unless the reason says the same.
fn excerpt(report: &Report) -> String {
    let printed = if report.stderr.trim().is_empty() { &report.stdout } else { &report.stderr };
    let printed = printed.trim();
    let reason = report.reason.as_deref().unwrap_or_default();
    if printed.is_empty() || reason.ends_with(printed) {
        return String::new();
    }
    let lines: Vec<&str> = printed.lines().rev().take(limits::EXCERPT_LINES_MAX).collect();
    let lines: Vec<String> = lines
        .into_iter()
        .rev()
        .map(|line| line.chars().take(limits::EXCERPT_LINE_CHARS_MAX).collect())
        .collect();
    visible(&lines.join("\n")).into_owned()
}
