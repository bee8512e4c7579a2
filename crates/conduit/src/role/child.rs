//! What every child does: read its settings, meet its supervisor, obey.
//!
//! Invariant: a child whose supervisor is gone drains and ends; one that finds it
//! gone at its start ends at once. It knows by a pidfd, not by its link: a supervisor
//! that is only stopped, or slow, is no reason to end.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use conduit_config::Settings;
use conduit_errors::Coded;
use conduit_link::{
    Answer, Answerer, Delivery, Lane, Link, Links, Message, Options, Receiver, Refusal, Role,
    ShardMap, Slot, ToChild, ToSupervisor,
};
use conduit_telemetry::Telemetry;
use serde_bytes::ByteBuf;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::parent::Parent;
use super::{block_on, settings};
use crate::args::Child;
use crate::failure::Failure;
use crate::panics;

/// Orders that wait for the main loop; probes beyond it are not answered.
const ORDERS: usize = 16;

/// A child process at home: everything that its role needs.
pub(crate) struct House {
    pub(crate) settings: Settings,
    pub(crate) telemetry: Telemetry,
    pub(crate) links: Links,
    control: Link,
    ready: Arc<OnceLock<Vec<SocketAddr>>>,
    orders: mpsc::Receiver<Order>,
    parent: Parent,
    /// Its handler is there in every child: a signal without one would kill it.
    terminate: Signal,
    is_gateway: bool,
}

/// Tells the supervisor that this child is ready.
#[derive(Clone)]
pub(crate) struct Herald {
    control: Link,
    ready: Arc<OnceLock<Vec<SocketAddr>>>,
}

/// What a child is told.
#[derive(Debug)]
pub(crate) enum Order {
    /// Finish within this time and end.
    Drain(Duration),
    /// The hub has these shards now.
    ShardMap(ShardMap),
    /// Send a request through the pipeline and say when it came back.
    Probe(Answerer),
}

impl Herald {
    /// Says so now, and again each time that the link comes back.
    pub(crate) fn announce(&self, addresses: Vec<SocketAddr>) {
        if self.ready.set(addresses).is_ok() && self.control.is_up() {
            say_ready(&self.control, &self.ready);
        }
    }
}

/// Reads the settings that the supervisor writes to standard input.
pub(crate) fn read_settings() -> Result<Settings, Failure> {
    let mut json = Vec::new();
    io::stdin()
        .lock()
        .take(MOST_SETTINGS)
        .read_to_end(&mut json)
        .map_err(Failure::of("cannot read the settings from the supervisor"))?;
    if json.is_empty() {
        let ended = io::Error::from(io::ErrorKind::UnexpectedEof);
        return Err(Failure::orphaned(ended));
    }
    serde_json::from_slice(&json).map_err(Failure::of(
        "cannot understand the settings from the supervisor",
    ))
}

/// Runs a role that serves no clients, from its settings to its farewell.
pub(crate) fn run_inner<E, R>(
    child: &Child,
    role: impl FnOnce(&House, CancellationToken, Box<dyn FnOnce()>) -> R,
) -> Result<(), Failure>
where
    E: Coded + Send + Sync + 'static,
    R: Future<Output = Result<(), E>>,
{
    let settings = read_settings()?;
    block_on(async {
        let mut house = House::enter(child, settings, false)?;
        let (stop, herald) = (CancellationToken::new(), house.herald());
        let ready = Box::new(move || herald.announce(Vec::new()));
        let role = role(&house, stop.clone(), ready);
        let ended = house.attend(role, &stop).await;
        house.leave(0).await;
        ended.map_err(Failure::coded("cannot go on"))
    })
}

impl House {
    /// Moves in: logging, telemetry, the link thread, the link to the supervisor.
    pub(crate) fn enter(
        child: &Child,
        settings: Settings,
        holds_listener: bool,
    ) -> Result<Self, Failure> {
        let name = child.slot.to_string();
        let format = settings::log_format(settings.log.format);
        conduit_telemetry::init_logging(format, settings.log.level.as_str(), &name)
            .map_err(Failure::of("cannot start the log"))?;
        panics::log_without_text();
        let parent = Parent::watch(child.parent).map_err(Failure::orphaned)?;
        let watch = |kind| signal(kind).map_err(Failure::of("cannot watch for signals"));
        let terminate = watch(SignalKind::terminate())?;
        // Heard by nobody: without a handler it would end this process.
        drop(watch(SignalKind::hangup())?);
        let telemetry = Telemetry::new(&name);
        let links = start_links(child, &settings, holds_listener)?;
        links.watch_loop(tokio::runtime::Handle::current());
        telemetry.watch_links(&links);
        let (send, orders) = mpsc::channel(ORDERS);
        let ready = Arc::new(OnceLock::new());
        let control = links.connect(
            Slot::SUPERVISOR,
            receiver(telemetry.clone(), Arc::clone(&ready), send),
        );
        Ok(Self {
            settings,
            telemetry,
            links,
            control,
            ready,
            orders,
            parent,
            terminate,
            is_gateway: child.slot.role == Role::Gateway,
        })
    }

    /// Returns what tells the supervisor that this child is ready.
    pub(crate) fn herald(&self) -> Herald {
        Herald {
            control: self.control.clone(),
            ready: Arc::clone(&self.ready),
        }
    }

    /// Runs a role that hears no orders but the one to end, which cancels `stop`.
    pub(crate) async fn attend<E>(
        &mut self,
        role: impl Future<Output = Result<(), E>>,
        stop: &CancellationToken,
    ) -> Result<(), E> {
        let mut role = std::pin::pin!(role);
        loop {
            let order = tokio::select! {
                biased;
                ended = role.as_mut() => return ended,
                order = self.next_order() => order,
            };
            if let Order::Drain(_grace) = order {
                stop.cancel();
                return role.await;
            }
        }
    }

    /// Waits for the next order. The end of the supervisor is an order to drain, and
    /// for a gateway SIGTERM is one too. Hubs and store go on: whoever stops a whole
    /// group of processes signals all of them at once, and gateways need the others
    /// until they have drained.
    pub(crate) async fn next_order(&mut self) -> Order {
        let grace = self.settings.supervisor.drain_grace_ms.duration();
        tokio::select! {
            biased;
            () = self.parent.ended() => {
                warn!("the supervisor is gone, draining");
                Order::Drain(grace)
            }
            _ = self.terminate.recv(), if self.is_gateway => {
                info!("asked to end by a signal, draining");
                Order::Drain(grace)
            }
            order = self.orders.recv() => order.unwrap_or(Order::Drain(grace)),
        }
    }

    /// Tells the supervisor how the drain went and closes every link.
    pub(crate) async fn leave(self, stopped: usize) {
        let stopped = u64::try_from(stopped).unwrap_or(u64::MAX);
        let farewell = Message::ToSupervisor(ToSupervisor::Drained { stopped });
        if self.control.send(Lane::Control, farewell).is_err() {
            debug!("the supervisor does not hear the farewell");
        }
        self.links.stop(FLUSH).await;
        if self.telemetry.flush(FLUSH).await.is_err() {
            debug!("the last events are lost");
        }
        info!(stopped, "drained");
    }
}

// === Behind the house ===

/// Settings are small; whatever is larger is not settings.
const MOST_SETTINGS: u64 = 1024 * 1024;
/// How long the last frames and events may take.
const FLUSH: Duration = Duration::from_millis(200);

fn start_links(child: &Child, settings: &Settings, holds_listener: bool) -> Result<Links, Failure> {
    let build = conduit_link::build_id().map_err(Failure::of("cannot tell this build"))?;
    let options = Options {
        heartbeat: settings.supervisor.heartbeat_ms.duration(),
        dead_after: settings.supervisor.dead_after_ms.duration(),
        holds_listener,
        ..Options::new(child.run_dir.clone(), child.slot.clone(), child.life, build)
    };
    Links::start(options).map_err(Failure::coded("cannot start the links"))
}

/// Hears the supervisor, on the link thread: metrics are answered there, so that
/// they can be had while the main loop is stuck.
fn receiver(
    telemetry: Telemetry,
    ready: Arc<OnceLock<Vec<SocketAddr>>>,
    orders: mpsc::Sender<Order>,
) -> Receiver {
    Arc::new(move |link, delivery| {
        let order = match delivery {
            Delivery::Up(_hello) => return say_ready(&link, &ready),
            Delivery::Down(reason) => return debug!(?reason, "the supervisor's link is down"),
            Delivery::Event(incoming) => match order_of(incoming.message) {
                Some(Asked::Order(order)) => order,
                Some(Asked::Scrape | Asked::Probe) | None => return debug!("not an event"),
            },
            Delivery::Call(incoming, answerer) => match order_of(incoming.message) {
                Some(Asked::Scrape) => {
                    let metrics = ByteBuf::from(telemetry.encode());
                    return answerer.answer(Answer::Metrics(metrics));
                }
                Some(Asked::Probe) => Order::Probe(answerer),
                Some(Asked::Order(_)) | None => {
                    return answerer.answer(Answer::Refused(Refusal::Misplaced));
                }
            },
        };
        if let Err(unheard) = orders.try_send(order) {
            warn!(order = ?unheard.into_inner(), "too many orders, one is lost");
        }
    })
}

/// What a message of the supervisor asks for.
enum Asked {
    Order(Order),
    Scrape,
    Probe,
}

fn order_of(message: Message) -> Option<Asked> {
    let Message::ToChild(message) = message else {
        debug!(?message, "not for a child");
        return None;
    };
    Some(match message {
        ToChild::Drain { grace_ms } => Asked::Order(Order::Drain(Duration::from_millis(grace_ms))),
        ToChild::ShardMap(map) => Asked::Order(Order::ShardMap(map)),
        ToChild::Scrape => Asked::Scrape,
        ToChild::Probe => Asked::Probe,
    })
}

fn say_ready(link: &Link, ready: &OnceLock<Vec<SocketAddr>>) {
    let Some(addresses) = ready.get() else { return };
    let message = Message::ToSupervisor(ToSupervisor::Ready {
        addresses: addresses.clone(),
    });
    if link.send(Lane::Control, message).is_err() {
        debug!("the link is down, saying ready when it is up");
    }
}
