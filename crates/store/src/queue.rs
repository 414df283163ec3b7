//! Queues: records in the order in which they are to be processed.
//!
//! A record may have a position in a queue: a lane, and a rank in that lane. [`Store::queue`] reads
//! a lane by rank, so the next record is found without reading the others. The writer decides what
//! its lanes mean; `kept_tasks/lanes.rs` is an example. [`Store::claim`] takes the first record that
//! is ready.
//!
//! [`Store::queue`]: crate::Store::queue
//! [`Store::claim`]: crate::Store::claim

use crate::Kind;

/// The position of a record in a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queued {
    /// Name of the lane, unique within the record's kind and project.
    pub lane: String,
    /// The lowest rank of a lane comes first. Records with equal ranks are ordered by creation.
    pub rank: i64,
    /// Names of records of the same kind and project that have to be done before a claim takes this
    /// one.
    pub waits_for: Vec<String>,
    /// Labels that a claimer has to offer.
    pub needs: Vec<String>,
}

impl Queued {
    /// A position in a lane of a record that waits for no other.
    pub fn at(lane: impl Into<String>, rank: i64) -> Self {
        Self { lane: lane.into(), rank, ..Self::default() }
    }
}

/// Moves all records of one lane to another. Ranks and versions stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneMove {
    /// The lane that is empty afterwards.
    pub from: String,
    /// The lane that receives the records.
    pub to: String,
}

/// Identifies a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneKey<'a> {
    /// The kind of its records.
    pub kind: Kind,
    /// The project of its records.
    pub project: &'a str,
    /// The lane's name.
    pub lane: &'a str,
}
