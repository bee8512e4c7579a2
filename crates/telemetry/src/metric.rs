//! The table of metrics: every name, kind, unit, label and help text there is.
//!
//! Names are `conduit_<noun>_<unit>[_total]`: base units, `_total` on counters.
//! A metric without a unit of measure counts its noun. Label values come from
//! closed sets, see [`label`](crate::label). The label `process` is on every
//! sample and is not listed.

/// One metric.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// Its name, as Prometheus sees it.
    pub name: &'static str,
    /// What it is to Prometheus.
    pub kind: Kind,
    /// In what it is measured.
    pub unit: Unit,
    /// The names of its labels, without `process`.
    pub labels: &'static [&'static str],
    /// What it tells, in a sentence.
    pub help: &'static str,
    /// The upper bounds of a histogram's buckets; empty for anything else.
    pub buckets: &'static [f64],
}

/// What a metric is to Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, while its process lives.
    Counter,
    /// A level.
    Gauge,
    /// Observations, sorted into buckets.
    Histogram,
}

/// In what a metric is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// It counts the things that its name says.
    Things,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Zero or one.
    Flag,
}

/// Returns every metric, in the order of the table.
#[must_use]
pub fn table() -> &'static [Metric] {
    TABLE
}

impl Kind {
    /// Returns the word that the exposition's `# TYPE` line uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

// === Behind the table ===

/// Makes a constant for each row, and [`TABLE`] of all of them.
macro_rules! metrics {
    ($(
        $row:ident = $kind:ident($unit:ident $(, $bounds:ident)?) $name:literal $labels:expr,
            $help:literal;
    )+) => {
        /// Where each metric stands in the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(non_camel_case_types, reason = "rows are written like constants")]
        #[expect(clippy::upper_case_acronyms, reason = "rows are written like constants")]
        pub(crate) enum Row { $($row,)+ }

        const TABLE: &[Metric] = &[$(Metric {
            name: $name,
            kind: Kind::$kind,
            unit: Unit::$unit,
            labels: &$labels,
            help: $help,
            buckets: metrics!(@bounds $kind $($bounds)?),
        },)+];
    };
    (@bounds Histogram) => { BUCKETS };
    (@bounds Histogram $bounds:ident) => { $bounds };
    (@bounds $kind:ident) => { &[] };
}

/// From a tenth of a millisecond to a minute.
const BUCKETS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 30.0, 60.0,
];

/// From a second to a day, for what a client keeps open.
const LONG: &[f64] = &[
    1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0,
];

metrics! {
    REQUESTS = Counter(Things) "conduit_requests_total" ["server", "era", "method", "outcome"],
        "Requests and notifications that were answered, by what became of them.";
    REQUEST_SECONDS = Histogram(Seconds) "conduit_request_duration_seconds" ["server", "era", "method"],
        "Time from a request read to its answer handed to the transport.";
    IN_FLIGHT = Gauge(Things) "conduit_requests_in_flight" [],
        "Requests that were let in and are not answered yet.";
    REFUSED = Counter(Things) "conduit_requests_refused_total" ["reason"],
        "Requests turned away before their callback, by reason.";
    CANCELLED = Counter(Things) "conduit_requests_cancelled_total" ["by"],
        "Requests in flight that were told to stop, by who stopped them.";
    TOOL_CALLS = Counter(Things) "conduit_tool_calls_total" ["server", "tool", "outcome"],
        "Calls of tools, by what became of them.";
    TOOL_SECONDS = Histogram(Seconds) "conduit_tool_duration_seconds" ["server", "tool"],
        "Time that the callback of a tool took.";
    RESOURCE_READS = Counter(Things) "conduit_resource_reads_total" ["server", "outcome"],
        "Reads of resources, by what became of them.";
    RESOURCE_READ_SECONDS = Histogram(Seconds) "conduit_resource_read_duration_seconds" ["server"],
        "Time that the callback of a resource took.";
    PROMPT_GETS = Counter(Things) "conduit_prompt_gets_total" ["server", "outcome"],
        "Prompts that clients asked for, by what became of that.";
    PROMPT_GET_SECONDS = Histogram(Seconds) "conduit_prompt_get_duration_seconds" ["server"],
        "Time that the callback of a prompt took.";
    INPUT_ROUNDS = Counter(Things) "conduit_input_rounds_total" ["server", "method"],
        "Answers that asked the client for input.";
    BAD_STATES = Counter(Things) "conduit_request_states_refused_total" ["reason"],
        "States that clients brought back and that were refused, by what was wrong with them.";
    SUBSCRIPTIONS = Counter(Things) "conduit_subscriptions_total" ["server"],
        "Subscriptions to changes that clients began.";
    SUBSCRIPTION_SECONDS = Histogram(Seconds, LONG) "conduit_subscription_duration_seconds" ["server"],
        "Time from the beginning of a subscription to its end.";
    TASKS_RUNNING = Gauge(Things) "conduit_tasks_running" [],
        "Tasks that the gateway works on.";
    TASK_RUNS = Counter(Things) "conduit_task_runs_total" ["server", "outcome"],
        "Pieces of work of tasks that ended, by what became of them.";
    TASK_RUN_SECONDS = Histogram(Seconds, LONG) "conduit_task_run_duration_seconds" ["server"],
        "Time that a piece of work of a task took.";
    WORKERS_BUSY = Gauge(Things) "conduit_workers_busy" ["pool"],
        "Callbacks that the worker pools run now.";
    WORKERS_ABANDONED = Gauge(Things) "conduit_workers_abandoned" ["pool"],
        "Callbacks that overran their grace and have not returned yet.";
    WORKER_ABANDONMENTS = Counter(Things) "conduit_worker_abandonments_total" ["pool"],
        "Callbacks that overran their grace, ever.";
    LOOP_LAG = Gauge(Seconds) "conduit_loop_lag_seconds" [],
        "How late the loop of the process ran the last task that was posted to it.";
    LOOP_STALLS = Counter(Things) "conduit_loop_stalls_total" [],
        "Inline callbacks that held up the loop for too long.";
    CONNECTIONS = Gauge(Things) "conduit_http_connections" [],
        "Client connections that are open.";
    CONNECTIONS_TOTAL = Counter(Things) "conduit_http_connections_total" [],
        "Client connections that were accepted.";
    CONNECTIONS_REFUSED = Counter(Things) "conduit_http_connections_refused_total" [],
        "Client connections closed at once because there were as many as there may be.";
    STREAMS = Gauge(Things) "conduit_streams" ["kind"],
        "Event streams that are open.";
    NOTIFICATIONS_DROPPED = Counter(Things) "conduit_notifications_dropped_total" [],
        "Progress and log notifications that their client read too slowly to get.";
    SESSIONS_CACHED = Gauge(Things) "conduit_sessions_cached" [],
        "Legacy sessions that the gateway has a view of.";
    TOPICS = Gauge(Things) "conduit_topics_registered" [],
        "Topics that the gateway's clients listen to.";
    STREAM_CHANGES = Counter(Things) "conduit_stream_changes_total" ["outcome"],
        "Changes for streams, one for each stream, by what became of them.";
    PROPAGATION_SECONDS = Histogram(Seconds) "conduit_change_propagation_seconds" ["peer"],
        "Time from a change that was published to its message handed to a stream's connection, by the shard that told of it.";
    CHANGES_PUBLISHED = Counter(Things) "conduit_changes_published_total" ["outcome"],
        "Changes that the servers of the gateway published, by what became of them.";
    STORE_OPERATIONS = Counter(Things) "conduit_store_operations_total" ["operation", "outcome"],
        "Operations that the store answered, by what it answered.";
    STORE_OPERATION_SECONDS = Histogram(Seconds) "conduit_store_operation_duration_seconds" ["operation"],
        "Time from an operation at the store's door to its answer.";
    STORE_COMMIT_SECONDS = Histogram(Seconds) "conduit_store_commit_seconds" [],
        "Time that a commit took, the flush to disk included.";
    STORE_SESSIONS = Gauge(Things) "conduit_store_sessions" [],
        "Legacy sessions that the store keeps.";
    STORE_TASKS = Gauge(Things) "conduit_store_tasks" ["status"],
        "Tasks that the store keeps, by how far they are.";
    STORE_TASKS_RUNNING = Gauge(Things) "conduit_store_tasks_running" [],
        "Tasks that a gateway works on.";
    STORE_TASKS_READY = Gauge(Things) "conduit_store_tasks_ready" [],
        "Tasks whose work waits for a gateway with room.";
    STORE_TAKEOVERS = Counter(Things) "conduit_store_takeovers_total" ["outcome"],
        "Tasks that lost their gateway, by what became of them.";
    STORE_TASKS_EXPIRED = Counter(Things) "conduit_store_tasks_expired_total" [],
        "Tasks that left because their time was over.";
    HUB_MAIL = Counter(Things) "conduit_hub_mail_total" ["outcome"],
        "Mail between gateways, one for each recipient, by what became of it.";
    HUB_CHANGES = Counter(Things) "conduit_hub_changes_total" ["outcome"],
        "Changes of topics, one for each gateway that was told, by what became of it.";
    HUB_PUBLISHED = Counter(Things) "conduit_hub_published_total" [],
        "Changes that gateways published at the shard, those that were sent again included.";
    HUB_TOPICS = Gauge(Things) "conduit_hub_topics" [],
        "Topics that some gateway has registered.";
    HUB_REGISTRATIONS = Gauge(Things) "conduit_hub_registrations" [],
        "Topics that gateways have registered, one for each gateway.";
    HUB_REFUSED = Counter(Things) "conduit_hub_registrations_refused_total" [],
        "Registrations that were refused because there were as many as may be.";
    HUB_RESYNCS = Counter(Things) "conduit_hub_resyncs_total" [],
        "Times that a gateway had registered everything by a new map or on a new link.";
    RESTARTS = Counter(Things) "conduit_restarts_total" ["slot"],
        "Child processes that ended and were started again.";
    CHILD_EXITS = Counter(Things) "conduit_child_exits_total" ["slot", "cause"],
        "Child processes that ended, by why.";
    SLOT_UP = Gauge(Flag) "conduit_slot_up" ["slot"],
        "Whether the slot's process is ready.";
    SLOT_PARKED = Gauge(Flag) "conduit_slot_parked" ["slot"],
        "Whether the slot failed too often and is left alone.";
    PROBE_AGE = Gauge(Seconds) "conduit_probe_age_seconds" ["slot"],
        "Time since the slot last answered a probe through its real pipeline.";
    SCRAPES_MISSED = Counter(Things) "conduit_scrapes_missed_total" ["slot"],
        "Scrapes that a child did not answer in time.";
    LINK_UP = Gauge(Flag) "conduit_link_up" ["peer"],
        "Whether the link to the peer is up.";
    LINK_FRAMES = Counter(Things) "conduit_link_frames_total" ["peer", "direction"],
        "Frames that went over the link.";
    LINK_RECONNECTS = Counter(Things) "conduit_link_reconnects_total" ["peer"],
        "Times that the link was made anew.";
    LINK_QUEUED = Gauge(Things) "conduit_link_queued_frames" ["peer"],
        "Frames that wait for the link.";
    LINK_SILENCE = Gauge(Seconds) "conduit_link_silence_seconds" ["peer"],
        "Time since the last frame of the peer.";
    MAILBOX_DEPTH = Gauge(Things) "conduit_mailbox_depth" ["actor"],
        "Messages in the actor's mailbox, the one at hand included.";
    ACTOR_RESTARTS = Counter(Things) "conduit_actor_restarts_total" ["actor"],
        "Times that the actor was started again.";
    LOST = Counter(Things) "conduit_telemetry_dropped_total" ["kind"],
        "Events and log lines that were dropped because their reader was too slow.";
    BUILD = Gauge(Flag) "conduit_build_info" ["version"],
        "Always one; the label tells which version runs.";
    CPU = Counter(Seconds) "conduit_process_cpu_seconds_total" [],
        "Processor time that the process used, user and system.";
    RESIDENT = Gauge(Bytes) "conduit_process_resident_memory_bytes" [],
        "Resident memory of the process.";
    OPEN_FDS = Gauge(Things) "conduit_process_open_fds" [],
        "File descriptors that the process has open.";
    THREADS = Gauge(Things) "conduit_process_threads" [],
        "Threads of the process.";
    STARTED = Gauge(Seconds) "conduit_process_start_time_seconds" [],
        "When the process started, in seconds since 1970.";
}

impl Row {
    /// Returns the row's metric.
    #[expect(
        clippy::indexing_slicing,
        reason = "rows and table are made by one macro"
    )]
    pub(crate) const fn metric(self) -> &'static Metric {
        &TABLE[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = table().iter().map(|metric| metric.name).collect();

        assert_eq!(names.len(), table().len());
    }

    #[test]
    fn each_row_is_its_own_metric() {
        assert_eq!(Row::REQUESTS.metric().name, "conduit_requests_total");
        assert_eq!(
            Row::STARTED.metric().name,
            table().last().map(|metric| metric.name).unwrap_or_default(),
        );
    }

    #[test]
    fn every_metric_has_help_that_is_a_sentence() {
        for metric in table() {
            assert!(metric.help.ends_with('.'), "{}", metric.name);
        }
    }

    #[test]
    fn names_say_kind_and_unit() {
        for Metric {
            name, kind, unit, ..
        } in table()
        {
            assert!(name.starts_with("conduit_"), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            let stem = name.strip_suffix("_total").unwrap_or(name);
            assert_eq!(stem.ends_with("_seconds"), *unit == Unit::Seconds, "{name}");
            assert_eq!(stem.ends_with("_bytes"), *unit == Unit::Bytes, "{name}");
        }
    }

    #[test]
    fn no_label_is_an_id_a_path_or_a_message() {
        const CLOSED: &[&str] = &[
            "actor",
            "by",
            "cause",
            "direction",
            "era",
            "kind",
            "method",
            "operation",
            "outcome",
            "peer",
            "pool",
            "reason",
            "server",
            "slot",
            "status",
            "tool",
            "version",
        ];
        for metric in table() {
            for label in metric.labels {
                assert!(CLOSED.contains(label), "{} has `{label}`", metric.name);
            }
        }
    }

    #[test]
    fn what_clients_keep_open_is_told_apart_by_the_hour() {
        let long = Row::SUBSCRIPTION_SECONDS.metric().buckets;

        assert!(long.contains(&3600.0) && long.contains(&86_400.0));
        assert_eq!(Row::TOOL_SECONDS.metric().buckets.last(), Some(&60.0));
    }

    #[test]
    fn buckets_grow_and_only_histograms_have_them() {
        for metric in table() {
            assert_eq!(metric.buckets.is_empty(), metric.kind != Kind::Histogram);
            assert!(
                metric.buckets.is_sorted_by(|low, high| low < high),
                "{}",
                metric.name
            );
        }
    }
}
