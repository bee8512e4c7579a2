//! How soon a failed thing starts again, and when to stop trying.

use std::collections::VecDeque;
use std::time::Duration;

/// Delays between restarts: doubling from `first`, never above `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay before the first restart of a series.
    pub first: Duration,
    /// No delay is longer.
    pub most: Duration,
}

impl Backoff {
    /// Returns the delay before a restart that follows `earlier` others.
    #[must_use]
    pub fn delay(self, earlier: usize) -> Duration {
        let doublings = u32::try_from(earlier).unwrap_or(u32::MAX).min(20);
        self.first.saturating_mul(1 << doublings).min(self.most)
    }
}

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Start it again after this delay.
    Again(Duration),
    /// It failed too often: leave it alone.
    Park,
}

/// A restart budget: at most `restarts` failures within `window`.
///
/// Memory is bounded by `restarts` entries.
#[derive(Clone, Debug)]
pub struct Budget {
    restarts: usize,
    window: Duration,
    backoff: Backoff,
    /// When the failures inside the window happened, oldest first.
    failures: VecDeque<Duration>,
}

impl Budget {
    /// Makes a full budget.
    #[must_use]
    pub const fn new(restarts: usize, window: Duration, backoff: Backoff) -> Self {
        Self {
            restarts,
            window,
            backoff,
            failures: VecDeque::new(),
        }
    }

    /// Records a failure at `now`, the time since any fixed moment, and judges it.
    ///
    /// Failures that left the window no longer count, neither for the limit nor
    /// for the delay.
    pub fn failed(&mut self, now: Duration) -> Verdict {
        while let Some(&oldest) = self.failures.front() {
            if now.saturating_sub(oldest) <= self.window {
                break;
            }
            self.failures.pop_front();
        }
        if self.failures.len() >= self.restarts {
            return Verdict::Park;
        }
        let delay = self.backoff.delay(self.failures.len());
        self.failures.push_back(now);
        Verdict::Again(delay)
    }

    /// Forgets all failures, as after a parking time.
    pub fn refill(&mut self) {
        self.failures.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BACKOFF: Backoff = Backoff {
        first: Duration::from_millis(50),
        most: Duration::from_secs(5),
    };

    #[test]
    fn delays_double_up_to_the_limit() {
        let delays: Vec<_> = (0..9).map(|n| BACKOFF.delay(n).as_millis()).collect();

        assert_eq!(
            delays,
            [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000],
            "doubling, then flat"
        );
    }

    #[test]
    fn one_failure_past_the_budget_parks() {
        let mut budget = Budget::new(2, Duration::from_mins(1), BACKOFF);
        budget.failed(Duration::ZERO);
        budget.failed(Duration::ZERO);

        let verdict = budget.failed(Duration::ZERO);

        assert_eq!(verdict, Verdict::Park);
    }

    #[test]
    fn a_failure_that_left_the_window_no_longer_counts() {
        let mut budget = Budget::new(1, Duration::from_mins(1), BACKOFF);
        budget.failed(Duration::ZERO);

        let verdict = budget.failed(Duration::from_secs(61));

        assert_eq!(verdict, Verdict::Again(BACKOFF.first));
    }

    proptest! {
        #[test]
        fn no_window_holds_more_restarts_than_the_budget(
            mut times in proptest::collection::vec(0_u64..10_000, 0..200),
            restarts in 1_usize..8,
        ) {
            times.sort_unstable();
            let window = Duration::from_secs(1);
            let mut budget = Budget::new(restarts, window, BACKOFF);
            let mut granted = Vec::new();

            for time in times {
                let now = Duration::from_millis(time);
                if let Verdict::Again(_) = budget.failed(now) {
                    granted.push(now);
                }
            }

            for (index, start) in granted.iter().enumerate() {
                let within = granted.iter().skip(index).take_while(|&&t| t - *start <= window);
                prop_assert!(within.count() <= restarts);
            }
        }
    }
}
