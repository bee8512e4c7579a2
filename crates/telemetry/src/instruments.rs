//! Every instrument of a process, registered under its row of the table.

use prometheus::core::Collector;
use prometheus::{
    Counter, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Opts, Registry,
};

use crate::metric::{Metric, Row};

/// The instruments; each field is one row of the table.
pub(crate) struct Instruments {
    pub(crate) registry: Registry,
    pub(crate) requests: IntCounterVec,
    pub(crate) request_seconds: HistogramVec,
    pub(crate) in_flight: IntGauge,
    pub(crate) refused: IntCounterVec,
    pub(crate) cancelled: IntCounterVec,
    pub(crate) tool_calls: IntCounterVec,
    pub(crate) tool_seconds: HistogramVec,
    pub(crate) resource_reads: IntCounterVec,
    pub(crate) resource_read_seconds: HistogramVec,
    pub(crate) prompt_gets: IntCounterVec,
    pub(crate) prompt_get_seconds: HistogramVec,
    pub(crate) input_rounds: IntCounterVec,
    pub(crate) bad_states: IntCounterVec,
    pub(crate) subscriptions: IntCounterVec,
    pub(crate) subscription_seconds: HistogramVec,
    pub(crate) tasks_running: IntGauge,
    pub(crate) task_runs: IntCounterVec,
    pub(crate) task_run_seconds: HistogramVec,
    pub(crate) workers_busy: IntGaugeVec,
    pub(crate) workers_abandoned: IntGaugeVec,
    pub(crate) worker_abandonments: IntCounterVec,
    pub(crate) loop_lag: Gauge,
    pub(crate) loop_stalls: IntCounter,
    pub(crate) connections: IntGauge,
    pub(crate) connections_total: IntCounter,
    pub(crate) connections_refused: IntCounter,
    pub(crate) streams: IntGaugeVec,
    pub(crate) notifications_dropped: IntCounter,
    pub(crate) sessions_cached: IntGauge,
    pub(crate) topics: IntGauge,
    pub(crate) stream_changes: IntCounterVec,
    pub(crate) propagation_seconds: HistogramVec,
    pub(crate) changes_published: IntCounterVec,
    pub(crate) store_operations: IntCounterVec,
    pub(crate) store_operation_seconds: HistogramVec,
    pub(crate) store_commit_seconds: Histogram,
    pub(crate) store_sessions: IntGauge,
    pub(crate) store_tasks: IntGaugeVec,
    pub(crate) store_tasks_running: IntGauge,
    pub(crate) store_tasks_ready: IntGauge,
    pub(crate) store_takeovers: IntCounterVec,
    pub(crate) store_tasks_expired: IntCounter,
    pub(crate) hub_mail: IntCounterVec,
    pub(crate) hub_changes: IntCounterVec,
    pub(crate) hub_published: IntCounter,
    pub(crate) hub_topics: IntGauge,
    pub(crate) hub_registrations: IntGauge,
    pub(crate) hub_refused: IntCounter,
    pub(crate) hub_resyncs: IntCounter,
    pub(crate) restarts: IntCounterVec,
    pub(crate) child_exits: IntCounterVec,
    pub(crate) slot_up: IntGaugeVec,
    pub(crate) slot_parked: IntGaugeVec,
    pub(crate) probe_age: GaugeVec,
    pub(crate) scrapes_missed: IntCounterVec,
    pub(crate) link_up: IntGaugeVec,
    pub(crate) link_frames: IntCounterVec,
    pub(crate) link_reconnects: IntCounterVec,
    pub(crate) link_queued: IntGaugeVec,
    pub(crate) link_silence: GaugeVec,
    pub(crate) mailbox_depth: IntGaugeVec,
    pub(crate) actor_restarts: IntCounterVec,
    pub(crate) lost: IntCounterVec,
    pub(crate) cpu: Counter,
    pub(crate) resident: IntGauge,
    pub(crate) open_fds: IntGauge,
    pub(crate) threads: IntGauge,
    pub(crate) started: Gauge,
}

impl Instruments {
    pub(crate) fn new() -> Self {
        let maker = Maker(Registry::new());
        let build = maker.gauges(Row::BUILD);
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Self {
            requests: maker.counters(Row::REQUESTS),
            request_seconds: maker.histograms(Row::REQUEST_SECONDS),
            in_flight: maker.gauge(Row::IN_FLIGHT),
            refused: maker.counters(Row::REFUSED),
            cancelled: maker.counters(Row::CANCELLED),
            tool_calls: maker.counters(Row::TOOL_CALLS),
            tool_seconds: maker.histograms(Row::TOOL_SECONDS),
            resource_reads: maker.counters(Row::RESOURCE_READS),
            resource_read_seconds: maker.histograms(Row::RESOURCE_READ_SECONDS),
            prompt_gets: maker.counters(Row::PROMPT_GETS),
            prompt_get_seconds: maker.histograms(Row::PROMPT_GET_SECONDS),
            input_rounds: maker.counters(Row::INPUT_ROUNDS),
            bad_states: maker.counters(Row::BAD_STATES),
            subscriptions: maker.counters(Row::SUBSCRIPTIONS),
            subscription_seconds: maker.histograms(Row::SUBSCRIPTION_SECONDS),
            tasks_running: maker.gauge(Row::TASKS_RUNNING),
            task_runs: maker.counters(Row::TASK_RUNS),
            task_run_seconds: maker.histograms(Row::TASK_RUN_SECONDS),
            workers_busy: maker.gauges(Row::WORKERS_BUSY),
            workers_abandoned: maker.gauges(Row::WORKERS_ABANDONED),
            worker_abandonments: maker.counters(Row::WORKER_ABANDONMENTS),
            loop_lag: maker.level(Row::LOOP_LAG),
            loop_stalls: maker.counter(Row::LOOP_STALLS),
            connections: maker.gauge(Row::CONNECTIONS),
            connections_total: maker.counter(Row::CONNECTIONS_TOTAL),
            connections_refused: maker.counter(Row::CONNECTIONS_REFUSED),
            streams: maker.gauges(Row::STREAMS),
            notifications_dropped: maker.counter(Row::NOTIFICATIONS_DROPPED),
            sessions_cached: maker.gauge(Row::SESSIONS_CACHED),
            topics: maker.gauge(Row::TOPICS),
            stream_changes: maker.counters(Row::STREAM_CHANGES),
            propagation_seconds: maker.histograms(Row::PROPAGATION_SECONDS),
            changes_published: maker.counters(Row::CHANGES_PUBLISHED),
            store_operations: maker.counters(Row::STORE_OPERATIONS),
            store_operation_seconds: maker.histograms(Row::STORE_OPERATION_SECONDS),
            store_commit_seconds: maker.histogram(Row::STORE_COMMIT_SECONDS),
            store_sessions: maker.gauge(Row::STORE_SESSIONS),
            store_tasks: maker.gauges(Row::STORE_TASKS),
            store_tasks_running: maker.gauge(Row::STORE_TASKS_RUNNING),
            store_tasks_ready: maker.gauge(Row::STORE_TASKS_READY),
            store_takeovers: maker.counters(Row::STORE_TAKEOVERS),
            store_tasks_expired: maker.counter(Row::STORE_TASKS_EXPIRED),
            hub_mail: maker.counters(Row::HUB_MAIL),
            hub_changes: maker.counters(Row::HUB_CHANGES),
            hub_published: maker.counter(Row::HUB_PUBLISHED),
            hub_topics: maker.gauge(Row::HUB_TOPICS),
            hub_registrations: maker.gauge(Row::HUB_REGISTRATIONS),
            hub_refused: maker.counter(Row::HUB_REFUSED),
            hub_resyncs: maker.counter(Row::HUB_RESYNCS),
            restarts: maker.counters(Row::RESTARTS),
            child_exits: maker.counters(Row::CHILD_EXITS),
            slot_up: maker.gauges(Row::SLOT_UP),
            slot_parked: maker.gauges(Row::SLOT_PARKED),
            probe_age: maker.levels(Row::PROBE_AGE),
            scrapes_missed: maker.counters(Row::SCRAPES_MISSED),
            link_up: maker.gauges(Row::LINK_UP),
            link_frames: maker.counters(Row::LINK_FRAMES),
            link_reconnects: maker.counters(Row::LINK_RECONNECTS),
            link_queued: maker.gauges(Row::LINK_QUEUED),
            link_silence: maker.levels(Row::LINK_SILENCE),
            mailbox_depth: maker.gauges(Row::MAILBOX_DEPTH),
            actor_restarts: maker.counters(Row::ACTOR_RESTARTS),
            lost: maker.counters(Row::LOST),
            cpu: maker.seconds(Row::CPU),
            resident: maker.gauge(Row::RESIDENT),
            open_fds: maker.gauge(Row::OPEN_FDS),
            threads: maker.gauge(Row::THREADS),
            started: maker.level(Row::STARTED),
            registry: maker.0,
        }
    }
}

/// Raises a counter to what somebody else has counted.
///
/// A count that is lower than ours began anew, and so does the counter.
pub(crate) fn raise_to(counter: &IntCounter, counted: u64) {
    match counted.checked_sub(counter.get()) {
        Some(more) => counter.inc_by(more),
        None => {
            counter.reset();
            counter.inc_by(counted);
        }
    }
}

// === Behind the instruments ===

/// Makes instruments as the table says and registers them.
struct Maker(Registry);

impl Maker {
    fn counter(&self, row: Row) -> IntCounter {
        self.register(IntCounter::with_opts(opts(row.metric())))
    }

    fn counters(&self, row: Row) -> IntCounterVec {
        let metric = row.metric();
        self.register(IntCounterVec::new(opts(metric), metric.labels))
    }

    fn seconds(&self, row: Row) -> Counter {
        self.register(Counter::with_opts(opts(row.metric())))
    }

    fn gauge(&self, row: Row) -> IntGauge {
        self.register(IntGauge::with_opts(opts(row.metric())))
    }

    fn gauges(&self, row: Row) -> IntGaugeVec {
        let metric = row.metric();
        self.register(IntGaugeVec::new(opts(metric), metric.labels))
    }

    fn level(&self, row: Row) -> Gauge {
        self.register(Gauge::with_opts(opts(row.metric())))
    }

    fn levels(&self, row: Row) -> GaugeVec {
        let metric = row.metric();
        self.register(GaugeVec::new(opts(metric), metric.labels))
    }

    fn histogram(&self, row: Row) -> Histogram {
        self.register(Histogram::with_opts(buckets(row.metric())))
    }

    fn histograms(&self, row: Row) -> HistogramVec {
        let metric = row.metric();
        self.register(HistogramVec::new(buckets(metric), metric.labels))
    }

    #[expect(
        clippy::expect_used,
        reason = "the table alone decides, and a test registers all of it"
    )]
    fn register<C: Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let made = made.expect("the table's names and labels are well formed");
        self.0
            .register(Box::new(made.clone()))
            .expect("the table names each metric once");
        made
    }
}

fn opts(metric: &Metric) -> Opts {
    Opts::new(metric.name, metric.help)
}

fn buckets(metric: &Metric) -> HistogramOpts {
    HistogramOpts::from(opts(metric)).buckets(metric.buckets.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_began_anew_resets_the_counter() {
        let counter = IntCounter::new("count", "a count").unwrap();

        raise_to(&counter, 7);
        assert_eq!(counter.get(), 7);
        raise_to(&counter, 9);
        assert_eq!(counter.get(), 9);
        raise_to(&counter, 2);

        assert_eq!(counter.get(), 2);
    }
}
