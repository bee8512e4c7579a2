//! The handle of a process' telemetry.

mod hot;
mod shown;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conduit_actor::{Seat, Tree};
use conduit_link::{Delivery, Link};
use parking_lot::{Mutex, RwLock};
use prometheus::{Histogram, IntCounter, IntGauge};
use tokio::sync::Semaphore;
use tracing::{Level, enabled};

use self::hot::Hot;
pub use self::shown::{LinkSample, SlotSample};
use crate::Error;
use crate::event::Event;
use crate::gauge::Gauge;
use crate::instruments::{Instruments, raise_to};
use crate::label::{
    BadState, ChangeOutcome, LostKind, MailOutcome, OTHER, Pool, RefusedReason, StoreOperation,
    StoreOutcome, StreamChange, StreamKind, TakeoverOutcome, TaskState,
};
use crate::server_metrics::{SERVERS, ServerMetrics, TOOLS};
use crate::sink::{self, QUEUE};
use crate::snapshot::Snapshot;
use crate::{logging, process};

/// Counts and times what a process does; cheap to clone.
#[derive(Clone)]
pub struct Telemetry {
    shared: Arc<Shared>,
}

impl Telemetry {
    /// Makes the telemetry of the process in the slot called `process`.
    #[must_use]
    pub fn new(process: &str) -> Self {
        let instruments = Instruments::new();
        Self {
            shared: Arc::new(Shared {
                process: process.to_owned(),
                hot: Hot::new(&instruments),
                instruments,
                servers: Mutex::default(),
                collectors: RwLock::default(),
                listeners: RwLock::default(),
                has_listeners: AtomicBool::new(false),
                sink: Seat::new("telemetry"),
                room: Arc::new(Semaphore::new(QUEUE)),
            }),
        }
    }

    /// Binds the counters of a server with these tools.
    ///
    /// The first [`TOOLS`] names ever seen of a server, and the first [`SERVERS`]
    /// servers, are labels; the rest is `other`. A server that is registered
    /// again keeps its counts.
    #[must_use]
    pub fn register_server<T: AsRef<str>>(&self, name: &str, tools: &[T]) -> ServerMetrics {
        let server = {
            let mut servers = self.shared.servers.lock();
            let room = servers.len() < SERVERS;
            let known = room || servers.contains_key(name);
            let server = if known { name } else { OTHER };
            servers.entry(server.to_owned()).or_default();
            server
        };
        let metrics = ServerMetrics::new(self.clone(), server);
        metrics.set_tools(tools);
        metrics
    }

    /// Counts a request that was turned away before its callback.
    pub fn refused(&self, reason: RefusedReason) {
        if let Some(counter) = self.shared.hot.refused.get(reason as usize) {
            counter.inc();
        }
        let heard = enabled!(target: "conduit_telemetry::request", Level::DEBUG);
        if heard || self.has_listeners() {
            self.emit(Event::CallRefused { reason });
        }
    }

    /// Counts a state that a client brought back and that was refused.
    pub fn bad_state(&self, reason: BadState) {
        let states = &self.shared.instruments.bad_states;
        states.with_label_values(&[reason.as_str()]).inc();
    }

    /// Returns the level of requests that were let in and are not answered yet.
    #[must_use]
    pub fn in_flight(&self) -> &Gauge {
        &self.shared.hot.in_flight
    }

    /// Counts a client connection that was accepted.
    pub fn connection_opened(&self) {
        self.shared.instruments.connections_total.inc();
        self.shared.hot.connections.inc();
    }

    /// Counts the end of a connection from [`Telemetry::connection_opened`].
    pub fn connection_closed(&self) {
        self.shared.hot.connections.dec();
    }

    /// Counts a client connection that was closed at once.
    pub fn connection_refused(&self) {
        self.shared.instruments.connections_refused.inc();
    }

    /// Returns the level of open event streams of one kind.
    #[must_use]
    pub fn streams(&self, kind: StreamKind) -> &Gauge {
        match kind {
            StreamKind::Call => &self.shared.hot.call_streams,
            StreamKind::Listen => &self.shared.hot.listen_streams,
            StreamKind::Session => &self.shared.hot.session_streams,
        }
    }

    /// Counts what was thrown away rather than waited for.
    pub fn lost(&self, kind: LostKind, count: usize) {
        let counter = match kind {
            LostKind::Event => &self.shared.hot.lost_events,
            LostKind::Line => &self.shared.hot.lost_lines,
            LostKind::Notification => &self.shared.instruments.notifications_dropped,
        };
        counter.inc_by(count as u64);
    }

    /// Returns the level of legacy sessions that a gateway has a view of.
    #[must_use]
    pub fn sessions_cached(&self) -> &Gauge {
        &self.shared.hot.sessions_cached
    }

    /// Returns the level of tasks that a gateway works on.
    #[must_use]
    pub fn tasks_running(&self) -> &Gauge {
        &self.shared.hot.tasks_running
    }

    /// Returns the level of topics that the clients of a gateway listen to.
    #[must_use]
    pub fn topics(&self) -> &Gauge {
        &self.shared.hot.topics
    }

    /// Counts a change that a server of a gateway has published.
    pub fn change_published(&self, outcome: ChangeOutcome) {
        count(&self.shared.hot.changes, outcome as usize, 1);
    }

    /// Counts changes at streams, one for each stream.
    pub fn stream_changes(&self, outcome: StreamChange, changes: usize) {
        count(&self.shared.hot.stream_changes, outcome as usize, changes);
    }

    /// Returns what times the changes that a shard told of.
    #[must_use]
    pub fn propagation(&self, shard: &str) -> Propagation {
        let seconds = &self.shared.instruments.propagation_seconds;
        Propagation(seconds.with_label_values(&[shard]))
    }

    /// Returns the level of callbacks that a pool runs.
    #[must_use]
    pub fn workers_busy(&self, pool: Pool) -> &Gauge {
        match pool {
            Pool::Async => &self.shared.hot.async_busy,
            Pool::Blocking => &self.shared.hot.blocking_busy,
        }
    }

    /// Returns the level of callbacks that overran their grace and still run;
    /// [`Event::WorkerAbandoned`] counts them and names the tool.
    #[must_use]
    pub fn workers_abandoned(&self, pool: Pool) -> &Gauge {
        match pool {
            Pool::Async => &self.shared.hot.async_abandoned,
            Pool::Blocking => &self.shared.hot.blocking_abandoned,
        }
    }

    /// Counts an operation that the store answered.
    pub fn store_operation(
        &self,
        operation: StoreOperation,
        outcome: StoreOutcome,
        took: Duration,
    ) {
        let instruments = &self.shared.instruments;
        instruments
            .store_operations
            .with_label_values(&[operation.as_str(), outcome.as_str()])
            .inc();
        instruments
            .store_operation_seconds
            .with_label_values(&[operation.as_str()])
            .observe(took.as_secs_f64());
    }

    /// Times a commit of the store, the flush to disk included.
    pub fn store_commit(&self, took: Duration) {
        self.shared
            .instruments
            .store_commit_seconds
            .observe(took.as_secs_f64());
    }

    /// Shows how many sessions the store keeps.
    pub fn store_sessions(&self, sessions: usize) {
        set(&self.shared.instruments.store_sessions, sessions);
    }

    /// Shows how many tasks of one state the store keeps.
    pub fn store_tasks(&self, state: TaskState, tasks: usize) {
        let gauges = &self.shared.instruments.store_tasks;
        set(&gauges.with_label_values(&[state.as_str()]), tasks);
    }

    /// Shows on how many tasks gateways work, and how many wait for one.
    pub fn store_tasks_at_work(&self, running: usize, ready: usize) {
        set(&self.shared.instruments.store_tasks_running, running);
        set(&self.shared.instruments.store_tasks_ready, ready);
    }

    /// Counts tasks that lost their gateway.
    pub fn store_takeovers(&self, restarted: usize, failed: usize) {
        for (outcome, tasks) in [
            (TakeoverOutcome::Restarted, restarted),
            (TakeoverOutcome::Failed, failed),
        ] {
            self.shared
                .instruments
                .store_takeovers
                .with_label_values(&[outcome.as_str()])
                .inc_by(tasks as u64);
        }
    }

    /// Counts tasks that left because their time was over.
    pub fn store_tasks_expired(&self, tasks: usize) {
        self.shared
            .instruments
            .store_tasks_expired
            .inc_by(tasks as u64);
    }

    /// Counts a piece of mail at one recipient.
    pub fn mail(&self, outcome: MailOutcome) {
        self.shared
            .instruments
            .hub_mail
            .with_label_values(&[outcome.as_str()])
            .inc();
    }

    /// Counts changes that a gateway was told of by a hub.
    pub fn changes_told(&self, outcome: MailOutcome, changes: usize) {
        count(&self.shared.hot.hub_changes, outcome as usize, changes);
    }

    /// Counts changes that a gateway has published at a hub.
    pub fn hub_published(&self, changes: usize) {
        let published = &self.shared.instruments.hub_published;
        published.inc_by(changes as u64);
    }

    /// Returns how many changes were published at a hub, and how many of those gateways
    /// have noted.
    #[must_use]
    pub fn hub_counts(&self) -> (u64, u64) {
        let noted = self.shared.hot.hub_changes.get(MailOutcome::Taken as usize);
        let noted = noted.map_or(0, IntCounter::get);
        (self.shared.instruments.hub_published.get(), noted)
    }

    /// Returns the level of topics that some gateway has registered at a hub.
    #[must_use]
    pub fn hub_topics(&self) -> &Gauge {
        &self.shared.hot.hub_topics
    }

    /// Returns the level of topics that gateways have registered at a hub, one for each
    /// gateway.
    #[must_use]
    pub fn hub_registrations(&self) -> &Gauge {
        &self.shared.hot.hub_registrations
    }

    /// Counts a registration that a hub has refused because it is full.
    pub fn hub_registration_refused(&self) {
        self.shared.instruments.hub_refused.inc();
    }

    /// Counts a gateway that has registered everything, anew.
    pub fn hub_resynced(&self) {
        self.shared.instruments.hub_resyncs.inc();
    }

    /// Hands an event to the sink, or drops it and counts that; never waits.
    pub fn emit(&self, event: Event) {
        if !sink::hand_over(&self.shared.sink, &self.shared.room, event) {
            self.lost(LostKind::Event, 1);
        }
    }

    /// Tells of a link that came up or went down; other deliveries are no news.
    pub fn tell_of_link(&self, link: &Link, delivery: &Delivery) {
        let peer = || link.slot().to_string();
        match delivery {
            Delivery::Up(_) => self.emit(Event::LinkUp { peer: peer() }),
            Delivery::Down(reason) => self.emit(Event::LinkDown {
                peer: peer(),
                reason: reason.as_str(),
            }),
            Delivery::Event(_) | Delivery::Call(..) => {}
        }
    }

    /// Lets a function hear each event, for tests and for tracing back ends.
    ///
    /// It runs inside the sink and must not block. From then on each request
    /// costs a hop to the sink.
    pub fn listen(&self, listener: impl Fn(&Event) + Send + Sync + 'static) {
        self.shared.listeners.write().push(Arc::new(listener));
        self.shared.has_listeners.store(true, Ordering::Release);
    }

    /// Runs a function before each encoding, to show what is rather than what
    /// happened. It must be quick.
    pub fn collect_with(&self, collector: impl Fn(&Self) + Send + Sync + 'static) {
        self.shared.collectors.write().push(Arc::new(collector));
    }

    /// Starts in a tree of actors: the sink runs there, and each encoding shows the
    /// tree's actors.
    ///
    /// Before, and between two lives of the sink, events are dropped and counted.
    ///
    /// # Errors
    ///
    /// [`Error::Sink`] when the tree is stopping.
    ///
    /// # Cancel safety
    ///
    /// As [`Tree::start_at`].
    pub async fn start_in(&self, tree: &Tree) -> Result<(), Error> {
        self.start_sink(tree).await?;
        let view = tree.viewer();
        self.collect_with(move |telemetry| telemetry.actors(&view()));
        Ok(())
    }

    /// Starts the sink alone.
    ///
    /// # Errors
    ///
    /// [`Error::Sink`] when the tree is stopping.
    ///
    /// # Cancel safety
    ///
    /// As [`Tree::start_at`].
    pub async fn start_sink(&self, tree: &Tree) -> Result<(), Error> {
        sink::start(self, tree).await
    }

    /// Waits until the sink has worked through what it holds now.
    ///
    /// # Errors
    ///
    /// [`Error::Flush`] when it did not within `patience`, or is not there.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing but the news.
    pub async fn flush(&self, patience: Duration) -> Result<(), Error> {
        sink::flush(&self.shared.sink, patience).await
    }

    /// Runs the collectors and encodes everything, for [`exposition()`](crate::exposition()).
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let collectors = self.shared.collectors.read().clone();
        for collect in &collectors {
            collect(self);
        }
        process::collect(&self.shared.instruments);
        raise_to(&self.shared.hot.lost_lines, logging::lost_lines());
        Snapshot::of(&self.shared.process, &self.shared.instruments.registry).encode()
    }

    /// Keeps those of these tools of a server that are labels, as many as there may be.
    pub(crate) fn label_tools<'a, T: AsRef<str>>(
        &self,
        server: &str,
        tools: &'a [T],
    ) -> Vec<&'a str> {
        let mut servers = self.shared.servers.lock();
        let known = servers.entry(server.to_owned()).or_default();
        let mut labelled = Vec::with_capacity(tools.len().min(TOOLS));
        for tool in tools.iter().map(AsRef::as_ref) {
            if known.contains(tool) {
                labelled.push(tool);
            } else if known.len() < TOOLS {
                known.insert(tool.to_owned());
                labelled.push(tool);
            }
        }
        labelled
    }

    pub(crate) fn instruments(&self) -> &Instruments {
        &self.shared.instruments
    }

    pub(crate) fn seat(&self) -> &Seat<sink::Message> {
        &self.shared.sink
    }

    pub(crate) fn has_listeners(&self) -> bool {
        self.shared.has_listeners.load(Ordering::Acquire)
    }

    pub(crate) fn tell_listeners(&self, event: &Event) {
        let listeners = self.shared.listeners.read().clone();
        for listener in &listeners {
            listener(event);
        }
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("process", &self.shared.process)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

type Collector = Arc<dyn Fn(&Telemetry) + Send + Sync>;
type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

struct Shared {
    process: String,
    instruments: Instruments,
    hot: Hot,
    /// Servers and their tools that are labels.
    servers: Mutex<BTreeMap<String, BTreeSet<String>>>,
    collectors: RwLock<Vec<Collector>>,
    listeners: RwLock<Vec<Listener>>,
    has_listeners: AtomicBool,
    sink: Seat<sink::Message>,
    /// One permit for each event that may wait for the sink.
    room: Arc<Semaphore>,
}

/// Times changes from their publish to a stream's connection; cheap to clone.
#[derive(Clone, Debug)]
pub struct Propagation(Histogram);

impl Propagation {
    /// Times one.
    pub fn observe(&self, took: Duration) {
        self.0.observe(took.as_secs_f64());
    }
}

fn count(counters: &[IntCounter], outcome: usize, times: usize) {
    if let Some(counter) = counters.get(outcome) {
        counter.inc_by(times as u64);
    }
}

fn set(gauge: &IntGauge, level: usize) {
    Gauge::new(gauge.clone()).set(level);
}
