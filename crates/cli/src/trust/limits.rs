//! Whatever waits or grows here has a limit.

/// Files that can be trusted at once: a project with a worktree for each of many agents has hundreds.
/// Those that are gone make room.
pub(crate) const TRUSTED_FILES_MAX: usize = 4096;

/// Bytes of the file that says which: room for that many paths of usual length. It is read whenever
/// an agent asks a hook.
pub(super) const TRUST_BYTES_MAX: usize = 1024 * 1024;
