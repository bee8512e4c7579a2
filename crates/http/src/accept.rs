//! The accept loop, and how it ends.
//!
//! The listening socket is shared with the other gateways and with the supervisor;
//! here it is only accepted from. The end has an order: take what waits in the
//! backlog, let go of the socket, serve on for a moment (a client that has just
//! connected has not sent its request yet) and tell each client that its connection
//! closes with the answer, let the others finish what they are doing, then close.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conduit_runtime::Gateway;
use conduit_telemetry::Telemetry;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::io::AsyncWriteExt;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use crate::entrance::Entrance;
use crate::open::Open;
use crate::paced::Paced;
use crate::routes::{self, Peer, State};
use crate::watch::{Nap, watched};
use crate::{Balance, Options, refusal};

/// How long a gateway that holds too many connections lets the others accept before
/// it looks again, and how often it does before it accepts after all.
const YIELD: Duration = Duration::from_micros(100);
const YIELDS: usize = 10;
/// How long connections are served after accepting has stopped.
const LINGER: Duration = Duration::from_millis(300);
/// After an accept that failed for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Head and write buffers of one connection never grow beyond this.
const BUFFER: usize = 128 * 1024;

/// MCP over HTTP at one listening socket.
#[derive(Debug)]
pub struct Endpoint {
    stop: CancellationToken,
    closing: Arc<AtomicBool>,
    finish: CancellationToken,
    connections: TaskTracker,
    accepting: tokio::task::JoinHandle<()>,
}

/// The endpoint could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The socket could not be watched.
    #[error("cannot watch the listening socket")]
    Watch {
        /// What the operating system said.
        source: io::Error,
    },
}

impl Endpoint {
    /// Starts to accept connections on the current runtime.
    ///
    /// # Errors
    ///
    /// [`StartError::Watch`] when the socket is not a listening one.
    pub fn start(
        listener: TcpListener,
        balance: Option<Balance>,
        gateway: Gateway,
        telemetry: Telemetry,
        options: Options,
    ) -> Result<Self, StartError> {
        let watch = |source| StartError::Watch { source };
        listener.set_nonblocking(true).map_err(watch)?;
        let listener = watched(listener.into()).map_err(watch)?;
        let (stop, finish) = (CancellationToken::new(), CancellationToken::new());
        let (connections, closing) = (TaskTracker::new(), Arc::<AtomicBool>::default());
        let acceptor = Acceptor {
            nap: Nap::new().map_err(watch)?,
            open: Open::new(balance, telemetry.clone()),
            header_timeout: options.header_timeout,
            write_timeout: options.write_timeout,
            max_connections: options.max_connections,
            state: Arc::new(State::new(gateway, telemetry, options, &closing)),
            connections: connections.clone(),
            finish: finish.clone(),
        };
        let until = stop.clone();
        let accepting = connections.spawn(async move {
            acceptor.run(listener, &until).await;
        });
        Ok(Self {
            stop,
            closing,
            finish,
            connections,
            accepting,
        })
    }

    /// Stops accepting and serves on for a moment, each answer being the last of its
    /// connection; resolves when the gateway may drain its calls.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves accepting stopped; call it again to wait.
    pub async fn close(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        self.stop.cancel();
        if (&mut self.accepting).await.is_err() {
            debug!("the accept loop had ended before");
        }
        sleep(LINGER).await;
    }

    /// Lets every connection finish what it is doing, for at most `grace`.
    /// Returns how many were still open then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves connections to finish by themselves.
    pub async fn finish(self, grace: Duration) -> usize {
        self.finish.cancel();
        self.connections.close();
        match timeout(grace, self.connections.wait()).await {
            Ok(()) => 0,
            Err(_elapsed) => self.connections.len(),
        }
    }
}

// === Behind the endpoint ===

struct Acceptor {
    state: Arc<State>,
    open: Open,
    nap: Nap,
    header_timeout: Duration,
    write_timeout: Duration,
    max_connections: usize,
    connections: TaskTracker,
    finish: CancellationToken,
}

impl Acceptor {
    async fn run(&self, listener: AsyncFd<OwnedFd>, until: &CancellationToken) {
        loop {
            let ready = tokio::select! {
                biased;
                () = until.cancelled() => break,
                ready = listener.readable() => ready,
            };
            let Ok(mut ready) = ready else {
                warn!("the listening socket can no longer be watched");
                break;
            };
            self.let_others_go_first().await;
            match ready.try_io(|listener| accept(listener.get_ref())) {
                Ok(Ok((stream, peer))) => self.take(stream, peer),
                Ok(Err(error)) => self.pause(&error).await,
                Err(_another_gateway_took_it) => {}
            }
        }
        self.drain(listener.get_ref());
        // Once nobody holds the socket any more, clients are refused: they need not
        // wait in a backlog that nobody looks at.
        drop(listener);
    }

    async fn let_others_go_first(&self) {
        for _ in 0..YIELDS {
            if !self.open.should_wait() {
                return;
            }
            if let Err(error) = self.nap.sleep(YIELD).await {
                debug!(%error, "cannot let other gateways go first");
                return;
            }
        }
    }

    /// Takes what waits in the backlog, so that nobody is reset.
    fn drain(&self, listener: &OwnedFd) {
        let mut taken = 0;
        while taken < self.max_connections
            && let Ok((stream, peer)) = accept(listener)
        {
            self.take(stream, peer);
            taken += 1;
        }
        info!(taken, "stopped accepting");
    }

    fn take(&self, stream: TcpStream, peer: SocketAddr) {
        let place = self.open.enter();
        if self.open.count() > self.max_connections {
            self.open.refused();
            self.connections.spawn(async move {
                turn_away(stream).await;
                drop(place);
            });
            return;
        }
        let filters = warp::service(routes::routes(&self.state, Peer(peer.ip())));
        let service = Entrance(TowerToHyperService::new(filters));
        let mut serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout)
            .max_buf_size(BUFFER)
            .serve_connection(Paced::new(stream, self.write_timeout), service);
        let finish = self.finish.clone();
        self.connections.spawn(async move {
            // It stays where it was captured: the task would else have room for it twice,
            // for as long as the connection is open.
            let mut serving = Pin::new(&mut serving);
            let ended = tokio::select! {
                biased;
                ended = serving.as_mut() => ended,
                () = finish.cancelled() => {
                    // A request that has just arrived is read, not reset.
                    tokio::select! {
                        biased;
                        ended = serving.as_mut() => ended,
                        () = yield_now() => {
                            serving.as_mut().graceful_shutdown();
                            serving.await
                        }
                    }
                }
            };
            if let Err(error) = ended {
                debug!(%error, "connection ended early");
            }
            drop(place);
        });
    }

    async fn pause(&self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        if !matches!(
            error.kind(),
            ConnectionAborted | ConnectionReset | Interrupted
        ) {
            warn!(%error, "cannot accept, pausing");
            sleep(ACCEPT_PAUSE).await;
        }
    }
}

fn accept(listener: &OwnedFd) -> io::Result<(TcpStream, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (descriptor, peer) = acceptfrom_with(listener, flags)?;
    let stream = std::net::TcpStream::from(descriptor);
    stream.set_nodelay(true)?;
    let peer = peer
        .and_then(|peer| SocketAddr::try_from(peer).ok())
        .ok_or(io::ErrorKind::ConnectionAborted)?;
    Ok((TcpStream::from_std(stream)?, peer))
}

/// Answers one connection too many, without reading from it.
pub(crate) async fn turn_away(mut stream: TcpStream) {
    const PATIENCE: Duration = Duration::from_secs(1);
    let answer = async {
        stream
            .write_all(refusal::TOO_MANY_CONNECTIONS.as_bytes())
            .await?;
        stream.shutdown().await
    };
    if !matches!(timeout(PATIENCE, answer).await, Ok(Ok(()))) {
        debug!("a refused connection did not take its answer");
    }
}
