//! How many connections are open, for the limit, the metric and the other gateways.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use conduit_telemetry::Telemetry;

use crate::Balance;

/// The count of open connections.
#[derive(Clone)]
pub(crate) struct Open {
    shared: Arc<Count>,
}

/// One open connection.
pub(crate) struct Place(Open);

impl Open {
    pub(crate) fn new(balance: Option<Balance>, telemetry: Telemetry) -> Self {
        Self {
            shared: Arc::new(Count {
                open: AtomicUsize::new(0),
                balance,
                telemetry,
            }),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    /// Whether the other gateways should accept first.
    pub(crate) fn should_wait(&self) -> bool {
        let balance = self.shared.balance.as_ref();
        balance.is_some_and(|balance| balance.should_wait(self.count()))
    }

    pub(crate) fn enter(&self) -> Place {
        let open = self.shared.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.shared.telemetry.connection_opened();
        self.publish(open);
        Place(self.clone())
    }

    pub(crate) fn refused(&self) {
        self.shared.telemetry.connection_refused();
    }

    fn publish(&self, open: usize) {
        if let Some(balance) = &self.shared.balance {
            balance.publish(open);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let open = self.0.shared.open.fetch_sub(1, Ordering::Relaxed) - 1;
        self.0.shared.telemetry.connection_closed();
        self.0.publish(open);
    }
}

// === Behind the count ===

struct Count {
    open: AtomicUsize,
    balance: Option<Balance>,
    telemetry: Telemetry,
}
