//! A gateway: MCP over HTTP at the inherited socket.

use std::sync::Arc;
use std::time::Duration;

use conduit_http::{Balance, Endpoint};
use conduit_link::Answer;
use conduit_runtime::{Gateway, Hosted};
use tokio::task::JoinSet;
use tracing::{debug, error};

use super::child::{self, House, Order};
use super::{block_on, inherited, keys, settings};
use crate::Server;
use crate::args::Child;
use crate::failure::Failure;
use crate::servers;

/// How much longer than its calls a connection may take to close.
const CLOSING: Duration = Duration::from_secs(1);
/// The most probes on their way through the pipeline; one more is refused.
const PROBES: usize = 4;

pub(crate) fn run(child: &Child, servers: Vec<Arc<dyn Server>>) -> Result<(), Failure> {
    let (listener, counters) = inherited::take().map_err(Failure::listener)?;
    let settings = child::read_settings()?;
    block_on(async {
        let mut house = House::enter(child, settings, true)?;
        let address = listener.local_addr().map_err(Failure::listener)?;
        let balance = Balance::open(counters, child.slot.index)
            .map_err(Failure::of("cannot read the connection counters"))?;
        let time_limit = house.settings.limits.request_timeout_ms.duration();
        let tasks = house.settings.tasks.enabled;
        let paths = servers::paths(&servers);
        let hosted = servers
            .into_iter()
            .map(|server| Hosted::new(server, &house.telemetry, time_limit).with_tasks(tasks))
            .collect();
        let options = settings::gateway(&house.settings, child.slot.index);
        let sealer = keys::sealer(&house.settings);
        let gateway = Gateway::start(
            options,
            hosted,
            sealer,
            Some(&house.links),
            None,
            &house.telemetry,
        )
        .await
        .map_err(Failure::of("cannot start the gateway"))?;
        let http = settings::http(&house.settings, paths, address.ip().is_loopback());
        let telemetry = house.telemetry.clone();
        let endpoint = Endpoint::start(listener, Some(balance), gateway.clone(), telemetry, http)
            .map_err(Failure::of("cannot serve"))?;
        house.herald().announce(vec![address]);
        let (grace, failed) = serve(&mut house, &gateway).await;
        let stopped = drain(endpoint, &gateway, grace).await;
        house.leave(stopped).await;
        failed.map_or(Ok(()), |actor| {
            let cause = format!("the actor `{actor}` failed too often");
            Err(Failure::internal("cannot go on")(cause.into()))
        })
    })
}

/// Obeys until it is time to drain; returns the grace, and the actor that failed.
///
/// A new map waits neither for orders nor for probes: until all gateways have entered it,
/// no shard tells anybody of a change.
async fn serve(house: &mut House, gateway: &Gateway) -> (Duration, Option<&'static str>) {
    let mut maps = house.maps();
    // Cut short by the drain, they are refused.
    let mut probes = JoinSet::new();
    loop {
        let order = tokio::select! {
            biased;
            actor = gateway.failed() => {
                error!(actor, "an actor failed too often, this process is replaced");
                return (Duration::ZERO, Some(actor));
            }
            Ok(()) = maps.changed() => {
                let map = maps.borrow_and_update().clone();
                if let Some(map) = map {
                    gateway.take_shard_map(map);
                }
                continue;
            }
            Some(_over) = probes.join_next() => continue,
            order = house.next_order() => order,
        };
        match order {
            Order::Drain(grace) => return (grace, None),
            Order::Probe(answerer) if probes.len() < PROBES => {
                let gateway = gateway.clone();
                probes.spawn(async move {
                    if gateway.probe().await {
                        answerer.answer(Answer::Probed);
                    }
                });
            }
            Order::Probe(_refused) => debug!("too many probes are on their way"),
        }
    }
}

async fn drain(mut endpoint: Endpoint, gateway: &Gateway, grace: Duration) -> usize {
    endpoint.close().await;
    let (drained, _open) = tokio::join!(gateway.drain(grace), endpoint.finish(grace + CLOSING));
    drained.stopped
}
