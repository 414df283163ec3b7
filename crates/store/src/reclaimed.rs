//! [`Reclaimed`]: how much a store's file shrank.

/// Whether the file of an older version may be rewritten; it cannot shrink otherwise. Readers
/// continue meanwhile; other writers wait at most [`limits::BUSY_MAX`](crate::limits::BUSY_MAX).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// Only a quick rewrite: up to [`limits::REWRITE_BYTES_MAX`](crate::limits::REWRITE_BYTES_MAX).
    IfQuick,
    /// However large it is.
    Always,
}

/// Space that a store gave back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// Deleted entries of dropped journals.
    pub entries: u64,
    /// Bytes by which the store shrank. Its file shrinks once no reader needs the old state.
    pub bytes: u64,
    /// Free bytes that stay in the file, because it would have to be rewritten.
    pub bytes_left: u64,
}
