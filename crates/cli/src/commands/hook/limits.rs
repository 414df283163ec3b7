//! Limits of `hook`, each with its reason.

use std::time::Duration;

/// Several copies of an agent's event are in memory at once; real events are smaller.
pub(super) const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Time reserved for the answer, before the agent's own timeout: a tenth of that timeout, at most
/// this.
pub(super) const TO_ANSWER_MAX: Duration = Duration::from_secs(1);

/// Time reserved before that for ending hooks: a fifth of the timeout, at most this. It covers the
/// time between SIGTERM and SIGKILL, and a little for SIGKILL itself.
pub(super) const TO_END_MAX: Duration = Duration::from_millis(2_500);

/// Memory of one session: enough for every hook's `once`, and for the output of background hooks
/// that is still useful to an agent.
pub(super) const MEMORY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Trusted hook files that one session remembers. An agent that visits many projects keeps the
/// first ones, including those of the project in which it was started.
pub(super) const GUARDING_FILES_MAX: usize = 256;

/// Notices of one session that are remembered as shown; older ones are shown again.
pub(super) const TOLD_MAX: usize = 100;

/// Memory of sessions that were silent for this long is removed: agents themselves keep transcripts
/// for a month.
pub(super) const MEMORY_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Files that are checked for that, once for each new session.
pub(super) const MEMORY_FILES_MAX: usize = 10_000;

/// How long the reply to a tool call is kept for a second delivery of the same call. Hosts start all
/// entries of an event at once or one after the other, within milliseconds.
pub(super) const REPEATED_WITHIN: Duration = Duration::from_secs(2);

/// Such a reply. A longer one is not repeated, and the hooks run again.
pub(super) const REPEATED_REPLY_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Files of earlier calls that one call looks at; parallel tools leave a few.
pub(super) const REPEATED_CALLS_MAX: usize = 1_000;

/// Pause between two looks at the reply to the first delivery: short beside any hook.
pub(super) const TO_LOOK_AGAIN: Duration = Duration::from_millis(1);
