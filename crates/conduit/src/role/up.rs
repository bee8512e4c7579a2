//! The supervisor: claim, bind, start, show, wait, stop.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use conduit_config::{Settings, Sources};
use conduit_http::{Admin, turn_away_all};
use conduit_supervisor::{Board, Claim, Configured, MOST_GATEWAYS, Plan, Supervisor, bind};
use conduit_telemetry::Telemetry;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing::{info, warn};

use super::banner::Banner;
use super::pages::BoardPages;
use super::{block_on, keys, settings};
use crate::args::Program;
use crate::failure::Failure;
use crate::{Server, command, panics, servers};

pub(crate) fn run(
    _program: &Program,
    sources: &Sources,
    servers: &[Arc<dyn Server>],
) -> Result<(), Failure> {
    let mut settings = conduit_config::load(sources)?.settings;
    let format = settings::log_format(settings.log.format);
    conduit_telemetry::init_logging(format, settings.log.level.as_str(), "supervisor")
        .map_err(Failure::of("cannot start the log"))?;
    panics::log_without_text();
    fit_descriptors(&mut settings.http.max_connections)?;
    let claim = Claim::take(&settings.state.dir)?;
    // Their sockets, slots and tasks are theirs until then.
    let patience = settings.supervisor.drain_grace_ms.duration() + ENDING;
    block_on(async { Ok(claim.outlive_orphans(patience).await?) })?;
    let listener = bind(settings.http.listen).map_err(Failure::at("cannot serve http.listen"))?;
    let admin = bind(settings.admin.listen).map_err(Failure::at("cannot serve admin.listen"))?;
    // Every gateway opens it for itself; here it is made, and found unusable early.
    drop(keys::open(&settings)?);
    block_on(supervise(settings, claim, listener, admin, servers))
}

// === Behind the role ===

/// How much longer than its grace an orphan may take to end.
const ENDING: Duration = Duration::from_secs(3);

/// Lets this process and its children open as many files as the system allows, and
/// holds `connections` to what that leaves for clients.
fn fit_descriptors(connections: &mut NonZeroUsize) -> Result<(), Failure> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        warn!(%error, "the limit of open files stays as it is");
    }
    let Some(allowed) = getrlimit(Resource::Nofile).current else {
        return Ok(());
    };
    let left = allowed.saturating_sub(RESERVED);
    let left = NonZeroUsize::new(usize::try_from(left).unwrap_or(usize::MAX));
    let left = left.ok_or_else(|| {
        let cause = format!(
            "{allowed} open files are too few, {} are needed",
            RESERVED + 1
        );
        Failure::unstartable(cause.into())
    })?;
    if left < *connections {
        warn!(
            open_files = allowed,
            wanted = *connections,
            max_connections = left,
            "the limit of open files leaves fewer connections than http.max_connections"
        );
        *connections = left;
    }
    Ok(())
}

/// Descriptors of a process that are not connections of clients.
const RESERVED: u64 = 48;

/// Waits for what asks us to end: SIGTERM, SIGINT or SIGQUIT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    /// Says that a terminal was closed; we do not belong to it.
    hangup: Signal,
}

async fn supervise(
    settings: Settings,
    claim: Claim,
    listener: TcpListener,
    admin: TcpListener,
    servers: &[Arc<dyn Server>],
) -> Result<(), Failure> {
    let (mut signals, tasks) = (Signals::watch()?, TaskTracker::new());
    let address = |socket: &TcpListener| {
        socket
            .local_addr()
            .map_err(Failure::of("cannot tell the address"))
    };
    let (endpoint, admin_address) = (address(&listener)?, address(&admin)?);
    let plan = Plan {
        gateways: Configured {
            setting: settings.gateway.count,
            count: settings::gateways(&settings).min(MOST_GATEWAYS),
        },
        hubs: Configured::exactly(settings.hub.count.get()),
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
    let doorman = AbortOnDropHandle::new(tasks.spawn(keep_the_door(supervisor.board(), spare)));
    let failure = tokio::select! {
        biased;
        () = signals.next() => None,
        failure = supervisor.ended() => Some(failure),
        () = supervisor.settled() => {
            show(&supervisor, servers, endpoint, admin_address, &settings);
            tokio::select! {
                biased;
                () = signals.next() => None,
                failure = supervisor.ended() => Some(failure),
            }
        }
    };
    info!("stopping");
    // With the doorman goes his copy of the socket, before any gateway lets go of its
    // own: whoever comes now is refused.
    doorman.abort();
    drop(doorman.await);
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

/// Turns clients away while no gateway serves.
async fn keep_the_door(board: Board, listener: TcpListener) {
    loop {
        board.closed().await;
        warn!("no gateway serves, turning clients away");
        tokio::select! {
            biased;
            () = board.open() => info!("a gateway serves again"),
            () = turn_away(&listener) => {}
        }
    }
}

/// Turns clients away for as long as it is polled; a failure costs a pause.
async fn turn_away(listener: &TcpListener) {
    loop {
        let refused = match listener.try_clone() {
            Ok(socket) => turn_away_all(socket).await,
            Err(error) => Err(error),
        };
        if let Err(error) = refused {
            warn!(%error, "cannot turn clients away, pausing");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// How long the doorman rests after a failure.
const PAUSE: Duration = Duration::from_secs(1);

fn show(
    supervisor: &Supervisor,
    servers: &[Arc<dyn Server>],
    endpoint: SocketAddr,
    admin: SocketAddr,
    settings: &Settings,
) {
    let paths = servers::paths(servers);
    let served = servers.iter().zip(&paths);
    let banner = Banner {
        servers: served
            .map(|(server, path)| (server.implementation(), path.as_str()))
            .collect(),
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
            quit: watch(SignalKind::quit())?,
            hangup: watch(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.quit.recv() => return,
                _ = self.hangup.recv() => info!("SIGHUP is ignored"),
            }
        }
    }
}
