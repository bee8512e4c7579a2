//! The store's clock: starts at the wall's time and then only goes forward.
//!
//! A wall clock that is set while we run ends no session and keeps none. Where it
//! was set back between two lives, the sweep brings sessions that lie in the future
//! back to now; a task ends at the time that it was promised, by the wall's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::retention::Second;

/// A moment on the store's clock, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(i64);

/// Tells the time since 1970 by a clock that nobody sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Moment,
    since: Instant,
}

impl Moment {
    pub(crate) const fn new(since_1970: i64) -> Self {
        Self(since_1970)
    }

    pub(crate) const fn since_1970(self) -> i64 {
        self.0
    }

    /// Returns the same for whoever counts from zero up.
    pub(crate) fn unsigned(self) -> u64 {
        u64::try_from(self.0).unwrap_or_default()
    }

    /// Returns the moment that is `millis` later.
    pub(crate) fn plus(self, millis: u64) -> Self {
        let millis = i64::try_from(millis).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// Returns the moment that is `ago` earlier.
    pub(crate) fn minus(self, ago: Duration) -> Self {
        let millis = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis))
    }

    /// Returns how long it is from `earlier` to here; nothing if that is later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or_default())
    }
}

impl Clock {
    /// Reads the wall's clock once. One that stands before 1970 counts as 1970.
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            start: Moment::new(0).plus(millis(wall)),
            since: Instant::now(),
        }
    }

    pub(crate) fn now(self) -> Second {
        Second::new(self.moment().since_1970() / 1000)
    }

    /// Returns the same moment, to the millisecond.
    pub(crate) fn moment(self) -> Moment {
        self.start.plus(millis(self.since.elapsed()))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_follows_time_that_passes() {
        let clock = Clock::start();
        let (second, moment) = (clock.now(), clock.moment());

        tokio::time::advance(Duration::from_secs(90)).await;

        assert_eq!(clock.now().since_1970() - second.since_1970(), 90);
        assert_eq!(clock.moment().since(moment), Duration::from_secs(90));
    }

    #[test]
    fn a_moment_never_leaves_the_range_of_its_number() {
        let now = Moment::new(1_000);

        assert_eq!(now.plus(u64::MAX), Moment::new(i64::MAX));
        assert_eq!(now.minus(Duration::MAX).unsigned(), 0);
        assert_eq!(now.since(now.plus(5)), Duration::ZERO);
    }
}
