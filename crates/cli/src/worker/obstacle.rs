//! [`Obstacle`]: why a worker takes no sessions for a while.

use hookwright_store::StoreError;

/// Why a worker takes no sessions for a while. It goes on trying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Obstacle {
    /// The store does not answer.
    StoreIsAway,
    /// The store answers, and accepts no change.
    StoreTakesNothing,
    /// The worker's beats do not arrive.
    BeatsAreLost,
    /// No process can be started for a session.
    NoProcess,
}

impl Obstacle {
    /// The obstacle that an error of the store is, if it may pass by itself: a failover leaves a server
    /// that cannot be written for a while, and somebody frees a full disk.
    pub(super) fn of(error: &StoreError) -> Option<Self> {
        match error {
            StoreError::Away { .. } | StoreError::Io { .. } => Some(Self::StoreIsAway),
            StoreError::Busy { .. } | StoreError::Full { .. } | StoreError::NotWritable { .. } => {
                Some(Self::StoreTakesNothing)
            }
            StoreError::Fenced { .. }
            | StoreError::JournalConflict { .. }
            | StoreError::RecordConflict { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Newer { .. }
            | StoreError::Damaged { .. }
            | StoreError::NoDescriptors
            | StoreError::Denied { .. }
            | StoreError::Untrusted { .. }
            | StoreError::NotEncrypted
            | StoreError::NotPostgres
            | StoreError::ServerTooOld { .. }
            | StoreError::NoSchema
            | StoreError::Older { .. }
            | StoreError::DeclaredDead { .. }
            | StoreError::Gone => None,
        }
    }
}
