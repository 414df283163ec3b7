//! Deadlines.

use std::time::Duration;

use tokio::time::Instant;

/// Further than any deadline; a later one would not fit the clock.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// This long after an instant, or as far as the clock goes.
pub(crate) fn far(from: Instant, after: Duration) -> Instant {
    from + after.min(FAR)
}
