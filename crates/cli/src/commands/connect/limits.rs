//! Limits of `connect`, each with its reason.

use std::time::Duration;

/// Bytes of a settings file. Agents keep histories in theirs; the largest known have a few megabytes.
pub(super) const SETTINGS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Bytes of a record of a connected file: two digests and a few paths.
pub(super) const RECORD_BYTES_MAX: u64 = 256 * 1024;

/// Digests of our own writes that are kept of one file: the one before a crash and the one after it.
pub(super) const WRITTEN_MAX: usize = 2;

/// Lines of an unchanged text around a change.
pub(super) const CONTEXT_LINES: usize = 3;

/// How long an agent may take to answer one request. It starts, and may set up its folder.
pub(super) const ANSWER_WAIT_MAX: Duration = Duration::from_secs(30);

/// Bytes of one answer of an agent. A list of a few hundred hooks has some hundred kilobytes.
pub(super) const ANSWER_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How long Node may take to load a plugin.
pub(super) const PLUGIN_WAIT_MAX: Duration = Duration::from_secs(20);

/// The time between SIGTERM and SIGKILL for a program that was asked to end.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(2);

/// Bytes kept of what such a program prints to standard error.
pub(super) const STDERR_BYTES_MAX: usize = 16 * 1024;
