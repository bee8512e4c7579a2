//! What the actors and tasks of the supervisor share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conduit_actor::Seat;
use conduit_link::Links;
use conduit_telemetry::Telemetry;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::operations::OPERATIONS;
use crate::plan::Options;
use crate::spawn::Launcher;
use crate::table::Table;
use crate::wishes::Wishes;
use crate::{children, prober};

/// Everything that outlives an actor.
#[derive(Debug)]
pub(crate) struct House {
    /// What is known of the children. It outlives the actor that changes it, and
    /// is never held across an `await`.
    pub(crate) table: Mutex<Table>,
    /// Changes with the table.
    pub(crate) changed: watch::Sender<()>,
    /// When the actor `children` has to look next.
    pub(crate) due: watch::Sender<Option<Instant>>,
    pub(crate) launcher: Launcher,
    pub(crate) links: Links,
    pub(crate) telemetry: Telemetry,
    pub(crate) options: Options,
    pub(crate) children: Seat<children::Message>,
    pub(crate) prober: Seat<prober::Message>,
    /// Every task of the supervisor, awaited at its end.
    pub(crate) tasks: TaskTracker,
    /// Ends the tasks that would not end by themselves.
    pub(crate) end: CancellationToken,
    /// Bounds the scrapes at one time.
    pub(crate) scrapes: Semaphore,
    /// Bounds the operations at one time.
    pub(crate) operations: Arc<Semaphore>,
    /// What operators wish for; held while it is written.
    pub(crate) wishes: tokio::sync::Mutex<Wishes>,
    pub(crate) endpoint: SocketAddr,
    pub(crate) build: String,
    pub(crate) born: Instant,
    killed: AtomicBool,
}

/// What a house is built of.
pub(crate) struct Parts {
    pub(crate) table: Table,
    pub(crate) wishes: Wishes,
    pub(crate) launcher: Launcher,
    pub(crate) links: Links,
    pub(crate) telemetry: Telemetry,
    pub(crate) options: Options,
    pub(crate) endpoint: SocketAddr,
    pub(crate) build: String,
}

impl House {
    /// Puts everything together; nobody lives here yet.
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            table,
            wishes,
            launcher,
            links,
            telemetry,
            options,
            endpoint,
            build,
        } = parts;
        Self {
            table: Mutex::new(table),
            changed: watch::channel(()).0,
            due: watch::channel(None).0,
            launcher,
            links,
            telemetry,
            options,
            children: children::seat(),
            prober: prober::seat(),
            tasks: TaskTracker::new(),
            end: CancellationToken::new(),
            scrapes: Semaphore::new(SCRAPES),
            operations: Arc::new(Semaphore::new(OPERATIONS)),
            wishes: tokio::sync::Mutex::new(wishes),
            endpoint,
            build,
            born: Instant::now(),
            killed: AtomicBool::new(false),
        }
    }

    /// Returns the time since the supervisor started.
    pub(crate) fn now(&self) -> Duration {
        self.born.elapsed()
    }

    /// Waits until the table answers yes.
    pub(crate) async fn until(&self, question: impl Fn(&Table) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            if question(&self.table.lock()) || changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns whether somebody has said before that all children are to be killed.
    pub(crate) fn set_killed(&self) -> bool {
        self.killed.swap(true, Ordering::Relaxed)
    }
}

// === Behind the house ===

/// The most scrapes at one time; more wait.
const SCRAPES: usize = 4;
