//! Leases: locks that one process at a time can hold.

use crate::Life;

/// How an attempt to take a lease ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// The caller holds the lease now.
    Granted {
        /// Higher than every earlier token. Goes into the [`Fence`](crate::Fence) of commits.
        token: u64,
    },
    /// Another process holds it.
    Held(Held),
}

/// The holder of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The holder's description of itself, given when it took the lease.
    pub holder: String,
    /// The token that the lease was granted with.
    pub token: u64,
    /// What the store knows of the holder: `None` if it does not know whether it runs.
    pub life: Option<Life>,
}
