//! Leases: what one process at a time may do.

/// How an attempt to take a lease ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// It is the caller's.
    Granted {
        /// Higher than every token before it. Goes into the [`Fence`](crate::Fence) of commits.
        token: u64,
    },
    /// Somebody else has it.
    Held(Held),
}

/// Who holds a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// What the holder said about itself when it took it.
    pub holder: String,
    /// The token of its grant.
    pub token: u64,
}
