//! The machine's monotonic clock, which all processes of a tree share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the time, in microseconds since some moment before this process.
pub(crate) fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let micros = u64::try_from(now.tv_nsec / 1_000).unwrap_or_default();
    u64::try_from(now.tv_sec)
        .unwrap_or_default()
        .saturating_mul(1_000_000)
        .saturating_add(micros)
}

/// Returns how long ago a time was.
pub(crate) fn since(at_us: u64) -> Duration {
    Duration::from_micros(now_us().saturating_sub(at_us))
}
