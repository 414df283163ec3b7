//! Claims: a waiting record is chosen, taken and marked in one transaction, so that two claimers
//! never get the same one, and so that nothing is lost if one dies in between.
//!
//! A record is ready if it is in one of the requested lanes, all that it waits for has the status
//! [`ClaimRequest::done`], and the claimer offers everything that it needs
//! ([`Queued`](crate::Queued)). The first ready record by rank, then by age, is taken. The claimer
//! does not know its value beforehand, so it writes a note beside the value. The next put of the
//! record replaces both.

use crate::{Durability, Fence, Kind, Record};

/// Which record to claim, and what to write into it.
#[derive(Debug, Clone)]
pub struct ClaimRequest<'a> {
    /// How safe the claim has to be on return.
    pub durability: Durability,
    /// The lease under which the claimer acts.
    pub fence: Option<&'a Fence>,
    /// The kind of record.
    pub kind: Kind,
    /// The records' project.
    pub project: &'a str,
    /// The lanes to choose from. The lowest rank of all of them comes first.
    pub lanes: &'a [ClaimLane<'a>],
    /// The status of a record for which others need not wait any more.
    pub done: &'a str,
    /// Labels that a record may need.
    pub offers: &'a [String],
    /// Names of records to pass over.
    pub skip: &'a [String],
    /// The record's new status.
    pub status: &'a str,
    /// The record's new lane; its rank stays. Without one it leaves the queue.
    pub to: Option<&'a str>,
    /// Text to store beside the value.
    pub note: &'a str,
    /// A lease to take with the record. A record whose lease is held is passed over.
    pub lease: Option<ClaimLease<'a>>,
}

/// A lane to claim from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimLane<'a> {
    /// The lane's name.
    pub lane: &'a str,
    /// Claim from the lane only while this lease is as the claimer has found it.
    pub only_while: Option<LeaseState<'a>>,
    /// A prefix of lanes. A record that waits for the record `x` moves from this lane to
    /// `PREFIXx/`, so that later claims need not look at it. The commit that makes `x` done moves
    /// it back.
    pub aside: Option<&'a str>,
}

/// What a claimer has found about a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseState<'a> {
    /// The lease's name.
    pub lease: &'a str,
    /// The holder's token; `None` if the lease was free.
    pub token: Option<u64>,
}

/// A lease to take with a claimed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimLease<'a> {
    /// The lease's name is this prefix and the record's name.
    pub prefix: &'a str,
    /// The claimer's description of itself.
    pub holder: &'a str,
}

/// A record that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRecord {
    /// The record as it was before.
    pub before: Record,
    /// Its version now.
    pub version: u64,
    /// The lease that was taken with it, if one was requested.
    pub fence: Option<Fence>,
}
