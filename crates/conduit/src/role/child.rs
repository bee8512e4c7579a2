//! What every child does: read its settings, meet its supervisor, obey.
//!
//! Invariant: a child whose supervisor is gone drains and ends; one that finds it
//! gone at its start ends at once. It knows by a pidfd, not by its link: a supervisor
//! that is only stopped, or slow, is no reason to end.

#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use conduit_config::Settings;
use conduit_errors::Coded;
use conduit_hub::Window;
use conduit_link::{
    Answer, Answerer, Delivery, Lane, Link, Links, Message, Options, Receiver, Refusal, Role, Roll,
    ShardMap, Slot, ToChild, ToSupervisor,
};
use conduit_supervisor::Mark;
use conduit_telemetry::Telemetry;
use serde_bytes::ByteBuf;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use uuid::Uuid;

use super::parent::Parent;
use super::{block_on, settings};
use crate::args::Child;
use crate::failure::Failure;
use crate::panics;

/// Orders that wait for the main loop; those beyond it are lost.
const ORDERS: usize = 16;

/// A child process at home: everything that its role needs.
pub(crate) struct House {
    pub(crate) settings: Settings,
    pub(crate) telemetry: Telemetry,
    pub(crate) links: Links,
    control: Link,
    ready: Arc<OnceLock<Vec<SocketAddr>>>,
    orders: mpsc::Receiver<Order>,
    /// Which gateways may be running, once the supervisor has said so.
    gateways: watch::Receiver<Option<Vec<Uuid>>>,
    /// Whom a hub has to wait for, once the supervisor has said so.
    rolls: watch::Receiver<Option<Roll>>,
    /// Which shards the hub has, once the supervisor has said so.
    maps: watch::Receiver<Option<ShardMap>>,
    /// Shows the shard of a hub.
    window: Window,
    parent: Parent,
    /// Says that this process lives, to whoever comes after its supervisor.
    _mark: Option<Mark>,
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
        // Before it is known whether the supervisor is there, see `conduit_supervisor::Mark`.
        let mark = Mark::leave(&child.run_dir, child.life)
            .inspect_err(|error| warn!(%error, "a successor of the supervisor will not wait for this process"))
            .ok();
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
        let (lives, gateways) = watch::channel(None);
        let (roll, rolls) = watch::channel(None);
        let (map, maps) = watch::channel(None);
        let window = Window::default();
        let ready = Arc::new(OnceLock::new());
        let ear = Ear {
            telemetry: telemetry.clone(),
            ready: Arc::clone(&ready),
            orders: send,
            lives,
            roll,
            map,
            window: window.clone(),
        };
        let control = links.connect(Slot::SUPERVISOR, ear.receiver());
        Ok(Self {
            settings,
            telemetry,
            links,
            control,
            ready,
            orders,
            gateways,
            rolls,
            maps,
            window,
            parent,
            _mark: mark,
            terminate,
            is_gateway: child.slot.role == Role::Gateway,
        })
    }

    /// Returns which gateways may be running, as it changes.
    pub(crate) fn gateways(&self) -> watch::Receiver<Option<Vec<Uuid>>> {
        self.gateways.clone()
    }

    /// Returns whom a hub has to wait for, as it changes.
    pub(crate) fn rolls(&self) -> watch::Receiver<Option<Roll>> {
        self.rolls.clone()
    }

    /// Returns which shards the hub has, as it changes: the newest map only.
    pub(crate) fn maps(&self) -> watch::Receiver<Option<ShardMap>> {
        self.maps.clone()
    }

    /// Returns what shows operators the shard of a hub.
    pub(crate) fn window(&self) -> Window {
        self.window.clone()
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
struct Ear {
    telemetry: Telemetry,
    ready: Arc<OnceLock<Vec<SocketAddr>>>,
    orders: mpsc::Sender<Order>,
    lives: watch::Sender<Option<Vec<Uuid>>>,
    roll: watch::Sender<Option<Roll>>,
    map: watch::Sender<Option<ShardMap>>,
    window: Window,
}

impl Ear {
    fn receiver(self) -> Receiver {
        Arc::new(move |link, delivery| match delivery {
            Delivery::Up(_hello) => say_ready(&link, &self.ready),
            Delivery::Down(reason) => debug!(?reason, "the supervisor's link is down"),
            Delivery::Event(incoming) => self.hear(incoming.message),
            Delivery::Call(incoming, answerer) => self.take(incoming.message, answerer),
        })
    }

    fn hear(&self, message: Message) {
        match asked(message) {
            Some(Asked::Order(order)) => self.order(order),
            Some(Asked::Gateways(lives)) => drop(self.lives.send_replace(Some(lives))),
            Some(Asked::Roll(roll)) => drop(self.roll.send_replace(Some(roll))),
            Some(Asked::ShardMap(map)) => drop(self.map.send_replace(Some(map))),
            Some(Asked::Scrape | Asked::Probe | Asked::ShowShard) | None => {
                debug!("not an event");
            }
        }
    }

    fn take(&self, message: Message, answerer: Answerer) {
        match asked(message) {
            Some(Asked::ShowShard) => {
                let view = self.window.view();
                let refused = Answer::Refused(Refusal::NotNow);
                answerer.answer(view.map_or(refused, Answer::Shard));
            }
            Some(Asked::Scrape) => {
                let metrics = ByteBuf::from(self.telemetry.encode());
                answerer.answer(Answer::Metrics(metrics));
            }
            Some(Asked::Probe) => self.order(Order::Probe(answerer)),
            Some(Asked::Order(_) | Asked::Gateways(_) | Asked::Roll(_) | Asked::ShardMap(_))
            | None => {
                answerer.answer(Answer::Refused(Refusal::Misplaced));
            }
        }
    }

    fn order(&self, order: Order) {
        if let Err(unheard) = self.orders.try_send(order) {
            warn!(order = ?unheard.into_inner(), "too many orders, one is lost");
        }
    }
}

/// What a message of the supervisor asks for.
enum Asked {
    Order(Order),
    Gateways(Vec<Uuid>),
    Roll(Roll),
    ShardMap(ShardMap),
    Scrape,
    Probe,
    ShowShard,
}

fn asked(message: Message) -> Option<Asked> {
    let Message::ToChild(message) = message else {
        debug!(?message, "not for a child");
        return None;
    };
    match message {
        ToChild::Drain { grace_ms } => {
            Some(Asked::Order(Order::Drain(Duration::from_millis(grace_ms))))
        }
        ToChild::ShardMap(map) => Some(Asked::ShardMap(map)),
        ToChild::Scrape => Some(Asked::Scrape),
        ToChild::Probe => Some(Asked::Probe),
        ToChild::ShowShard => Some(Asked::ShowShard),
        ToChild::Gateways { lives } => Some(Asked::Gateways(lives)),
        ToChild::Roll(roll) => Some(Asked::Roll(roll)),
    }
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
