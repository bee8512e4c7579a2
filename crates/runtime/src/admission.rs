//! How many messages may be inside at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use conduit_telemetry::{Gauge, Held};
use tokio::sync::Notify;

use crate::exchange::Submitted;

/// Counts what is inside and refuses what would be too much.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    shared: Arc<Shared>,
}

/// The right of one message to be inside, and its state as seen from outside.
///
/// Cloned into every place that works for the message; the place in the count is
/// given back with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    inside: Arc<Inside>,
}

#[derive(Debug)]
struct Shared {
    inside: AtomicUsize,
    limit: usize,
    gauge: Gauge,
    streams: Gauge,
    emptied: Notify,
}

#[derive(Debug)]
struct Inside {
    submitted: Submitted,
    shared: Arc<Shared>,
    counted: AtomicBool,
}

impl Admission {
    /// `gauge` shows what is inside, `streams` how much of it is a stream.
    pub(crate) fn new(limit: usize, gauge: Gauge, streams: Gauge) -> Self {
        Self {
            shared: Arc::new(Shared {
                inside: AtomicUsize::new(0),
                limit,
                gauge,
                streams,
                emptied: Notify::new(),
            }),
        }
    }

    /// Lets a message in, unless the limit is reached.
    pub(crate) fn admit(&self) -> Option<Admitted> {
        let before = self.shared.inside.fetch_add(1, Ordering::Relaxed);
        if before >= self.shared.limit {
            self.shared.inside.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(self.enter())
    }

    /// Lets a message in whatever the count says (R42: `server/discover`).
    pub(crate) fn admit_exempt(&self) -> Admitted {
        self.shared.inside.fetch_add(1, Ordering::Relaxed);
        self.enter()
    }

    /// Waits until nothing is inside.
    pub(crate) async fn idle(&self) {
        let mut emptied = std::pin::pin!(self.shared.emptied.notified());
        loop {
            // Registered before the count is read, so that no last one is missed.
            emptied.as_mut().enable();
            if self.shared.inside.load(Ordering::Acquire) == 0 {
                return;
            }
            emptied.as_mut().await;
            emptied.set(self.shared.emptied.notified());
        }
    }

    fn enter(&self) -> Admitted {
        self.shared.gauge.inc();
        Admitted {
            inside: Arc::new(Inside {
                submitted: Submitted::default(),
                shared: Arc::clone(&self.shared),
                counted: AtomicBool::new(true),
            }),
        }
    }
}

impl Admitted {
    /// Gives the place in the count back before the message is answered.
    pub(crate) fn leave(&self) {
        self.inside.leave();
    }

    /// Counts an open stream until the result is dropped.
    pub(crate) fn hold_stream(&self) -> Held {
        self.inside.shared.streams.hold()
    }
}

impl std::ops::Deref for Admitted {
    type Target = Submitted;

    fn deref(&self) -> &Submitted {
        &self.inside.submitted
    }
}

impl Inside {
    fn leave(&self) {
        if !self.counted.swap(false, Ordering::AcqRel) {
            return;
        }
        self.shared.gauge.dec();
        if self.shared.inside.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.emptied.notify_waiters();
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.leave();
    }
}
