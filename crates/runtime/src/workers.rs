//! Where authors' callbacks run, beside the gateway's loop.
//!
//! A runtime of its own with few threads for async callbacks, and bounded threads
//! for blocking ones. A blocking callback cannot be stopped: after its grace it is
//! abandoned, that is answered for and counted, and it keeps its permit until it
//! returns. So abandoned callbacks can use up the blocking threads, but nothing
//! else.

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{Code, Outcome, WireError};
use conduit_server::Work;
use conduit_telemetry::{Gauge, Pool, Telemetry};
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::call::Asked;
use crate::watchdog::Named;

/// The pool; dropping it leaves blocking callbacks to end by themselves.
#[derive(Debug)]
pub(crate) struct Workers {
    runtime: Option<Runtime>,
    blocking: Arc<Semaphore>,
    busy: Gauge,
    busy_threads: Gauge,
    abandoned: Gauge,
    telemetry: Telemetry,
}

/// What the pool is started with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Threads for async callbacks.
    pub(crate) threads: usize,
    /// The most blocking callbacks at once.
    pub(crate) blocking: usize,
}

/// What bounds one call.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// The callback, and the server that it belongs to.
    pub(crate) named: Arc<Named>,
    /// The longest that the call may take.
    pub(crate) time_limit: Duration,
    /// After a cancel, how long before the call is aborted; never if `None`.
    pub(crate) grace: Option<Duration>,
    /// The callback's own limit of calls at once.
    pub(crate) concurrency: Option<Arc<Semaphore>>,
    /// Told when the client has had enough.
    pub(crate) token: CancellationToken,
}

/// What an aborted call is answered with; the seeds offer this code to authors.
const CANCELLED: Code = Code(-32_800);

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Ended<T> {
    /// The callback returned.
    Returned(Outcome<T>),
    /// It panicked.
    Panicked,
    /// It took longer than its limit.
    OutOfTime,
    /// It was cancelled, and did not end within its grace.
    Aborted,
}

impl<T: Asked> Ended<T> {
    /// Turns it into what the client gets (R14).
    pub(crate) fn into_outcome(self, callback: &str, time_limit: Duration) -> Outcome<T> {
        match self {
            Self::Returned(outcome) => outcome,
            Self::Panicked => Outcome::Refused(WireError::internal()),
            Self::OutOfTime => T::late(callback, time_limit),
            Self::Aborted => Outcome::Refused(WireError::new(CANCELLED, "Request cancelled")),
        }
    }
}

impl Workers {
    /// # Errors
    ///
    /// Fails when the threads cannot be started.
    pub(crate) fn start(options: Options, telemetry: &Telemetry) -> std::io::Result<Arc<Self>> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.threads)
            .max_blocking_threads(options.blocking)
            .thread_name("worker")
            .enable_time()
            .enable_io()
            .build()?;
        Ok(Arc::new(Self {
            runtime: Some(runtime),
            blocking: Arc::new(Semaphore::new(options.blocking)),
            busy: telemetry.workers_busy(Pool::Async).clone(),
            busy_threads: telemetry.workers_busy(Pool::Blocking).clone(),
            abandoned: telemetry.workers_abandoned(Pool::Blocking).clone(),
            telemetry: telemetry.clone(),
        }))
    }

    /// Runs a future on the pool; it is bounded by what it awaits in [`Workers::run`].
    ///
    /// Whoever calls holds an admission permit, or work of a task, so there are never more
    /// of these than the limits of both.
    pub(crate) fn spawn(&self, call: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            drop(runtime.spawn(call));
        }
    }

    /// Runs one callback to its end, or to one of its bounds.
    pub(crate) async fn run<T: Asked>(&self, work: Work<T>, bounds: &Bounds) -> Ended<T> {
        let whole = async {
            let slot = match &bounds.concurrency {
                Some(limit) => Arc::clone(limit).acquire_owned().await.ok(),
                None => None,
            };
            match work {
                Work::Async(callback) => {
                    let _busy = self.busy.hold();
                    self.bounded(AssertUnwindSafe(callback).catch_unwind(), bounds)
                        .await
                }
                Work::Blocking(callback) => self.block(callback, bounds, slot).await,
            }
        };
        timeout(bounds.time_limit, whole)
            .await
            .unwrap_or(Ended::OutOfTime)
    }

    async fn block<T: Asked>(
        &self,
        callback: Box<dyn FnOnce() -> Outcome<T> + Send>,
        bounds: &Bounds,
        slot: Option<tokio::sync::OwnedSemaphorePermit>,
    ) -> Ended<T> {
        let (Ok(permit), Some(runtime)) = (
            Arc::clone(&self.blocking).acquire_owned().await,
            &self.runtime,
        ) else {
            return Ended::Aborted;
        };
        let (send, returned) = oneshot::channel();
        let busy = self.busy_threads.hold();
        let abandoned = Abandonable::new(self, bounds);
        let watched = abandoned.clone();
        drop(runtime.spawn_blocking(move || {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(callback));
            drop((permit, slot, busy));
            watched.returned();
            if send.send(outcome).is_err() {
                debug!("an abandoned callback returned");
            }
        }));
        let mut guard = AbandonOnDrop(Some(abandoned));
        let returned = async { returned.await.unwrap_or_else(|_| Err(Box::new("lost"))) };
        let ended = self.bounded(returned, bounds).await;
        if matches!(ended, Ended::Returned(_) | Ended::Panicked) {
            guard.0 = None;
        }
        ended
    }
}

impl Workers {
    /// Waits for the callback, or for a cancel and the grace after it.
    async fn bounded<T>(
        &self,
        callback: impl Future<Output = Caught<T>>,
        bounds: &Bounds,
    ) -> Ended<T> {
        let stop = async {
            bounds.token.cancelled().await;
            match bounds.grace {
                Some(grace) => sleep(grace).await,
                None => pending().await,
            }
        };
        tokio::select! {
            // The answer first: a call that returned is not aborted.
            biased;
            caught = callback => caught.map_or_else(|_panic| {
                self.telemetry.emit(bounds.named.panicked());
                Ended::Panicked
            }, Ended::Returned),
            () = stop => Ended::Aborted,
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

// === Behind the pool ===

type Caught<T> = std::thread::Result<Outcome<T>>;

/// Counts a blocking callback from when it was given up until it returns.
#[derive(Clone)]
struct Abandonable {
    state: Arc<Mutex<State>>,
    gauge: Gauge,
    telemetry: Telemetry,
    named: Arc<Named>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Running,
    Abandoned,
    Returned,
}

impl Abandonable {
    fn new(workers: &Workers, bounds: &Bounds) -> Self {
        Self {
            state: Arc::new(Mutex::new(State::Running)),
            gauge: workers.abandoned.clone(),
            telemetry: workers.telemetry.clone(),
            named: Arc::clone(&bounds.named),
        }
    }

    fn returned(&self) {
        let before = std::mem::replace(&mut *self.state.lock(), State::Returned);
        if before == State::Abandoned {
            self.gauge.dec();
        }
    }

    fn abandon(&self) {
        let mut state = self.state.lock();
        if *state == State::Running {
            *state = State::Abandoned;
            self.gauge.inc();
            self.telemetry.emit(self.named.abandoned());
        }
    }
}

struct AbandonOnDrop(Option<Abandonable>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        if let Some(abandonable) = &self.0 {
            abandonable.abandon();
        }
    }
}
