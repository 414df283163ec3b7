//! Limits of the trust file, each with its reason.

/// Trusted files: a project with a worktree for each of many agents has hundreds. Entries of
/// missing files make room for new ones.
pub(crate) const TRUSTED_FILES_MAX: usize = 4096;

/// Bytes of the trust file: enough for that many paths of usual length. It is read at every call of
/// an agent.
pub(super) const TRUST_BYTES_MAX: usize = 1024 * 1024;
