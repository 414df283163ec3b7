//! Queues: records that wait for their turn.
//!
//! A record may have a place in a queue: a lane, and a rank in that lane. [`Store::queue`] reads a lane
//! in the order of the ranks, so that the next record is found without reading the others. What lanes
//! mean is up to the writer; `kept_tasks/lanes.rs` shows one use.
//!
//! [`Store::queue`]: crate::Store::queue

use crate::Kind;

/// The place of a record in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// Which lane, of those of the record's kind and project.
    pub lane: String,
    /// The lowest rank of a lane comes first. Records with the same rank follow in the order in which they
    /// were made.
    pub rank: i64,
}

/// Moves all records of one lane to another one. Ranks and versions stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneMove {
    /// The lane that is empty afterwards.
    pub from: String,
    /// The lane that has them.
    pub to: String,
}

/// Names a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneKey<'a> {
    /// What its records are about.
    pub kind: Kind,
    /// Whose they are.
    pub project: &'a str,
    /// Which of the lanes of this kind and project.
    pub lane: &'a str,
}
