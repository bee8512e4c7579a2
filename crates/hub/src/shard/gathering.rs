//! Who is still to come to a hub that has just started.
//!
//! What waited for the hub comes with the first links. Taken at once, it would miss the
//! gateways whose links are a moment later, and those that have not yet said what they want
//! to hear of.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Over once as many gateways have settled as there are to be, or after a time; then
/// for good.
#[derive(Clone, Debug)]
pub(super) struct Gathering {
    expected: usize,
    until: Instant,
    over: CancellationToken,
}

impl Gathering {
    pub(super) fn new(expected: usize, longest: Duration) -> Self {
        let gathering = Self {
            expected,
            until: Instant::now() + longest,
            over: CancellationToken::new(),
        };
        gathering.arrived(0);
        gathering
    }

    /// This many have settled now.
    pub(super) fn arrived(&self, settled: usize) {
        if settled >= self.expected {
            self.over.cancel();
        }
    }

    /// Waits until it is over, or `due`; tells whether it is over.
    ///
    /// Cancel safe.
    pub(super) async fn complete(&self, due: Instant) -> bool {
        // Whoever is missing after that time holds up nobody else.
        let complete = timeout_at(self.until.min(due), self.over.cancelled()).await;
        complete.is_ok() || self.until <= due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(500);

    #[tokio::test(start_paused = true)]
    async fn a_hub_that_expects_nobody_waits_for_nobody() {
        let gathering = Gathering::new(0, LONGEST);

        assert!(gathering.complete(Instant::now()).await);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_over_for_good_once_all_have_settled() {
        let gathering = Gathering::new(2, LONGEST);

        gathering.arrived(1);
        assert!(!gathering.complete(Instant::now()).await, "one is missing");
        gathering.arrived(2);
        gathering.arrived(1);

        assert!(gathering.complete(Instant::now()).await);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_over_after_its_time_whoever_is_missing() {
        let start = Instant::now();
        let gathering = Gathering::new(2, LONGEST);

        assert!(gathering.complete(start + LONGEST * 2).await);

        assert_eq!(start.elapsed(), LONGEST);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_it_can() {
        let start = Instant::now();
        let gathering = Gathering::new(2, LONGEST);

        assert!(!gathering.complete(start + LONGEST / 2).await);

        assert_eq!(start.elapsed(), LONGEST / 2);
    }
}
