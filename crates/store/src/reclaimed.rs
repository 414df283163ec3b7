//! What comes of a store whose file is to shrink.

/// Whether the file of an older version may be written anew, without which it never shrinks. Readers go on
/// meanwhile; other writers wait until it is done, at most [`limits::BUSY_MAX`](crate::limits::BUSY_MAX).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// If it takes a moment only: up to [`limits::REWRITE_BYTES_MAX`](crate::limits::REWRITE_BYTES_MAX).
    IfQuick,
    /// However large it is.
    Always,
}

/// What a store gave back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// Entries of forgotten journals that were deleted.
    pub entries: u64,
    /// Bytes by which the store is smaller now. Its file is too, once no reader needs the old state.
    pub bytes: u64,
    /// Bytes that are free in its file and stay there, because it would have to be written anew.
    pub bytes_left: u64,
}
