//! The supervisor: claim, bind, start, show, wait, stop.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use conduit_config::{Settings, Sources};
use conduit_http::{Admin, turn_away_all};
use conduit_supervisor::{Board, Claim, Plan, Supervisor, bind};
use conduit_telemetry::Telemetry;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing::{info, warn};

use super::banner::Banner;
use super::pages::BoardPages;
use super::{block_on, settings};
use crate::args::Program;
use crate::failure::Failure;
use crate::{Server, command};

pub(crate) fn run(
    _program: &Program,
    sources: &Sources,
    server: &dyn Server,
) -> Result<(), Failure> {
    let settings = conduit_config::load(sources)?.settings;
    let format = settings::log_format(settings.log.format);
    conduit_telemetry::init_logging(format, settings.log.level.as_str(), "supervisor")
        .map_err(Failure::of("cannot start the log"))?;
    raise_descriptor_limit(settings.http.max_connections.get());
    let claim = Claim::take(&settings.state.dir)?;
    let listener = bind(settings.http.listen).map_err(Failure::at("cannot serve http.listen"))?;
    let admin = bind(settings.admin.listen).map_err(Failure::at("cannot serve admin.listen"))?;
    block_on(supervise(settings, claim, listener, admin, server))
}

// === Behind the role ===

/// Lets this process and its children open as many files as the system allows, and
/// says so if that is not enough for the connections that may come.
fn raise_descriptor_limit(connections: usize) {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        warn!(%error, "the limit of open files stays as it is");
    }
    let wanted = u64::try_from(connections)
        .unwrap_or(u64::MAX)
        .saturating_add(RESERVED);
    if let Some(allowed) = getrlimit(Resource::Nofile).current
        && allowed < wanted
    {
        warn!(
            allowed,
            wanted, "open files are limited below http.max_connections"
        );
    }
}

/// Descriptors of a gateway that are not connections of clients.
const RESERVED: u64 = 64;

/// Waits for SIGTERM or SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

async fn supervise(
    settings: Settings,
    claim: Claim,
    listener: TcpListener,
    admin: TcpListener,
    server: &dyn Server,
) -> Result<(), Failure> {
    let (mut signals, tasks) = (Signals::watch()?, TaskTracker::new());
    let address = |socket: &TcpListener| {
        socket
            .local_addr()
            .map_err(Failure::of("cannot tell the address"))
    };
    let (endpoint, admin_address) = (address(&listener)?, address(&admin)?);
    let plan = Plan {
        gateways: settings::gateways(&settings),
        hubs: settings.hub.count.get(),
        state_dir: settings.state.dir.clone(),
        settings_json: serde_json::to_vec(&settings)
            .map_err(Failure::of("cannot hand the settings on"))?,
        options: settings::supervisor(&settings),
        child_args: Vec::new(),
    };
    let telemetry = Telemetry::new("supervisor");
    let spare = listener
        .try_clone()
        .map_err(Failure::of("cannot keep the listening socket"))?;
    let supervisor = Supervisor::launch(plan, claim, listener, telemetry).await?;
    let pages = Arc::new(BoardPages(supervisor.board()));
    let admin = Admin::start(admin, pages).map_err(Failure::of("cannot serve the admin port"))?;
    let _doorman = AbortOnDropHandle::new(tasks.spawn(keep_the_door(supervisor.board(), spare)));
    let failure = tokio::select! {
        biased;
        () = signals.next() => None,
        failure = supervisor.ended() => Some(failure),
        () = supervisor.settled() => {
            show(&supervisor, server, endpoint, admin_address, &settings);
            tokio::select! {
                biased;
                () = signals.next() => None,
                failure = supervisor.ended() => Some(failure),
            }
        }
    };
    info!("stopping");
    let killer = supervisor.killer();
    let mut stop = std::pin::pin!(supervisor.stop());
    tokio::select! {
        biased;
        () = stop.as_mut() => {}
        () = signals.next() => {
            warn!("asked again, killing what is left");
            killer.kill();
            stop.await;
        }
    }
    admin.stop().await;
    failure.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Turns clients away while every gateway is parked.
async fn keep_the_door(board: Board, listener: TcpListener) {
    let mut looks = tokio::time::interval(DOOR);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        if !board.is_closed() {
            continue;
        }
        let Ok(socket) = listener.try_clone() else {
            continue;
        };
        warn!("every gateway is parked, turning clients away");
        let open_again = async {
            while board.is_closed() {
                looks.tick().await;
            }
        };
        tokio::select! {
            biased;
            () = open_again => {}
            refused = turn_away_all(socket) => if let Err(error) = refused {
                warn!(%error, "cannot turn clients away");
            }
        }
    }
}

/// How often it is looked whether any gateway is left.
const DOOR: Duration = Duration::from_secs(1);

fn show(
    supervisor: &Supervisor,
    server: &dyn Server,
    endpoint: SocketAddr,
    admin: SocketAddr,
    settings: &Settings,
) {
    let implementation = server.implementation();
    let banner = Banner {
        server: &implementation.name,
        version: &implementation.version,
        endpoint,
        admin,
        any_host: !endpoint.ip().is_loopback() && settings.http.allowed_hosts.is_empty(),
    };
    // Nobody has to read it.
    if let Err(error) = command::print(&banner.text(&supervisor.board().status())) {
        warn!(%error, "the banner could not be shown");
    }
}

impl Signals {
    fn watch() -> Result<Self, Failure> {
        let watch = |kind| signal(kind).map_err(Failure::of("cannot watch for signals"));
        Ok(Self {
            terminate: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
