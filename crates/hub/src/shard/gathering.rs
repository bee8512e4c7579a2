//! Who is still to connect to a hub that has just started.
//!
//! The mail that waited for the hub comes with the first links. Taken at once, it would
//! miss the gateways whose links are a moment later.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Over once as many gateways were attached as there are to be, or after a time; then
/// for good.
#[derive(Clone, Debug)]
pub(super) struct Gathering {
    expected: usize,
    until: Instant,
    over: CancellationToken,
}

impl Gathering {
    pub(super) fn new(expected: usize, longest: Duration) -> Self {
        Self {
            expected,
            until: Instant::now() + longest,
            over: CancellationToken::new(),
        }
    }

    /// This many are attached now.
    pub(super) fn arrived(&self, attached: usize) {
        if attached >= self.expected {
            self.over.cancel();
        }
    }

    /// Waits until it is over, or `due`.
    ///
    /// Cancel safe.
    pub(super) async fn complete(&self, due: Instant) {
        // Whoever is missing after that time holds up nobody else.
        drop(timeout_at(self.until.min(due), self.over.cancelled()).await);
    }
}
