//! Whatever grows while an agent is listened to has a limit, with its reason.

/// Bytes of an agent's last words, the end of them: as much as is kept of what any other agent prints.
/// One that talks without end must not take all memory.
pub(super) const LAST_WORDS_BYTES_MAX: usize = 1024 * 1024;
