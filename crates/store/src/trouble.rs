//! Logs a failure once, not each time: on a full disk every change fails.

use conduit_errors::chain;
use tracing::{debug, error, info};

use crate::backend::Failure;

/// A series of failures of one thing; it ends with the first success.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// What fails, for the log.
    what: &'static str,
    failures: u64,
}

impl Trouble {
    pub(crate) const fn with(what: &'static str) -> Self {
        Self { what, failures: 0 }
    }

    pub(crate) fn failed(&mut self, failure: &Failure) {
        let what = self.what;
        if self.failures == 0 {
            error!(what, error = %chain(failure), "database fails");
        } else {
            debug!(what, error = %chain(failure), "database still fails");
        }
        self.failures = self.failures.saturating_add(1);
    }

    pub(crate) fn succeeded(&mut self) {
        if self.failures > 0 {
            info!(
                what = self.what,
                failures = self.failures,
                "database works again"
            );
            self.failures = 0;
        }
    }
}
