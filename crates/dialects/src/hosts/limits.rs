//! Limits of hosts, each with its reason.

use std::time::Duration;

/// Bytes of a rewritten input in the reason of a deny. A model can repeat this much; a whole file it
/// can only be told about.
pub(super) const SHOWN_INPUT_BYTES_MAX: usize = 8 * 1024;

/// Operations of one call that are checked one by one. Real patches touch fewer files, and real
/// calls have fewer commands; a call with more is refused.
pub(super) const OPERATIONS_MAX: usize = 200;

/// How long hosts wait for a hook whose settings name no timeout: the shortest default among them.
pub(super) const LEAST_PATIENCE: Duration = Duration::from_secs(30);

/// The timeout that our settings name, and the deadline that they pass to us, in seconds.
pub(super) const INSTALLED_TIMEOUT_SECONDS: u32 = 60;
