//! [`Chronicle`]: a session's journal as rows of its page, read incrementally.
//!
//! Only the latest rows are kept, however long the session is. For older ones the journal is read
//! again, from the checkpoint before them.

use std::collections::VecDeque;

use hookwright_events::{FiringEvent, RunEvent, RunEventKind, Usage};
use hookwright_pipeline::timeline::{Timeline, read_entry};
use hookwright_store::{Entry, JournalKey, Store, StoreError, entries};

use super::checkpoints::Checkpoints;
use super::rows::Rows;
use crate::limits;

/// Entries per read when older rows are read.
const ENTRIES_AT_ONCE: usize = 256;

/// A journal that is being read.
pub(crate) struct Chronicle {
    journal: JournalKey,
    reading: JournalReading,
    checkpoints: Checkpoints,
}

/// Content of a page about a journal.
pub(crate) struct JournalContent {
    /// The visible rows.
    pub(crate) rows: Rows,
    /// The agents' total usage, as far as they report it.
    pub(crate) used: Option<Usage>,
    /// Number of entries from a newer version of the program, which are not shown.
    pub(crate) not_understood: u64,
    /// The last entry that was read.
    pub(crate) last: u64,
}

impl Chronicle {
    /// A journal of which nothing is read yet.
    pub(crate) fn new(journal: JournalKey) -> Self {
        Self { journal, reading: JournalReading::default(), checkpoints: Checkpoints::new() }
    }

    /// Reads the new entries.
    pub(crate) fn read_on(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let (journal, last) = (self.journal.clone(), self.reading.last);
        for entry in entries(store, &journal, last) {
            let rows = self.reading.rows.count();
            let entry = entry?;
            let event = event_of(&entry);
            if let Some(event) = &event {
                self.checkpoints.recall(event.firing, &self.reading.timeline);
            }
            self.reading.see(entry.sequence, event);
            // When a row has just ended, little is unfinished, so a checkpoint is small.
            if self.reading.rows.count() > rows {
                self.checkpoints.add(&self.reading);
            }
        }
        Ok(())
    }

    /// The page's content: the unfinished rows and the newest ones, or those before a row.
    pub(crate) fn content(
        &self,
        store: &dyn Store,
        before: Option<u64>,
        runs: bool,
    ) -> Result<JournalContent, StoreError> {
        let mut content = self.reading.content(runs);
        if let Some(before) = before.filter(|before| *before < content.rows.count()) {
            content.rows.show(self.rows_before(store, before, runs)?);
        }
        Ok(content)
    }

    fn rows_before(&self, store: &dyn Store, before: u64, runs: bool) -> Result<Rows, StoreError> {
        let first = before.saturating_sub(limits::ROWS_MAX as u64);
        let checkpoint = self.checkpoints.before_row(first);
        let mut reading = checkpoint.cloned().unwrap_or_default();
        reading.rows.keep_only_before(before);
        while reading.rows.count() < before && reading.last < self.reading.last {
            let page = store.journal(&self.journal, reading.last, ENTRIES_AT_ONCE)?;
            if page.is_empty() {
                break;
            }
            for entry in page {
                if reading.rows.count() < before && entry.sequence <= self.reading.last {
                    reading.see(entry.sequence, event_of(&entry));
                }
            }
        }
        // The last of them may be unfinished.
        Ok(reading.content(runs).rows)
    }
}

/// `None` if a newer version of the program wrote it.
fn event_of(entry: &Entry) -> Option<RunEvent> {
    read_entry(&entry.value).ok()
}

/// The state of reading a journal.
#[derive(Clone, Default)]
pub(super) struct JournalReading {
    /// The last entry that was read.
    pub(super) last: u64,
    pub(super) timeline: Timeline,
    pub(super) rows: Rows,
    pub(super) reports: Reports,
    /// Entries from a newer version of the program.
    not_understood: u64,
}

impl JournalReading {
    fn see(&mut self, sequence: u64, event: Option<RunEvent>) {
        self.last = sequence;
        let Some(event) = event else {
            self.not_understood += 1;
            return;
        };
        if let RunEventKind::Firing(FiringEvent::HookReported { report }) = &event.kind {
            self.reports.add(sequence, &report.id);
        }
        for part in self.timeline.see(event) {
            self.rows.add(part, &mut self.reports);
        }
    }

    fn content(&self, runs: bool) -> JournalContent {
        let (mut rows, mut reports) = (self.rows.clone(), self.reports.clone());
        rows.under_way_from_here();
        for part in self.timeline.under_way(runs) {
            rows.add(part, &mut reports);
        }
        let (used, not_understood) = (self.timeline.used(), self.not_understood);
        JournalContent { rows, used, not_understood, last: self.last }
    }

    /// The state needed to continue reading, without the earlier rows.
    pub(super) fn small_copy(&self) -> Self {
        let (timeline, rows) = (self.timeline.small_copy(), self.rows.without_those_in_sight());
        Self { last: self.last, timeline, rows, reports: self.reports.clone(), not_understood: 0 }
    }
}

/// Entries of reports whose hooks have no row yet. A hook gets its row when its part of the
/// timeline is complete; reports of the same hook come in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reports(VecDeque<(String, u64)>);

impl Reports {
    fn add(&mut self, sequence: u64, hook: &str) {
        if self.0.len() == limits::REPORTS_WITHOUT_ROW_MAX {
            self.0.pop_front();
        }
        self.0.push_back((hook.to_owned(), sequence));
    }

    /// The oldest entry of this hook.
    pub(super) fn take(&mut self, hook: &str) -> Option<u64> {
        let at = self.0.iter().position(|(id, _)| id == hook)?;
        self.0.remove(at).map(|(_, sequence)| sequence)
    }
}

#[cfg(test)]
mod tests;
