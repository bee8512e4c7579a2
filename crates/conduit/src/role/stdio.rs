//! One client on standard input and output: the gateway's runtime without a tree. Its
//! tasks end with it.

use std::sync::Arc;

use conduit_config::Sources;
use conduit_runtime::{Gateway, Hosted};
use conduit_stdio::Options;
use conduit_telemetry::Telemetry;
use tokio::io::{stdin, stdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing::info;

use super::own_store::OwnStore;
use super::{block_on, keys, settings};
use crate::failure::Failure;
use crate::{Server, panics};

pub(crate) fn run(sources: &Sources, server: Arc<dyn Server>) -> Result<(), Failure> {
    let settings = conduit_config::load(sources)?.settings;
    let format = settings::log_format(settings.log.format);
    conduit_telemetry::init_logging(format, settings.log.level.as_str(), "stdio")
        .map_err(Failure::of("cannot start the log"))?;
    panics::log_without_text();
    block_on(async {
        let telemetry = Telemetry::new("stdio");
        let time_limit = settings.limits.request_timeout_ms.duration();
        let tasks = settings.tasks.enabled;
        let hosted = Hosted::new(server, &telemetry, time_limit).with_tasks(tasks);
        let runtime = settings::gateway(&settings, 0);
        let sealer = keys::own_sealer(&settings);
        let store = OwnStore::start(&settings, &telemetry).await?;
        let door = Some(store.door());
        let gateway = Gateway::start(runtime, vec![hosted], sealer, None, door, &telemetry)
            .await
            .map_err(Failure::of("cannot start the runtime"))?;
        store.tell(&gateway);
        let options = Options {
            max_line: settings.http.max_body_bytes.get(),
            grace: settings.supervisor.drain_grace_ms.duration(),
        };
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let _signals = AbortOnDropHandle::new(tasks.spawn(stop_on_signals(stop.clone())?));
        let stopped = conduit_stdio::serve(gateway, stdin(), stdout(), options, stop)
            .await
            .map_err(Failure::of("cannot read standard input"))?;
        info!(stopped, "the client's pipe has ended");
        Ok(())
    })
}

fn stop_on_signals(stop: CancellationToken) -> Result<impl Future<Output = ()>, Failure> {
    let watch = |kind| signal(kind).map_err(Failure::of("cannot watch for signals"));
    let mut terminate = watch(SignalKind::terminate())?;
    let mut interrupt = watch(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.cancel();
    })
}
