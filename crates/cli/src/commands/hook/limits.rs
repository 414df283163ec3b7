//! Whatever waits or grows in `hook` has a limit.

use std::time::Duration;

/// An agent's event is kept whole in memory, several times over; nothing real is larger.
pub(super) const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Before the agent's own timeout everything is over and our answer is written: a tenth of that
/// timeout, and no more than this.
pub(super) const TO_ANSWER_MAX: Duration = Duration::from_secs(1);

/// Before that, hooks that are being ended have a fifth of the timeout, and no more than this: what
/// they get between SIGTERM and SIGKILL, and a little for SIGKILL itself.
pub(super) const TO_END_MAX: Duration = Duration::from_millis(2_500);

/// What is remembered of one session: room for every hook's `once`, and for what background hooks had
/// to say as long as it is of any use to an agent.
pub(super) const MEMORY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Trusted hook files that one session remembers: an agent that walks through many projects keeps the
/// first ones, among them those of the project in which it was started.
pub(super) const GUARDING_FILES_MAX: usize = 256;

/// Notices of one session that are known to have been shown; older ones are then shown again.
pub(super) const TOLD_MAX: usize = 100;

/// What is remembered of sessions that nothing was heard of for so long is removed: agents themselves
/// keep transcripts for a month.
pub(super) const MEMORY_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Files that are looked at for that, once for each new session.
pub(super) const MEMORY_FILES_MAX: usize = 10_000;
