//! [`Checkpoints`]: positions in a journal from which reading can continue without the entries
//! before.
//!
//! A checkpoint holds what later rows depend on: unfinished parts, and the number of rows so far.
//! Usually that is a few hundred bytes.

use std::fmt::{self, Write};

use hookwright_pipeline::timeline::Timeline;

use super::chronicle::JournalReading;
use crate::limits;

/// Approximate size of a firing that is added to a checkpoint later.
const FIRING_BYTES: usize = 100;

/// Checkpoints of a journal, oldest first.
pub(super) struct Checkpoints {
    all: Vec<Checkpoint>,
    /// Minimum number of entries between two checkpoints. Grows with the journal.
    apart: u64,
    /// The entry after which the last checkpoint was made, or would have been too large.
    last_try: u64,
    bytes: usize,
}

struct Checkpoint {
    reading: JournalReading,
    bytes: usize,
}

impl Checkpoints {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), apart: limits::CHECKPOINT_ENTRIES, last_try: 0, bytes: 0 }
    }

    /// Makes a checkpoint here if the last one is far enough back.
    pub(super) fn add(&mut self, reading: &JournalReading) {
        if reading.last < self.last_try + self.apart {
            return;
        }
        self.last_try = reading.last;
        let reading = reading.small_copy();
        let Some(bytes) = bytes_of(&reading) else { return };
        self.all.push(Checkpoint { reading, bytes });
        self.bytes += bytes;
        self.thin_out();
    }

    /// The journal has another entry of this firing: checkpoints after its beginning must include
    /// it.
    pub(super) fn recall(&mut self, firing: u64, timeline: &Timeline) {
        for Checkpoint { reading, bytes } in self.all.iter_mut().rev() {
            if !timeline.had_seen(firing, &reading.timeline) {
                break;
            }
            if timeline.recall(firing, &mut reading.timeline) {
                *bytes += FIRING_BYTES;
                self.bytes += FIRING_BYTES;
            }
        }
        self.thin_out();
    }

    /// The last checkpoint at or before this row.
    pub(super) fn before_row(&self, row: u64) -> Option<&JournalReading> {
        let behind = self.all.partition_point(|one| one.reading.rows.count() <= row);
        behind.checked_sub(1).map(|at| &self.all[at].reading)
    }

    #[cfg(test)]
    pub(super) fn number(&self) -> usize {
        self.all.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes every other checkpoint if they take too much memory: the distance doubles with the
    /// length of the journal.
    fn thin_out(&mut self) {
        while self.bytes > limits::CHECKPOINTS_BYTES_MAX && !self.all.is_empty() {
            let mut at = 0;
            self.all.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.apart *= 2;
            self.bytes = self.all.iter().map(|one| one.bytes).sum();
        }
    }
}

/// Approximate size of a checkpoint; `None` if it is too large. Data shared with other
/// checkpoints does not count.
fn bytes_of(reading: &JournalReading) -> Option<usize> {
    let JournalReading { timeline, reports, .. } = reading;
    let mut room =
        ByteBudget(limits::CHECKPOINT_BYTES_MAX.checked_sub(size_of::<JournalReading>())?);
    write!(room, "{timeline:?}{reports:?}").ok()?;
    Some(limits::CHECKPOINT_BYTES_MAX - room.0)
}

/// Bytes that may still be written.
struct ByteBudget(usize);

impl Write for ByteBudget {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hookwright_pipeline::timeline::{Part, TimelineEvent};

    use super::*;

    #[test]
    fn the_distance_of_checkpoints_grows_with_the_journal_and_every_row_has_one_before_it() {
        let mut checkpoints = Checkpoints::new();
        let mut reading = JournalReading::default();
        for entry in 1..=1_000_000 {
            reading.last = entry;
            if entry % 10 == 0 {
                let note = Part::TimelineEvent(TimelineEvent::Note { note: "a row".into() });
                reading.rows.add(note, &mut reading.reports);
                checkpoints.add(&reading);
            }
            assert!(checkpoints.bytes() <= limits::CHECKPOINTS_BYTES_MAX);
        }
        let (number, apart) = (checkpoints.number(), checkpoints.apart);
        assert!(number > 100 && apart * 100 < 1_000_000, "{number} of them, {apart} apart");
        for row in [apart / 10, 12_345, 50_000, 99_999] {
            let behind = row - checkpoints.before_row(row).unwrap().rows.count();
            assert!(behind <= apart / 10, "{behind} rows before {row}");
        }
        assert!(checkpoints.before_row(0).is_none());
    }
}
