//! [`Checkpoints`]: places in a journal from which it can be read on without reading what is before.
//!
//! A checkpoint has what the rows that come next depend on: what is under way, and how many rows there were.
//! As a rule that is a few hundred bytes.

use std::fmt::{self, Write};

use hookwright_pipeline::timeline::Timeline;

use super::chronicle::JournalReading;
use crate::limits;

/// About what a firing takes that a checkpoint is told of later.
const FIRING_BYTES: usize = 100;

/// Places in a journal, oldest first.
pub(super) struct Checkpoints {
    all: Vec<Checkpoint>,
    /// Entries from one to the next, at least. It grows with the journal.
    apart: u64,
    /// The entry behind which the last one was made, or would have been too large.
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

    /// Makes one here, if the last one is far enough behind.
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

    /// The journal goes on with an entry of this firing: checkpoints behind its beginning have to know it.
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

    /// The last one before this row, or at it.
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

    /// Leaves out every other one where they take too much: a journal twice as long has them twice as far
    /// apart.
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

/// About how many bytes a checkpoint takes; `None` if those are too many for one. What it shares with others
/// is not counted.
fn bytes_of(reading: &JournalReading) -> Option<usize> {
    let JournalReading { timeline, reports, .. } = reading;
    let mut room = Room(limits::CHECKPOINT_BYTES_MAX.checked_sub(size_of::<JournalReading>())?);
    write!(room, "{timeline:?}{reports:?}").ok()?;
    Some(limits::CHECKPOINT_BYTES_MAX - room.0)
}

/// Bytes that may still be written.
struct Room(usize);

impl Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hookwright_pipeline::timeline::{Deed, Part};

    use super::*;

    #[test]
    fn the_longer_a_journal_the_farther_they_are_apart_and_there_is_one_before_every_row() {
        let mut checkpoints = Checkpoints::new();
        let mut reading = JournalReading::default();
        for entry in 1..=1_000_000 {
            reading.last = entry;
            if entry % 10 == 0 {
                let note = Part::Deed(Deed::Note { note: "a row".into() });
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
