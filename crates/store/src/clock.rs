//! The store's clock: starts at the wall's time and then only goes forward.
//!
//! A wall clock that is set while we run ends no session and keeps none. Where it
//! was set back between two lives, the sweep brings what lies in the future back
//! to now.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::retention::Second;

/// Tells the seconds since 1970 by a clock that nobody sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Second,
    since: Instant,
}

impl Clock {
    /// Reads the wall's clock once. One that stands before 1970 counts as 1970.
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            start: Second::new(i64::try_from(wall.as_secs()).unwrap_or(i64::MAX)),
            since: Instant::now(),
        }
    }

    pub(crate) fn now(self) -> Second {
        let passed = i64::try_from(self.since.elapsed().as_secs()).unwrap_or(i64::MAX);
        Second::new(self.start.since_1970().saturating_add(passed))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_follows_time_that_passes() {
        let clock = Clock::start();
        let before = clock.now().since_1970();

        tokio::time::advance(Duration::from_secs(90)).await;

        assert_eq!(clock.now().since_1970() - before, 90);
    }
}
