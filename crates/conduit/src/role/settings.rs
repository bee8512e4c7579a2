//! Turns the settings' words into the options of each component: the only place
//! that knows both.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use conduit_config::{AddressScope, LogFormat, Settings};
use conduit_http::{Front, TrustedProxies};
use conduit_lifecycle::Backoff;

pub(crate) fn gateways(settings: &Settings) -> u16 {
    match settings.gateway.count {
        0 => std::thread::available_parallelism()
            .map_or(1, |cores| u16::try_from(cores.get()).unwrap_or(u16::MAX)),
        count => count,
    }
}

pub(crate) fn supervisor(settings: &Settings) -> conduit_supervisor::Options {
    let supervisor = &settings.supervisor;
    conduit_supervisor::Options {
        heartbeat: supervisor.heartbeat_ms.duration(),
        dead_after: supervisor.dead_after_ms.duration(),
        ready_timeout: supervisor.ready_timeout_ms.duration(),
        restarts: supervisor.restarts,
        window: supervisor.window_ms.duration(),
        backoff: Backoff {
            first: supervisor.backoff_first_ms.duration(),
            most: supervisor.backoff_most_ms.duration(),
        },
        parked_retry: supervisor.parked_retry_ms.duration(),
        drain_grace: supervisor.drain_grace_ms.duration(),
        stall_limit: supervisor.stall_limit_ms.duration(),
        ..conduit_supervisor::Options::default()
    }
}

/// `index` says which of the gateways it is.
pub(crate) fn gateway(settings: &Settings, index: u16) -> conduit_runtime::Options {
    conduit_runtime::Options {
        index,
        in_flight: settings.limits.in_flight.get(),
        dispatch_patience: settings.limits.dispatch_patience_ms.duration(),
        actor_patience: settings.limits.actor_patience_ms.duration(),
        worker_threads: settings.workers.threads.get(),
        blocking: settings.workers.blocking.get(),
        sessions_cached: settings.sessions.cached.get(),
        store_patience: settings.store.patience_ms.duration(),
        // The store has to note what a session wants within the same time.
        hub_patience: settings.store.patience_ms.duration(),
        require_session: settings.legacy.require_session,
        address_scope: match settings.cancellation.address_scope {
            AddressScope::Strict => conduit_runtime::AddressScope::Strict,
            AddressScope::Seeds => conduit_runtime::AddressScope::Seeds,
            AddressScope::Off => conduit_runtime::AddressScope::Off,
        },
        cancelled_per_scope: settings.cancellation.per_scope.get(),
        mail_deadline: settings.cancellation.remote_deadline_ms.duration(),
        input_rounds: u32::try_from(settings.input.max_rounds.get()).unwrap_or(u32::MAX),
        bridge_input: settings.legacy.bridge_input,
        bridge_patience: settings.input.bridge_timeout_ms.duration(),
        streams: streams(settings),
        tasks: tasks(settings),
    }
}

fn streams(settings: &Settings) -> conduit_runtime::StreamOptions {
    let subscriptions = &settings.subscriptions;
    let age = subscriptions.max_age_ms.duration();
    conduit_runtime::StreamOptions {
        most: subscriptions.max_streams.get(),
        per_owner: subscriptions.max_streams_per_owner.get(),
        topics: subscriptions.max_topics_per_stream.get(),
        age: (!age.is_zero()).then_some(age),
    }
}

fn tasks(settings: &Settings) -> conduit_runtime::TaskOptions {
    let tasks = &settings.tasks;
    conduit_runtime::TaskOptions {
        ttl: tasks.ttl_ms.duration(),
        most_ttl: tasks.max_ttl_ms.duration(),
        poll: tasks.poll_ms.duration(),
        attempts: tasks.max_attempts.get(),
        running: tasks.running.get(),
        lease: tasks.lease_ms.duration(),
        result_bytes: tasks.max_result_bytes.get(),
    }
}

/// `paths` says where each server is; `loopback` whether the endpoint is bound to a
/// loopback address.
pub(crate) fn http(
    settings: &Settings,
    paths: Vec<String>,
    loopback: bool,
) -> conduit_http::Options {
    let http = &settings.http;
    let trusted = http.trusted_proxies.clone();
    conduit_http::Options {
        paths,
        max_connections: http.max_connections.get(),
        max_body: http.max_body_bytes.get(),
        body_budget: http.body_budget_bytes.get(),
        header_timeout: http.header_timeout_ms.duration(),
        body_timeout: http.body_timeout_ms.duration(),
        write_timeout: http.write_timeout_ms.duration(),
        keep_alive: http.sse_keep_alive_ms.duration(),
        front: Front {
            loopback,
            hosts: http
                .allowed_hosts
                .iter()
                .map(|host| host.as_str().to_owned())
                .collect(),
            origins: http
                .allowed_origins
                .iter()
                .map(|origin| origin.as_str().to_owned())
                .collect(),
        },
        trusted_proxies: if trusted.is_empty() {
            TrustedProxies::none()
        } else {
            TrustedProxies::of(move |proxy| trusted.iter().any(|network| network.contains(proxy)))
        },
    }
}

/// `path` is the database.
pub(crate) fn store(settings: &Settings, path: PathBuf) -> conduit_store::Options {
    let number = |number: NonZeroUsize| u64::try_from(number.get()).unwrap_or(u64::MAX);
    let tasks = &settings.tasks;
    conduit_store::Options {
        path,
        tasks: conduit_store::TaskOptions {
            cap: number(tasks.max),
            per_owner: number(tasks.max_per_owner),
            running: number(tasks.running),
            running_per_owner: number(tasks.running_per_owner),
            max_result: tasks.max_result_bytes.get(),
            lease: tasks.lease_ms.duration(),
            spent_cap: SPENT,
        },
        session_idle: settings.sessions.idle_ms.duration(),
        session_cap: number(settings.sessions.max),
        batch: settings.store.batch.get(),
        queue: settings.store.queue.get(),
        sweep_every: SWEEP,
        // A gateway that is silent for longer is dead, and has forgotten everything.
        forget_deadline: settings.supervisor.dead_after_ms.duration(),
    }
}

/// The most states that hold for one use and are remembered; each as long as it holds.
const SPENT: u64 = 1_000_000;

/// Where the store keeps everything.
pub(crate) fn database(settings: &Settings) -> PathBuf {
    settings.state.dir.join("conduit.db")
}

/// How often the store looks for sessions that were idle for too long.
const SWEEP: Duration = Duration::from_secs(5);

pub(crate) const fn log_format(format: LogFormat) -> conduit_telemetry::LogFormat {
    match format {
        LogFormat::Text => conduit_telemetry::LogFormat::Text,
        LogFormat::Json => conduit_telemetry::LogFormat::Json,
    }
}
