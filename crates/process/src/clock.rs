//! Deadlines.

use std::time::Duration;

use tokio::time::Instant;

/// Beyond any deadline; a later one would not fit the clock.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The instant after this duration, or as late as the clock allows.
pub(crate) fn far(from: Instant, after: Duration) -> Instant {
    from + after.min(FAR)
}
