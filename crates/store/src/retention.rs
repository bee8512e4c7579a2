//! How long sessions stay, who leaves when there are too many, and how much one may
//! hold. Pure.
//!
//! Times are whole seconds, so each rule adds one second where it promises that
//! something does *not* leave yet.

use std::time::Duration;

/// The most sessions that leave in one go, so that no transaction grows long.
pub(crate) const SLICE: u64 = 500;

/// The most resources that one session hears of; the protocol's own limit, which is not
/// seen from here. With as many of the longest URIs a record still fits into a frame.
pub(crate) const SUBSCRIPTIONS: u64 = 1000;

/// A session that was used less than this long ago never makes room for another.
const PROTECTED: Duration = Duration::from_mins(1);

/// A moment on the store's clock, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Second(i64);

impl Second {
    pub(crate) const fn new(since_1970: i64) -> Self {
        Self(since_1970)
    }

    pub(crate) const fn since_1970(self) -> i64 {
        self.0
    }

    /// Returns the first moment of those that are *not* longer than `ago` away;
    /// part of a second counts as a whole one.
    fn minus(self, ago: Duration) -> Self {
        let whole = i64::try_from(ago.as_secs()).unwrap_or(i64::MAX);
        let part = i64::from(ago.subsec_nanos() > 0);
        Self(self.0.saturating_sub(whole).saturating_sub(part))
    }
}

/// How sessions are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// A session that nobody used for longer than this ends.
    pub(crate) idle: Duration,
    /// The most sessions at once.
    pub(crate) cap: u64,
}

impl Retention {
    /// Returns the moment before which a session was last used that ends now.
    pub(crate) fn over_before(self, now: Second) -> Second {
        now.minus(self.idle)
    }

    /// Returns how many of `live` sessions have to leave before one more may come.
    ///
    /// Above a cap that was lowered the number shrinks by a slice at a time.
    pub(crate) fn must_leave(self, live: u64) -> u64 {
        live.saturating_add(1).saturating_sub(self.cap).min(SLICE)
    }

    /// Tells whether a session last used at `used` may leave for a newer one.
    pub(crate) fn may_leave(used: Second, now: Second) -> bool {
        used < now.minus(PROTECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Second = Second::new(1_000_000);

    fn kept(idle: Duration, cap: u64) -> Retention {
        Retention { idle, cap }
    }

    #[test]
    fn a_session_ends_only_after_its_whole_idle_time() {
        let over = kept(Duration::from_secs(10), 1).over_before(NOW);

        assert_eq!(over, Second::new(999_990), "one used at 999,990 stays");
    }

    #[test]
    fn a_part_of_a_second_counts_as_a_whole_one() {
        let over = kept(Duration::from_millis(1), 1).over_before(NOW);

        assert_eq!(over, Second::new(999_999));
    }

    #[test]
    fn an_endless_idle_time_ends_nothing() {
        let over = kept(Duration::MAX, 1).over_before(NOW);

        assert!(over < Second::new(0));
    }

    #[test]
    fn nobody_leaves_below_the_cap() {
        assert_eq!(kept(Duration::MAX, 2).must_leave(1), 0);
    }

    #[test]
    fn one_leaves_at_the_cap() {
        assert_eq!(kept(Duration::MAX, 2).must_leave(2), 1);
    }

    #[test]
    fn a_lowered_cap_is_reached_in_slices() {
        assert_eq!(kept(Duration::MAX, 2).must_leave(10_000), SLICE);
    }

    #[test]
    fn whoever_was_used_within_a_minute_stays() {
        assert!(!Retention::may_leave(Second::new(999_940), NOW));
    }

    #[test]
    fn whoever_was_not_used_for_a_minute_may_leave() {
        assert!(Retention::may_leave(Second::new(999_939), NOW));
    }

    #[test]
    fn a_use_in_the_future_is_a_recent_one() {
        assert!(!Retention::may_leave(Second::new(2_000_000), NOW));
    }
}
